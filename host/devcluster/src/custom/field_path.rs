//! Paths in definitions, e.g. `.spec.foo`, `.metadata.labels['a.b']`.

use super::path::Path;
use super::structural::Node;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexing {
    Allowed,
    Forbidden,
}

/// Resolves a path to its form in errors and the schema there. The error is the reason why it is
/// invalid.
pub(crate) fn resolve<'a>(path: &str, schema: &'a Node, indexing: Indexing) -> Result<(String, &'a Node), String> {
    let tokens = tokens(path);
    let mut tokens = tokens.iter().map(String::as_str);
    let (mut found, mut at) = (Path::root(), schema);
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("unexpected end of JSON path")?.to_owned(),
            "[" if indexing == Indexing::Forbidden => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                match tokens.next() {
                    Some("]") => unescape(inner)?,
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        const UNKNOWN: &str = "does not refer to a valid field";
        if at.properties.is_empty() {
            at = at.each().ok_or(UNKNOWN)?;
            found = found.key(name);
        } else {
            at = at.properties.get(&name).ok_or(UNKNOWN)?;
            found = found.child(&name);
        }
    }
    Ok((if path.is_empty() { String::new() } else { found.into() }, at))
}

/// Splits a path into delimiters, quoted texts and names.
fn tokens(path: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut current = String::new();
    let (mut quoted, mut before) = (false, None);
    for character in path.chars() {
        if quoted {
            current.push(character);
            if character == '\'' && before != Some('\\') {
                tokens.push(std::mem::take(&mut current));
                quoted = false;
            }
        } else if matches!(character, '.' | '[' | ']') {
            if !current.is_empty() {
                tokens.push(std::mem::take(&mut current));
            }
            tokens.push(character.to_string());
        } else {
            quoted = character == '\'' && current.is_empty();
            current.push(character);
        }
        before = Some(character);
    }
    if !current.is_empty() {
        tokens.push(current);
    }
    tokens
}

fn unescape(text: &str) -> Result<String, String> {
    let mut unescaped = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            unescaped.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => unescaped.push('\n'),
            Some('r') => unescaped.push('\r'),
            Some('t') => unescaped.push('\t'),
            Some(same @ ('\'' | '\\')) => unescaped.push(same),
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            None => unescaped.push('\\'),
        }
    }
    Ok(unescaped)
}
