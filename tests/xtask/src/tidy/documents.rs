//! Checks of the documents: links, named paths and commands, and copies in packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::{files, metadata, root};

/// Documents whose code spans name files of this repository.
const NAMING_FILES: [&str; 5] = ["CONTRIBUTING.md", "README.md", "SECURITY.md", "tests/README.md", "docs"];

/// Folders of the root. A code span that begins with one names a file.
const FOLDERS: [&str; 10] = [".ci/", ".github/", "charts/", "docs/", "host/", "plugins/", "sdk/", "testkit/", "tests/", "wit/"];

/// The packages that are published. Their includes must be inside of them.
const PUBLISHED: [&str; 13] = [
    "host",
    "host/core",
    "host/devcluster",
    "host/engine",
    "host/input",
    "host/offline",
    "host/registry",
    "host/sandbox",
    "host/signatures",
    "host/values",
    "sdk",
    "sdk/derive",
    "testkit",
];

const GUIDE: &str = "sdk/src/guide";

/// Folders with a copy of the contract, because the package is built from it.
const COPIES_OF_THE_CONTRACT: [&str; 2] = ["sdk/wit", "host/sandbox/wit"];
const CONTRACT: &str = "wit/v0.1.0/plugin.wit";
const COPIES_IN_SDKS: [&str; 2] = ["sdk/python/src/gyre/wit/plugin.wit", "sdk/typescript/wit/deps/gyre-plugin/plugin.wit"];

/// The maximum length of README.md: two screens.
const README_LINES: usize = 120;

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns each line of a document, and whether it is inside a code fence. Fences count as inside.
fn lines_with_fences(text: &str) -> Vec<(&str, bool)> {
    let mut is_code = false;
    let lines = text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        let is_inside = is_code || is_fence;
        is_code ^= is_fence;
        (line, is_inside)
    });
    lines.collect()
}

fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn links(text: &str) -> Vec<&str> {
    let prose = lines_with_fences(text).into_iter().filter(|(_, is_code)| !is_code);
    prose.flat_map(|(line, _)| links_in(line)).collect()
}

/// Returns the targets of the links in a line. Calls of generic functions in code look like links.
fn links_in(line: &str) -> impl Iterator<Item = &str> {
    let is_code = |at: usize| !line[..at].matches('`').count().is_multiple_of(2);
    let begins = line.match_indices("](").filter(move |(at, _)| !is_code(*at));
    begins.filter_map(|(at, opening)| line[at + opening.len()..].split(')').next())
}

/// Returns the fragment that a forge gives a heading.
fn fragment(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
}

fn fragments(text: &str) -> BTreeSet<String> {
    let prose = lines_with_fences(text).into_iter().filter(|(line, is_code)| !is_code && line.starts_with('#'));
    prose.map(|(line, _)| fragment(line.trim_start_matches('#').trim())).collect()
}

fn normalized(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts.iter().collect()
}

/// Other links are on the web, or rustdoc checks them.
fn is_followed_here(link: &str) -> bool {
    !link.starts_with("http://") && !link.starts_with("https://") && !link.contains("::")
}

#[test]
fn links_of_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in files(&["md"]) {
        let text = read(&document);
        for link in links(&text).into_iter().filter(|link| is_followed_here(link)) {
            count += 1;
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => normalized(&document.parent().unwrap().join(file)),
            };
            let is_there = root().join(&target).exists();
            let has_section = || section.is_empty() || fragments(&read(&target)).contains(section);
            if !is_there || !has_section() {
                wrong.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere: {wrong:#?}");
    assert!(count > 50, "the documents have {count} links");
}

#[test]
fn files_that_documents_name_exist() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let is_naming = |path: &PathBuf| NAMING_FILES.iter().any(|naming| path.starts_with(naming));
    for document in files(&["md"]).into_iter().filter(is_naming) {
        let text = read(&document);
        let prose = lines_with_fences(&text).into_iter().filter(|(_, is_code)| !is_code);
        for span in prose.flat_map(|(line, _)| spans(line)) {
            let is_path = FOLDERS.iter().any(|folder| span.starts_with(folder)) && !span.contains([' ', '*', '<', '…']);
            if is_path {
                count += 1;
                let (file, symbol) = span.split_once("::").unwrap_or((span, ""));
                let source = fs::read_to_string(root().join(file)).unwrap_or_default();
                if !root().join(file).exists() || !source.contains(symbol) {
                    wrong.push(format!("{}: {span}", document.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "documents name files that do not exist: {wrong:#?}");
    assert!(count > 50, "the documents name {count} files");
}

fn option<'a>(words: &[&'a str], names: &[&str]) -> Option<&'a str> {
    words.iter().position(|word| names.contains(word)).and_then(|index| words.get(index + 1)).copied()
}

#[test]
fn test_suites_that_documents_name_exist() {
    let metadata = metadata().unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let targets = |package: &Value| -> Vec<String> {
        package["targets"].as_array().unwrap().iter().map(|target| target["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut count = 0;
    for document in ["CONTRIBUTING.md", "tests/README.md"] {
        let text = read(Path::new(document));
        for command in text.lines().flat_map(spans).filter(|span| span.starts_with("cargo test ")) {
            count += 1;
            let words: Vec<&str> = command.split(' ').collect();
            let name = option(&words, &["-p", "--package"]).unwrap_or("gyre");
            let package = packages.iter().find(|package| package["name"] == name);
            let package = package.unwrap_or_else(|| panic!("{document}: {command}: there is no package {name}"));
            if let Some(test) = option(&words, &["--test"]) {
                assert!(targets(package).iter().any(|target| target == test), "{document}: {command}: {name} has no such test");
            }
        }
    }
    assert!(count > 10, "{count} commands");
}

#[test]
fn the_readme_is_short() {
    let lines = read(Path::new("README.md")).lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines; move details to docs/");
}

/// Returns a page of `docs/` for rustdoc: without the title, with sections one level higher, and
/// with links to items and modules instead of files. Links to other files become paths.
fn for_rustdoc(page: &str, has_module: impl Fn(&str) -> bool) -> String {
    let is_of_test_kit = |from: usize, lines: &[(&str, bool)]| {
        let mut code = lines.iter().skip(from + 1).take_while(|(line, _)| !line.trim_start().starts_with("```"));
        code.any(|(line, _)| line.contains("gyre_test"))
    };
    let lines = lines_with_fences(page);
    let mut copy = String::new();
    for (index, (line, is_code)) in lines.iter().enumerate() {
        match line {
            _ if index == 0 => assert!(line.starts_with("# "), "a page begins with its title: {line}"),
            _ if index == 1 => assert!(line.is_empty(), "an empty line follows the title: {line}"),
            &"```mermaid" => copy.push_str("```text\n"),
            // The SDK does not depend on the test kit: tests/documents compiles the page itself.
            &"```rust" if is_of_test_kit(index, &lines) => copy.push_str("```text\n"),
            line if *is_code => copy.push_str(&format!("{line}\n")),
            line => {
                let line = line.strip_prefix('#').unwrap_or(line);
                copy.push_str(&with_links_for_rustdoc(line, &has_module));
                copy.push('\n');
            }
        }
    }
    copy
}

fn with_links_for_rustdoc(line: &str, has_module: impl Fn(&str) -> bool) -> String {
    let mut copy = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some((start, text)), Some((target, after))) = (before.rsplit_once('['), after.split_once(')')) else {
            panic!("a link is on one line: {line}");
        };
        let (file, section) = target.split_once('#').unwrap_or((target, ""));
        let section = if section.is_empty() { String::new() } else { format!("#{section}") };
        let module = file.strip_suffix(".md").map(|name| name.replace('-', "_")).filter(|name| has_module(name));
        copy.push_str(start);
        if target.starts_with("http") || file.is_empty() {
            copy.push_str(&format!("[{text}]({target})"));
        } else if let Some(module) = module {
            copy.push_str(&format!("[{text}](crate::guide::{module}{section})"));
        } else if file.starts_with("../sdk/src/") {
            copy.push_str(&format!("[{text}](crate::{})", text.trim_matches('`')));
        } else {
            let path = normalized(&Path::new("docs").join(file)).display().to_string();
            let is_path = text.trim_matches('`') == path;
            copy.push_str(&if is_path { format!("`{path}`") } else { format!("{text} (`{path}`)") });
        }
        rest = after;
    }
    copy + rest
}

#[test]
fn a_page_is_copied_for_rustdoc() {
    let page = "# Title\n\nA [b](contract.md#limits) and [`C::d`](../sdk/src/c.rs).\n\n## Section\n\n```rust\n# use a::b;\n```\n\n\
        ```rust\nuse gyre_test::World;\n```\n\n[e](../charts/gyre/README.md), [f](comparison.md), [`wit/x`](../wit/x), [g](#section)\n";
    let copy = "A [b](crate::guide::contract#limits) and [`C::d`](crate::C::d).\n\n# Section\n\n```rust\n# use a::b;\n```\n\n\
        ```text\nuse gyre_test::World;\n```\n\ne (`charts/gyre/README.md`), f (`docs/comparison.md`), `wit/x`, [g](#section)\n";
    assert_eq!(for_rustdoc(page, |module| module == "contract"), copy);
}

/// docs.rs has only the files of the package. `GYRE_BLESS=1` writes the copies.
#[test]
fn the_guide_of_the_sdk_is_a_copy_of_the_documents() {
    let is_page = |path: &PathBuf| path.starts_with(GUIDE);
    let copies: Vec<PathBuf> = files(&["md"]).into_iter().filter(is_page).collect();
    let modules = read(Path::new("sdk/src/guide.rs"));
    let has_module = |name: &str| modules.contains(&format!("pub mod {name} {{}}"));
    let mut different = Vec::new();
    for copy in &copies {
        let name = copy.file_stem().unwrap().to_string_lossy();
        assert!(has_module(&name), "sdk/src/guide.rs has no module {name}");
        let page = PathBuf::from("docs").join(format!("{}.md", name.replace('_', "-")));
        let expected = for_rustdoc(&read(&page), has_module);
        if std::env::var_os("GYRE_BLESS").is_some() {
            fs::write(root().join(copy), &expected).unwrap();
        } else if read(copy) != expected {
            different.push(copy.display().to_string());
        }
    }
    assert!(different.is_empty(), "not as in docs/ (GYRE_BLESS=1 copies them): {different:#?}");
    assert!(copies.len() > 5, "{copies:?}");
}

#[test]
fn copies_of_the_contract_are_the_contract() {
    for copy in COPIES_IN_SDKS {
        assert!(read(Path::new(copy)) == read(Path::new(CONTRACT)), "{copy} differs from {CONTRACT}: copy it");
    }
    for copies in COPIES_OF_THE_CONTRACT {
        let inside = |folder: &str| -> Vec<PathBuf> {
            let found = files(&["wit"]).into_iter().filter_map(|path| Some(path.strip_prefix(folder).ok()?.to_path_buf()));
            found.collect()
        };
        assert_eq!(inside(copies), inside("wit"), "{copies}");
        for file in inside("wit") {
            let (copy, original) = (Path::new(copies).join(&file), Path::new("wit").join(&file));
            if std::env::var_os("GYRE_BLESS").is_some() {
                fs::write(root().join(&copy), read(&original)).unwrap();
            }
            let remedy = "GYRE_BLESS=1 copies it";
            assert!(read(&copy) == read(&original), "{} differs from {}: {remedy}", copy.display(), original.display());
        }
    }
}

/// Cargo packs only a package's own folder.
#[test]
fn a_published_package_includes_only_its_own_files() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in files(&["rs"]) {
        let of =
            PUBLISHED.iter().filter(|package| path.starts_with(Path::new(package).join("src"))).max_by_key(|name| name.len());
        let Some(package) = of else { continue };
        // Tests are not compiled for dependents of the package.
        let is_test = path.iter().any(|part| part.to_string_lossy().starts_with("tests"));
        let text = if is_test { String::new() } else { read(&path) };
        for line in text.lines() {
            let from_file = ["include_str!(\"", "include_bytes!(\"", "include!(\""];
            let named = |before: &str| line.split_once(before)?.1.split('"').next();
            let included = from_file.iter().find_map(|before| named(before)).map(|name| path.with_file_name(name));
            let contract = named("path: \"").filter(|name| name.contains("wit/")).map(|name| Path::new(package).join(name));
            for included in included.into_iter().chain(contract) {
                count += 1;
                if !normalized(&included).starts_with(package) {
                    wrong.push(format!("{}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "included from outside of the package: {wrong:#?}");
    assert!(count > 10, "{count} files are included");
}
