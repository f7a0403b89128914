//! From a template to what is served.

use std::collections::BTreeMap;

use gyre_sdk::fingerprint;
use serde::Deserialize;

/// A ConfigMap that is rendered.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Template {
    #[serde(default)]
    data: BTreeMap<String, String>,
    #[serde(default)]
    binary_data: BTreeMap<String, String>,
}

/// What the placeholders stand for.
pub(crate) struct Values<'a> {
    pub(crate) title: &'a str,
    pub(crate) host: &'a str,
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
}

/// What is served: files by name.
pub(crate) struct Content {
    pub(crate) data: BTreeMap<String, String>,
    /// Images and the like, as they are in the template.
    pub(crate) binary_data: BTreeMap<String, String>,
}

impl Template {
    pub(crate) fn render(self, values: &Values<'_>) -> Content {
        let data = self.data.into_iter().map(|(file, text)| (file, values.fill_in(&text))).collect();
        Content { data, binary_data: self.binary_data }
    }
}

impl Values<'_> {
    /// What is filled in is not looked at again: a title may speak of `{{title}}`.
    fn fill_in(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, from_braces)) = rest.split_once("{{") {
            filled.push_str(before);
            match self.placeholder(from_braces) {
                Some((value, after)) => {
                    filled.push_str(value);
                    rest = after;
                }
                // One brace only: of three, the last two may open a placeholder.
                None => {
                    filled.push('{');
                    rest = rest.get(before.len() + 1..).unwrap_or_default();
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    /// What the placeholder at the start stands for, and what follows it. It is looked for up to the next brace, so that a text of
    /// braces alone is not gone through once for each of them.
    fn placeholder<'t>(&self, text: &'t str) -> Option<(&str, &'t str)> {
        let (placeholder, braces) = text.split_at_checked(text.find(['{', '}'])?)?;
        let after = braces.strip_prefix("}}")?;
        let value = match placeholder.trim() {
            "title" => self.title,
            "host" => self.host,
            "name" => self.name,
            "namespace" => self.namespace,
            _ => return None,
        };
        Some((value, after))
    }
}

impl Content {
    /// Changes when a file does.
    pub(crate) fn fingerprint(&self) -> String {
        let files = [&self.data, &self.binary_data];
        fingerprint(files.into_iter().flatten().flat_map(|(file, text)| [file.as_str(), text.as_str()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let values = Values { title: "T & {{host}}", host: "example.com", name: "hello", namespace: "default" };
        assert_eq!(values.fill_in(template), expected);
    }

    #[test]
    fn placeholders_are_filled_in_once_and_all_else_stays() {
        check("", "");
        check("plain", "plain");
        check("{{title}}", "T & {{host}}");
        check("<{{ host }}/{{name}}.{{namespace}}>", "<example.com/hello.default>");
        check("{{other}} {{ title", "{{other}} {{ title");
        check("}} {{} {{}}", "}} {{} {{}}");
        check("{{{host}}}", "{example.com}");
        check("{{ é {{host}}", "{{ é example.com");
        check("{{a{{name}}b}}", "{{ahellob}}");
    }

    #[test]
    fn what_is_filled_in_takes_time_that_grows_with_the_text_only() {
        let braces = "{".repeat(1 << 20);
        check(&braces, &braces);
    }

    #[test]
    fn the_fingerprint_is_of_the_names_and_the_texts() {
        let content = |data: &[(&str, &str)], binary: &[(&str, &str)]| {
            let files = |files: &[(&str, &str)]| files.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
            Content { data: files(data), binary_data: files(binary) }.fingerprint()
        };
        let one = content(&[("a", "1"), ("b", "2")], &[]);
        assert_eq!(content(&[("b", "2"), ("a", "1")], &[]), one);
        for other in [
            content(&[("a", "1"), ("b", "3")], &[]),
            content(&[("a", "1"), ("c", "2")], &[]),
            content(&[("a", "1b"), ("", "2")], &[]),
            content(&[], &[]),
        ] {
            assert_ne!(other, one);
        }
    }
}
