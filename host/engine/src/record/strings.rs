//! Replaces strings in a JSON text, and leaves every other byte unchanged.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON")]
pub(super) struct NotJson;

/// The position of a string: the keys and list elements that lead to it.
pub(super) type Path<'a> = [Step<'a>];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Key(Cow<'a, str>),
    Element,
}

impl Step<'_> {
    pub(super) fn is(&self, key: &str) -> bool {
        matches!(self, Self::Key(own) if own == key)
    }
}

/// Replaces string values by the results of `with`; `None` if nothing was replaced. Does not
/// recurse, because texts may nest deeply, and assumes valid JSON.
pub(super) fn replace<'a>(
    text: &'a str,
    mut with: impl FnMut(&Path<'_>, &str) -> Option<String>,
) -> Result<Option<String>, NotJson> {
    let mut path: Vec<Step<'a>> = Vec::new();
    let mut replaced: Option<String> = None;
    let mut copied = 0;
    let mut is_key = false;
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(token) = rest.find(['{', '}', '[', ']', ',', ':', '"']) else { break };
        let start = at + token;
        match rest.as_bytes().get(token) {
            Some(b'{') => {
                path.push(Step::Key(Cow::Borrowed("")));
                is_key = true;
            }
            Some(b'[') => {
                path.push(Step::Element);
                is_key = false;
            }
            Some(b'}' | b']') => {
                path.pop().ok_or(NotJson)?;
                is_key = false;
            }
            Some(b',') => is_key = matches!(path.last(), Some(Step::Key(_))),
            Some(b'"') => {
                let end = start + string_length(text.get(start..).ok_or(NotJson)?)?;
                let literal = text.get(start..end).ok_or(NotJson)?;
                let string = decode(literal)?;
                at = end;
                if std::mem::take(&mut is_key) {
                    *path.last_mut().ok_or(NotJson)? = Step::Key(string);
                } else if let Some(other) = with(&path, &string) {
                    let replaced = replaced.get_or_insert_default();
                    replaced.push_str(text.get(copied..start).ok_or(NotJson)?);
                    replaced.push_str(&serde_json::Value::from(other).to_string());
                    copied = end;
                }
                continue;
            }
            _ => {}
        }
        at = start + 1;
    }
    if let Some(replaced) = &mut replaced {
        replaced.push_str(text.get(copied..).ok_or(NotJson)?);
    }
    if path.is_empty() { Ok(replaced) } else { Err(NotJson) }
}

fn string_length(text: &str) -> Result<usize, NotJson> {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Ok(index + 1),
            _ => {}
        }
    }
    Err(NotJson)
}

fn decode(literal: &str) -> Result<Cow<'_, str>, NotJson> {
    match literal.get(1..literal.len() - 1) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str::<String>(literal).map(Cow::Owned).map_err(|_| NotJson),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let mut seen = Vec::new();
        let step = |step: &Step<'_>| match step {
            Step::Key(key) => format!(".{key}"),
            Step::Element => "[]".to_owned(),
        };
        let replaced = replace(text, |path, string| {
            seen.push(format!("{}={string}", path.iter().map(step).collect::<String>()));
            None
        });
        assert_eq!(replaced, Ok(None));
        seen
    }

    #[test]
    fn each_string_is_shown_with_its_path() {
        let text = r#" {"a":"1", "b" : {"c":["2",{"d\n":"3"},"4"],"e":5},"f":"\"{\u0041"} "#;
        assert_eq!(paths(text), [".a=1", ".b.c[]=2", ".b.c[].d\n=3", ".b.c[]=4", ".f=\"{A"]);
        assert_eq!(paths("{}"), [""; 0]);
        assert_eq!(paths("\"x\""), ["=x"]);
    }

    #[test]
    fn only_strings_are_replaced() {
        let text = r#"{ "a" : "x" , "x":["x", 1.0 ,"y"]}"#;
        let replaced = replace(text, |_, string| (string == "x").then(|| "\"\n".to_owned()));
        assert_eq!(replaced.unwrap().unwrap(), r#"{ "a" : "\"\n" , "x":["\"\n", 1.0 ,"y"]}"#);
    }

    #[test]
    fn malformed_json_does_no_harm() {
        for text in ["{", "[\"", "\"\\", "}", "{\"a\":\"\\q\"}", "\"\\\""] {
            assert_eq!(replace(text, |_, _| None), Err(NotJson), "{text}");
        }
        let deep = "[".repeat(1_000_000);
        assert_eq!(replace(&deep, |_, _| None), Err(NotJson));
    }
}
