//! Texts that contain other values of a Secret.

use std::collections::BTreeMap;

/// A parsed text: `{key}` is the value of a key, `{{` and `}}` are braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template<'a>(Vec<Part<'a>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Key(&'a str),
}

impl<'a> Template<'a> {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// A sentence, if a brace has no counterpart.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            parts.push(Part::Text(before));
            rest = if let Some(after) = from.strip_prefix("{{") {
                parts.push(Part::Text("{"));
                after
            } else if let Some(after) = from.strip_prefix("}}") {
                parts.push(Part::Text("}"));
                after
            } else if let Some((key, after)) = from.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
                parts.push(Part::Key(key));
                after
            } else {
                return Err(format!(
                    "a brace has no counterpart at byte {}: write {{{{ or }}}} for a brace",
                    text.len() - from.len()
                ));
            };
        }
        parts.push(Part::Text(rest));
        Ok(Self(parts))
    }

    /// The keys that it contains.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.0.iter().filter_map(|part| match part {
            Part::Key(key) => Some(*key),
            Part::Text(_) => None,
        })
    }

    /// Returns the text with these values; `None` if one is missing.
    pub fn fill(&self, values: &BTreeMap<String, Vec<u8>>) -> Option<Vec<u8>> {
        let mut filled = Vec::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.extend_from_slice(text.as_bytes()),
                Part::Key(key) => filled.extend_from_slice(values.get(*key)?),
            }
        }
        Some(filled)
    }
}
