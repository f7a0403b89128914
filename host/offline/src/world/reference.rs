//! References to objects, as people write them.

use std::str::FromStr;

use crate::plan::Subject;

/// A reference to an object, as in plans: `Job default/hello`. The namespace can be omitted if it
/// is `default`, or for a cluster-scoped kind. If several groups have the kind, the `apiVersion`
/// comes first: `v1 Event default/hello`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub(super) api_version: Option<String>,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (api_version, kind, key) = match words[..] {
            [kind, key] => (None, kind, key),
            [api_version, kind, key] => (Some(api_version.to_owned()), kind, key),
            _ => return Err(format!("{text:?} names no object: write it as in \"Job default/hello\"")),
        };
        let (namespace, name) = match key.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, key),
        };
        Ok(Self { api_version, kind: kind.to_owned(), namespace, name: name.to_owned() })
    }
}

impl From<&Subject> for Reference {
    fn from(subject: &Subject) -> Self {
        let Subject { api_version, kind, namespace, name } = subject.clone();
        Self { api_version: Some(api_version), kind, namespace, name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_written_as_in_plans() {
        let check = |text: &str, expected: [&str; 4]| {
            let Reference { api_version, kind, namespace, name } = text.parse().unwrap();
            let words = [api_version.unwrap_or_default(), kind, namespace.unwrap_or_default(), name];
            assert_eq!(words, expected);
        };
        check("Job default/hello", ["", "Job", "default", "hello"]);
        check("Namespace team-a", ["", "Namespace", "", "team-a"]);
        check(" batch/v1  Job team-a/hello", ["batch/v1", "Job", "team-a", "hello"]);
    }

    #[test]
    fn an_invalid_reference_is_an_error_with_an_example() {
        for text in ["", "hello", "Job ", "a b c d"] {
            let error = text.parse::<Reference>().unwrap_err();
            assert!(error.ends_with("names no object: write it as in \"Job default/hello\""), "{error}");
        }
    }
}
