//! Checks that terms of the glossary are in use, and that old words are not.

use std::collections::BTreeSet;
use std::fs;

use super::{files, root};

const GLOSSARY: &str = "ARCHITECTURE.md";

/// With fewer terms, the table was probably not found.
const LEAST_TERMS: usize = 20;

#[derive(Debug, Default, PartialEq, Eq)]
struct Glossary<'a> {
    terms: Vec<&'a str>,
    /// A word that the code no longer has, and what is used instead.
    replaced: Vec<(&'a str, &'a str)>,
}

impl<'a> Glossary<'a> {
    /// Reads the two tables of the section "Glossary". Returns the rest of the document as well.
    fn read(document: &'a str) -> (Self, String) {
        let (before, after) = document.split_once("\n## Glossary\n").unwrap_or((document, ""));
        let (section, rest) = after.split_once("\n## ").unwrap_or((after, ""));
        let mut glossary = Self::default();
        let mut head = None;
        for line in section.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            match cells[..] {
                ["", first, second, ""] if first.starts_with("---") && second.starts_with("---") => {}
                ["", first @ ("term" | "no longer used"), _, ""] => head = Some(first),
                ["", term, _, ""] if head == Some("term") => glossary.terms.push(term),
                ["", word, instead, ""] if head.is_some() => {
                    glossary.replaced.push((word.trim_matches('`'), instead.trim_matches('`')));
                }
                _ => head = None,
            }
        }
        (glossary, format!("{before}\n{rest}"))
    }
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
    let (glossary, rest) = Glossary::read(&document);
    let mut used: BTreeSet<String> = words(&rest).collect();
    for path in files(&["rs", "md"]).into_iter().filter(|path| !path.ends_with(GLOSSARY)) {
        // Other processes may remove files meanwhile.
        used.extend(words(&fs::read_to_string(root().join(path)).unwrap_or_default()));
    }
    let unused: Vec<&&str> = glossary.terms.iter().filter(|term| !words(term).all(|word| used.contains(&word))).collect();
    assert!(unused.is_empty(), "nothing uses these terms of the glossary: {unused:?}");
    let distinct: BTreeSet<&&str> = glossary.terms.iter().collect();
    assert_eq!(distinct.len(), glossary.terms.len(), "a term is explained once: {:?}", glossary.terms);
    assert!(distinct.len() >= LEAST_TERMS, "{GLOSSARY} explains {} terms", distinct.len());
}

#[test]
fn words_that_are_no_longer_used_do_not_come_back() {
    let document = fs::read_to_string(root().join(GLOSSARY)).unwrap();
    let (Glossary { replaced, .. }, _) = Glossary::read(&document);
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
    assert!(findings.is_empty(), "words that the glossary calls no longer used: {findings:#?}");
    assert!(missing.is_empty(), "the glossary names replacements that the code does not have: {missing:?}");
    assert!(!replaced.is_empty(), "{GLOSSARY} lists no words that are no longer used");
}

#[test]
fn a_glossary_is_read() {
    let document = "# Title\n\nBefore.\n\n## Glossary\n\n| term | meaning |\n|---|---|\n| parent | an object |\n| child list | another |\n\n\
        Text.\n\n| no longer used | instead |\n|---|---|\n| `Old` | `New` |\n\n## After\n\n| term | meaning |\n|---|---|\n| x | y |\n";
    let (glossary, rest) = Glossary::read(document);
    assert_eq!(glossary, Glossary { terms: vec!["parent", "child list"], replaced: vec![("Old", "New")] });
    assert!(rest.contains("Before.") && rest.contains("| x | y |") && !rest.contains("parent"), "{rest}");
    assert_eq!(Glossary::read("# Title\n"), (Glossary::default(), "# Title\n\n".to_owned()));
}

#[test]
fn words_and_identifiers_are_found() {
    assert_eq!(words("Parents, `memo_hits`").collect::<Vec<_>>(), ["parent", "memo", "hit"]);
    assert_eq!(identifiers("fn old_name(a: Old)").collect::<Vec<_>>(), ["fn", "old_name", "a", "Old"]);
}
