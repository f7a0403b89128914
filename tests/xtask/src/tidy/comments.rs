//! The mechanical rules for comments, in all `.rs` files that git knows.
//!
//! What is absent: rules that need a reader, e.g. that a comment says why.

use std::fs;
use std::process::Command;

use crate::build::root;

/// A wider comment is hard to read beside other windows; rustfmt's limit is for code.
const MAX_COLUMNS: usize = 100;

/// The beginning of a drawing, which may be wider.
const TEXT: &str = "```text";

/// The first words of relative clauses.
const RELATIVE: [&str; 7] = ["What ", "Which ", "Whoever ", "Whatever ", "That which ", "Those that ", "Those of "];

/// First words that suit a field, e.g. `Whether the mount adopts children`, but not a function.
const OF_FIELDS: [&str; 2] = ["Whether ", "How "];

/// Words that do not appear in comments, each with the remedy.
const PRIVATE_WORDS: [(&str, &str); 7] = [
    ("so many", "write \"at most N\", or the number"),
    ("So many", "write \"at most N\", or the number"),
    ("whoever", "name the person or the caller"),
    ("Whoever", "name the person or the caller"),
    ("or none", "write `None`, or say what is absent"),
    ("; none", "write `None`, or say what is absent"),
    ("none if", "write `None` if"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `///`, which documents the next item.
    Outer,
    /// `//!`, which documents the module.
    Inner,
    /// Any other comment.
    Plain,
}

/// A line of a comment.
#[derive(Debug, PartialEq, Eq)]
struct Comment<'a> {
    /// Counted from 1.
    line: usize,
    kind: Kind,
    /// The text after the marker, without white space around it.
    text: &'a str,
}

/// Returns the comments of a source file, line by line. Strings contain no comments.
fn comments(source: &str) -> Vec<Comment<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_length(rest)
        } else {
            at += literal_length(rest, source[..at].chars().next_back());
            continue;
        };
        let first = source[..at].matches('\n').count() + 1;
        found.extend(rest[..length].lines().zip(first..).map(|(text, line)| comment(text, line)));
        at += length;
    }
    found
}

fn comment(text: &str, line: usize) -> Comment<'_> {
    let is_ruler = text.starts_with("////");
    let (kind, text) = match (text.strip_prefix("///"), text.strip_prefix("//!")) {
        (Some(text), _) if !is_ruler => (Kind::Outer, text),
        (_, Some(text)) => (Kind::Inner, text),
        _ => (Kind::Plain, text.trim_start_matches('/')),
    };
    Comment { line, kind, text: text.trim() }
}

/// Returns the length of a block comment, in which others may be nested.
fn block_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Returns the length of the literal or other character that `rest` begins with, after `before`.
fn literal_length(rest: &str, before: Option<char>) -> usize {
    let is_in_word = before.is_some_and(|letter| letter.is_alphanumeric() && !"bc".contains(letter) || letter == '_');
    if let Some(length) = raw_string_length(rest).filter(|_| !is_in_word) {
        return length;
    }
    let first = rest.chars().next().map_or(1, char::len_utf8);
    if rest.starts_with('"') {
        return quoted_length(rest, '"');
    }
    // A lifetime has no second quote.
    let mut letters = rest.char_indices().skip(1);
    match (rest.starts_with('\''), letters.next(), letters.next()) {
        (true, Some((_, '\\')), _) => quoted_length(rest, '\''),
        (true, Some(_), Some((at, '\''))) => at + 1,
        _ => first,
    }
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if letter == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    rest.len()
}

/// Returns the length of `r#"…"#`, or `None` for other text.
fn raw_string_length(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let content = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", &after[..hashes]);
    let length = content.find(&end).map_or(content.len(), |at| at + end.len());
    Some(1 + hashes + 1 + length)
}

/// Returns whether a comment cannot be broken: it is a link or a row of a table.
fn is_unbreakable(text: &str) -> bool {
    let text = text.split_once("]: ").map_or(text, |(_, target)| target);
    text.starts_with('|') || !text.contains(' ')
}

/// Returns the line and the message of each violation.
fn violations(source: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.lines().collect();
    let comments = comments(source);
    let mut found = Vec::new();
    let mut fence = None;
    for (index, comment) in comments.iter().enumerate() {
        let Comment { line, kind, text } = *comment;
        let before = index.checked_sub(1).map(|before| &comments[before]);
        let before = before.filter(|before| before.line + 1 == line && before.kind == kind);
        // A fence belongs to one block of comments.
        fence = fence.filter(|_| before.is_some());
        let is_fence = text.starts_with("```");
        let width = lines[line - 1].chars().count();
        if width > MAX_COLUMNS && fence != Some(TEXT) && !is_unbreakable(text) {
            found.push((line, format!("a comment has {width} columns: break it at {MAX_COLUMNS}")));
        }
        let is_first_line = kind != Kind::Plain && before.is_none();
        let of_fields = OF_FIELDS.iter().filter(|_| is_of_function(&lines[line..]));
        let relative = RELATIVE.iter().chain(of_fields).find(|words| is_first_line && text.starts_with(**words));
        if let Some(words) = relative {
            let words = words.trim_end();
            found.push((line, format!("a doc comment begins with `{words}`: begin with a noun, or a verb such as `Returns`")));
        }
        if fence.is_none() && !is_fence {
            // A phrase may begin at the end of the line above.
            let above = before.map(|other| prose(other.text)).unwrap_or_default();
            found.extend(
                private_words(&above, &prose(text))
                    .map(|(word, remedy)| (line, format!("a comment has the words `{word}`: {remedy}"))),
            );
        }
        if is_fence {
            fence = if fence.is_none() { Some(text) } else { None };
        }
    }
    found
}

/// Returns whether the item that follows a line of a doc comment is a function.
fn is_of_function(after: &[&str]) -> bool {
    let mut lines = after.iter().map(|line| line.trim_start());
    let item = lines.find(|line| !line.starts_with("///") && !line.starts_with("#["));
    item.is_some_and(|item| item.split(' ').any(|word| word == "fn"))
}

/// Returns a text without its code spans.
fn prose(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Returns the private words that end in the second of two lines.
fn private_words(above: &str, line: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let both = format!("{above} {line}");
    let start = above.len() + 1;
    PRIVATE_WORDS.into_iter().filter(move |(word, _)| {
        let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        both.match_indices(*word).any(|(at, _)| {
            let end = at + word.len();
            let is_whole = !is_letter(both[..at].chars().next_back()) && !is_letter(both[end..].chars().next());
            end > start && (is_whole || word.starts_with(';') && !is_letter(both[end..].chars().next()))
        })
    })
}

#[test]
fn comments_are_plain() {
    let output = Command::new("git").args(["ls-files", "-z", "*.rs"]).current_dir(root()).output().expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let files: Vec<&str> = listed.split_terminator('\0').collect();
    assert!(files.contains(&"tests/xtask/src/tidy.rs"), "{files:?}");
    let mut findings = Vec::new();
    for file in files {
        // Other processes may remove files meanwhile.
        let Ok(source) = fs::read_to_string(root().join(file)) else { continue };
        findings.extend(violations(&source).into_iter().map(|(line, message)| format!("{file}:{line}: {message}")));
    }
    assert!(findings.is_empty(), "{} comments break the rules of CONTRIBUTING.md:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn comments_are_told_from_strings() {
    let source = "//! a\n/// b\nfn f<'a>() -> &'a str { // c\n    let s = \"// no \\\" // no\"; let c = ['\"', '\\'', '/'];\n\
        \x20   let r = br#\"// no \" // no\"#; let r#x = b\"//\"; /* d /* e */\n f */ \"\n// no\" // g\n}\n//// h\n";
    let found: Vec<(usize, Kind, &str)> = comments(source).iter().map(|found| (found.line, found.kind, found.text)).collect();
    let expected = [
        (1, Kind::Inner, "a"),
        (2, Kind::Outer, "b"),
        (3, Kind::Plain, "c"),
        (5, Kind::Plain, "* d /* e */"),
        (6, Kind::Plain, "f */"),
        (7, Kind::Plain, "g"),
        (9, Kind::Plain, "h"),
    ];
    assert_eq!(found, expected);
}

/// The lines with violations, and a word of each message.
fn check(source: &str, expected: &[(usize, &str)]) {
    let found = violations(source);
    let is_as_expected =
        |((line, message), (expected, word)): (&(usize, String), &(usize, &str))| line == expected && message.contains(*word);
    let is_right = found.len() == expected.len() && found.iter().zip(expected).all(is_as_expected);
    assert!(is_right, "{source}: {found:?} instead of {expected:?}");
}

#[test]
fn a_wide_comment_is_found() {
    let words = "word ".repeat(20);
    let words = words.trim_end();
    check(&format!("/{}", &format!("/ {words}")[..99]), &[]);
    check(&format!("// {words}"), &[(1, "102 columns")]);
    check(&format!("fn f() {{}} // {words}"), &[(1, "112 columns")]);
    // Each letter is one column.
    check(&format!("// {}", "ä ".repeat(40).trim_end()), &[]);
    check(&format!("let s = \"// {words}\";"), &[]);
    for unbreakable in
        [format!("https://{}", "a".repeat(100)), format!("[a]: https://{}", "a".repeat(100)), format!("| {words} |")]
    {
        check(&format!("/// {unbreakable}"), &[]);
    }
    check(&format!("/// ```text\n/// {words}\n/// ```\n/// {words}\n"), &[(4, "break it at 100")]);
    check(&format!("/// ```\n/// {words}\n/// ```\n"), &[(2, "columns")]);
    // The fence that is not closed ends with its comment.
    check(&format!("/// ```text\nfn f() {{}}\n/// {words}\n"), &[(3, "columns")]);
}

#[test]
fn a_doc_comment_that_begins_with_a_relative_clause_is_found() {
    for clause in RELATIVE.into_iter().filter(|clause| *clause != "Whoever ") {
        check(&format!("/// {clause}it is.\nfn f() {{}}\n"), &[(1, "begin with a noun")]);
        check(&format!("//! {clause}it is.\n"), &[(1, clause.trim_end())]);
        check(&format!("// {clause}it is.\n"), &[]);
        check(&format!("/// A noun.\n/// {clause}it is.\nfn f() {{}}\n"), &[]);
    }
    check("/// Whoever it is.\n", &[(1, "begin with a noun"), (1, "`Whoever`")]);
    check("struct S {\n    /// How it is.\n    a: u8,\n    /// Whether it is.\n    b: bool,\n}\n", &[]);
    check("/// Whether it is.\n/// More.\n#[must_use]\npub(crate) const fn is() -> bool {}\n", &[(1, "`Whether`")]);
}

#[test]
fn private_words_are_found() {
    check("// There are so many.\n", &[(1, "`so many`")]);
    check("// Whoever asks.\n// There are so\n// many.\n", &[(1, "`Whoever`"), (3, "`so many`")]);
    check("/// The value, or none.\n/// The value; none: it is absent.\n", &[(1, "`or none`"), (2, "`; none`")]);
    check("// It is none if it is absent.\n", &[(1, "`none if`")]);
    check("// `or none`, `None` if it is absent; nonetheless, whoevers for nonempty ones, or None\n", &[]);
    check("/// ```\n/// // so many\n/// ```\n", &[]);
    check("let s = \"so many\";\n// So\n\n// many\n", &[]);
}
