//! Checks that the terms of the glossary are in use, and that old words are not.

use std::collections::BTreeSet;
use std::fs;

use super::{files, root};

const GLOSSARY: &str = "ARCHITECTURE.md";

/// With fewer terms, the table was probably not found.
const LEAST_TERMS: usize = 20;

/// Lines of an old identifier and its replacement.
const OLD_WORDS: &str = include_str!("old_words.txt");

/// Returns the terms of the section "Glossary", and the rest of the document.
fn read_glossary(document: &str) -> (Vec<&str>, String) {
    let (before, after) = document.split_once("\n## Glossary\n").unwrap_or((document, ""));
    let (section, rest) = after.split_once("\n## ").unwrap_or((after, ""));
    let mut terms = Vec::new();
    let mut is_of_terms = false;
    for line in section.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            ["", first, second, ""] if first.starts_with("---") && second.starts_with("---") => {}
            ["", "term", _, ""] => is_of_terms = true,
            ["", term, _, ""] if is_of_terms => terms.push(term),
            _ => is_of_terms = false,
        }
    }
    (terms, format!("{before}\n{rest}"))
}

/// Returns each old word with its replacement.
fn read_old_words(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap_or_else(|| panic!("two words, not {line:?}"))).collect()
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Returns the words of a text and of its identifiers, in lower case and in the singular.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(|word| {
        let word = word.to_lowercase();
        word.strip_suffix('s').unwrap_or(&word).to_owned()
    })
}

#[test]
fn every_term_of_the_glossary_is_used() {
    let document = fs::read_to_string(root().join(GLOSSARY)).unwrap();
    let (terms, rest) = read_glossary(&document);
    let mut used: BTreeSet<String> = words(&rest).collect();
    for path in files(&["rs", "md"]).into_iter().filter(|path| !path.ends_with(GLOSSARY)) {
        // Other processes may remove files meanwhile.
        used.extend(words(&fs::read_to_string(root().join(path)).unwrap_or_default()));
    }
    let unused: Vec<&&str> = terms.iter().filter(|term| !words(term).all(|word| used.contains(&word))).collect();
    assert!(unused.is_empty(), "nothing uses these terms of the glossary: {unused:?}");
    let distinct: BTreeSet<&&str> = terms.iter().collect();
    assert_eq!(distinct.len(), terms.len(), "a term is explained once: {terms:?}");
    assert!(distinct.len() >= LEAST_TERMS, "{GLOSSARY} explains {} terms", distinct.len());
}

#[test]
fn old_words_do_not_come_back() {
    let replaced = read_old_words(OLD_WORDS);
    let mut findings = Vec::new();
    let mut missing: BTreeSet<&str> = replaced.iter().map(|(_, instead)| *instead).collect();
    for path in files(&["rs"]) {
        let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            for identifier in identifiers(line) {
                missing.remove(identifier);
                if let Some((word, instead)) = replaced.iter().find(|(word, _)| *word == identifier) {
                    findings.push(format!("{}:{}: {word}: use {instead}", path.display(), index + 1));
                }
            }
        }
    }
    assert!(findings.is_empty(), "old words: {findings:#?}");
    assert!(missing.is_empty(), "old_words.txt names replacements that the code does not have: {missing:?}");
    assert!(!replaced.is_empty());
}

#[test]
fn a_glossary_is_read() {
    let document = "# Title\n\nBefore.\n\n## Glossary\n\n| term | meaning |\n|---|---|\n| parent | an object |\n| child list | another |\n\n\
        Text.\n\n| other | table |\n|---|---|\n| a | b |\n\n## After\n\n| term | meaning |\n|---|---|\n| x | y |\n";
    let (terms, rest) = read_glossary(document);
    assert_eq!(terms, ["parent", "child list"]);
    assert!(rest.contains("Before.") && rest.contains("| x | y |") && !rest.contains("parent"), "{rest}");
    assert_eq!(read_glossary("# Title\n"), (Vec::new(), "# Title\n\n".to_owned()));
}

#[test]
fn old_words_are_read() {
    assert_eq!(read_old_words("# Words.\nOld New\nold_name name\n"), [("Old", "New"), ("old_name", "name")]);
}

#[test]
fn words_and_identifiers_are_found() {
    assert_eq!(words("Parents, `memo_hits`").collect::<Vec<_>>(), ["parent", "memo", "hit"]);
    assert_eq!(identifiers("fn old_name(a: Old)").collect::<Vec<_>>(), ["fn", "old_name", "a", "Old"]);
}
