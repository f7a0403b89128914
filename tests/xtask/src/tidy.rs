//! Checks of the source tree, as tests. Each reports all findings, not only the first.

mod comments;
mod crates;
mod documents;
mod glossary;
mod imports;
mod workflows;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::build::{metadata, root};

/// Returns our files with these extensions, relative to the root, without test data.
fn files(kinds: &[&str]) -> Vec<PathBuf> {
    fn walk(folder: &Path, kinds: &[&str], found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_foreign = name.starts_with('.') || ["target", "node_modules", "testdata", "data"].contains(&name.as_str());
            if path.is_dir() && !is_foreign {
                walk(&path, kinds, found);
            } else if path.extension().is_some_and(|extension| kinds.iter().any(|kind| extension == *kind)) {
                found.push(path.strip_prefix(root()).unwrap().to_path_buf());
            }
        }
    }
    let mut found = Vec::new();
    walk(root(), kinds, &mut found);
    found.sort();
    found
}

/// Fails with all findings of `check`, which gets the path and the text of each file.
fn check(kinds: &[&str], rule: &str, check: impl Fn(&Path, &str) -> Vec<String>) {
    let mut findings = String::new();
    for path in files(kinds) {
        // Other processes may remove files meanwhile.
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for finding in check(&path, &text) {
            writeln!(findings, "  {}{finding}", path.display()).unwrap();
        }
    }
    assert!(findings.is_empty(), "{rule}:\n{findings}");
}

fn lines(text: &str, is_wrong: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let findings = text.lines().enumerate().filter_map(|(index, line)| Some(format!(":{}: {}", index + 1, is_wrong(line)?)));
    findings.collect()
}

fn contains_any(line: &str, words: &[&str]) -> Option<String> {
    words.iter().find(|word| line.contains(**word)).map(ToString::to_string)
}

#[test]
fn no_code_is_unfinished() {
    // In two parts, so that this file has no findings.
    let words = [
        concat!("to", "do!("),
        concat!("unimpl", "emented!("),
        concat!("db", "g!("),
        concat!("#[ign", "ore"),
        concat!("```ign", "ore"),
    ];
    check(&["rs"], "finish it, or leave it out", |_, text| lines(text, |line| contains_any(line, &words)));
}

#[test]
fn lines_have_no_trailing_whitespace() {
    check(&["rs", "toml", "md", "wit", "yaml", "mod"], "trailing whitespace, or no newline at the end", |_, text| {
        let mut findings = lines(text, |line| (line.trim_end() != line).then(|| "trailing whitespace".to_string()));
        if !text.is_empty() && !text.ends_with('\n') {
            findings.push(": no newline at the end".to_string());
        }
        findings
    });
}

#[test]
fn no_file_contains_a_path_of_a_developers_machine() {
    let words = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Use", "rs/")];
    check(&["rs", "toml", "md", "wit", "yaml"], "a path of somebody's machine", |_, text| {
        lines(text, |line| contains_any(line, &words))
    });
}

#[test]
fn every_source_file_belongs_to_a_target() {
    let mut reached = BTreeSet::new();
    let metadata = metadata().unwrap();
    for package in metadata["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            // A target may be outside of its package, e.g. `host/../tests/e2e/main.rs`.
            let Ok(path) = fs::canonicalize(target["src_path"].as_str().unwrap()) else { continue };
            reach(&path, path.parent().unwrap(), &mut reached);
        }
    }
    let root = fs::canonicalize(root()).unwrap();
    let orphans: Vec<PathBuf> = files(&["rs"]).into_iter().filter(|path| !reached.contains(&root.join(path))).collect();
    assert!(orphans.is_empty(), "no target and no `mod` line leads to {orphans:#?}");
}

/// Marks the file at `path`, whose modules are in `folder`, and the files that it includes.
fn reach(path: &Path, folder: &Path, reached: &mut BTreeSet<PathBuf>) {
    let Ok(text) = fs::read_to_string(path) else { return };
    if !reached.insert(path.to_path_buf()) {
        return;
    }
    let mut path_attribute = None;
    for line in text.lines().map(str::trim) {
        let quoted = |prefix: &str| line.split_once(prefix)?.1.split('"').next().map(|name| path.with_file_name(name));
        if let Some(named) = quoted("#[path = \"") {
            path_attribute = Some(named);
        } else if let Some(included) = quoted("include!(\"") {
            let folder = included.parent().unwrap().to_path_buf();
            reach(&included, &folder, reached);
        } else if let Some(name) = module_name(line) {
            let (own, inside) = (folder.join(format!("{name}.rs")), folder.join(name));
            match path_attribute.take() {
                Some(named) => reach(&named, named.parent().unwrap(), reached),
                None if own.exists() => reach(&own, &inside, reached),
                None => reach(&inside.join("mod.rs"), &inside, reached),
            }
        }
    }
}

fn module_name(line: &str) -> Option<&str> {
    let (before, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
    let is_declaration = before.is_empty() || before.starts_with("pub");
    (is_declaration && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

#[test]
fn module_names_are_found() {
    assert_eq!(module_name("mod a;"), Some("a"));
    assert_eq!(module_name("pub(crate) mod b_c;"), Some("b_c"));
    for line in ["mod a {", "// mod a;", "use mod_a;", "let x = \"mod a\";"] {
        assert_eq!(module_name(line), None, "{line}");
    }
}

/// Documents that name tests as `file.rs::name`, and the minimum number of tests in each.
const SHOWN: [(&str, usize); 2] = [("tests/MATRIX.md", 50), ("docs/security.md", 50)];

fn named_tests(text: &str) -> BTreeSet<(String, &str)> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter_map(|span| span.split_once(".rs::")).map(|(file, test)| (format!("{file}.rs"), test)).collect()
}

fn has_test(source: &str, test: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let declares = |line: &str| {
        line.split_once("fn ").is_some_and(|(_, rest)| rest.strip_prefix(test).is_some_and(|rest| rest.starts_with('(')))
    };
    let is_marked = |end: usize| {
        let mut above = lines[..end].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        above.any(|line| line.starts_with("#[") && (line.contains("test]") || line.contains("test(")))
    };
    // A macro makes a test of each name in a list of contract checks.
    let mut checks = lines.iter().skip_while(|line| !line.starts_with("checks! {")).skip(1).take_while(|line| **line != "}");
    let is_check = checks.any(|line| line.strip_suffix(',') == Some(test));
    is_check || lines.iter().enumerate().any(|(index, line)| declares(line) && is_marked(index))
}

#[test]
fn the_tests_that_documents_name_exist() {
    for (document, least) in SHOWN {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let named = named_tests(&text);
        let is_missing = |(file, test): &&(String, &str)| {
            let source =
                [root().join("tests"), root().to_path_buf()].iter().find_map(|from| fs::read_to_string(from.join(file)).ok());
            !source.is_some_and(|source| has_test(&source, test))
        };
        let missing: Vec<String> = named.iter().filter(is_missing).map(|(file, test)| format!("{file}::{test}")).collect();
        assert!(missing.is_empty(), "{document} names tests that are not there: {missing:#?}");
        assert!(named.len() > least, "{document} names {} tests", named.len());
    }
}

/// Returns the rows of promises without a test, and the number of rows.
fn promises_without_a_test(text: &str) -> (Vec<&str>, usize) {
    let (mut is_of_promises, mut count, mut wrong) = (false, 0, Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let cells: Vec<&str> = line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        match cells.last() {
            _ if !line.starts_with('|') => is_of_promises = false,
            Some(&"shown by") => {
                is_of_promises = true;
                // Skips the line below the head.
                lines.next();
            }
            last if is_of_promises => {
                count += 1;
                if cells.len() < 2 || last.is_none_or(|cell| named_tests(cell).is_empty()) {
                    wrong.push(line);
                }
            }
            _ => {}
        }
    }
    (wrong, count)
}

#[test]
fn every_promise_of_the_security_guide_names_a_test() {
    let text = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let (wrong, count) = promises_without_a_test(&text);
    assert!(wrong.is_empty(), "name the test that shows it, or move it to the known limits: {wrong:#?}");
    assert!(count > 40, "{count} promises");
    // The check would miss a table with another head.
    let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
    for adversary in ["A plugin", "A tenant of the cluster", "Somebody in the network", "The host"] {
        let section = sections.iter().find(|section| section.starts_with(&format!("{adversary}\n")));
        assert!(section.is_some_and(|section| promises_without_a_test(section).1 > 0), "{adversary}: no promises");
    }
    assert!(sections.last().is_some_and(|section| section.starts_with("Known limits\n")));
}

#[test]
fn promises_and_tests_are_found() {
    let text = "| who | may |\n|---|---|\n| a | b |\n\n| promise | shown by |\n|---|---|\n| a | `b.rs::c` |\n| d | by `e` |\n| f | |\ng\n| h | i |\n";
    assert_eq!(promises_without_a_test(text), (vec!["| d | by `e` |", "| f | |"], 3));
    let source = "/// A.\n#[test]\nfn a() {\n}\nfn b() {}\n#[tokio::test(start_paused = true)]\nasync fn c() {}\n\
        checks! { Objects:\n    d,\n}\nconst LIST: [&str; 1] = [\n    e,\n];\n";
    for (name, expected) in [("a", true), ("b", false), ("c", true), ("d", true), ("e", false), ("f", false)] {
        assert_eq!(has_test(source, name), expected, "{name}");
    }
}

/// A released folder of the plugin contract never changes, because plugins were built against it.
///
/// `wit.released` has a line `folder sha256` for each. To release a version, add its line, which
/// this test prints.
#[test]
fn a_released_contract_never_changes() {
    let released: Vec<Vec<&str>> = include_str!("../wit.released")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect())
        .collect();
    for line in &released {
        let [folder, pinned] = line[..] else { panic!("wit.released: a folder and its digest, not {line:?}") };
        let found = digest(&root().join("wit").join(folder));
        assert_eq!(pinned, found, "wit/{folder} is released and must not change; make a new folder");
    }
    let folders = fs::read_dir(root().join("wit")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let open: Vec<String> = folders
        .filter(|path| !released.iter().any(|line| path.ends_with(line[0])))
        .map(|path| format!("{} {}", path.file_name().unwrap().to_string_lossy(), digest(&path)))
        .collect();
    assert!(open.len() <= 1, "one version at a time is being worked on; pin the others in wit.released: {open:#?}");
    for line in open {
        println!("not released: {line}");
    }
}

fn digest(folder: &Path) -> String {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut digest = Sha256::new();
    for path in files {
        let text = fs::read(&path).unwrap();
        digest.update(format!("{} {}\n", path.file_name().unwrap().to_string_lossy(), text.len()));
        digest.update(text);
    }
    digest.finalize().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// `cargo xtask` installs what a build server needs, so that developers get the same.
#[test]
fn the_build_server_does_no_more_than_call_xtask() {
    let script = fs::read_to_string(root().join(".ci/run")).unwrap();
    let lines: Vec<&str> = script.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let (last, before) = lines.split_last().unwrap();
    assert!(last.contains("exec cargo xtask test"), "{last}");
    let is_setting = |line: &&str| ["set ", "cd ", "export "].iter().any(|word| line.starts_with(word));
    let others: Vec<&&str> = before.iter().filter(|line| !is_setting(line)).collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// These checks pass without a finding if they read nothing.
#[test]
fn the_checks_see_the_tree() {
    let packages = metadata().unwrap()["packages"].as_array().map_or(0, Vec::len);
    assert!(packages > 5, "{packages} packages");
    assert!(files(&["rs"]).contains(&PathBuf::from("tests/xtask/src/tidy.rs")));
    assert!(matches!(metadata().unwrap()["target_directory"], Value::String(_)));
}
