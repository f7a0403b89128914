//! References to objects.

use gyre_offline::plan::Subject;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::object::Object;

/// A reference to an object, as in plans: `Job default/hello`. The namespace can be omitted if it
/// is `default`, or for a cluster-scoped kind. If several groups have the kind, the `apiVersion`
/// comes first: `v1 Event default/hello`. An object converts to a reference to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub(crate) api_version: Option<String>,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Reference {
    /// # Errors
    ///
    /// If it names no object.
    pub(crate) fn check(&self) -> Result {
        if self.kind.is_empty() || self.name.is_empty() {
            let said = [&self.kind, &self.name].map(String::as_str).concat();
            return Err(Error::new(format!("{said:?} names no object: write it as in \"Job default/hello\"")));
        }
        Ok(())
    }

    pub(crate) fn names(&self, subject: &Subject) -> bool {
        let namespace = self.namespace.as_deref().unwrap_or("default");
        let is_there = subject.namespace.as_deref().is_none_or(|of_subject| of_subject == namespace);
        let is_of_group = self.api_version.as_ref().is_none_or(|api_version| *api_version == subject.api_version);
        self.kind == subject.kind && self.name == subject.name && is_there && is_of_group
    }
}

impl From<&str> for Reference {
    fn from(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (api_version, kind, key) = match words[..] {
            [kind, key] => (None, kind, key),
            [api_version, kind, key] => (Some(api_version.to_owned()), kind, key),
            // `check` reports the error.
            _ => (None, "", text),
        };
        let (namespace, name) = match key.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, key),
        };
        Self { api_version, kind: kind.to_owned(), namespace, name: name.to_owned() }
    }
}

impl From<&String> for Reference {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Subject> for Reference {
    fn from(subject: &Subject) -> Self {
        let Subject { api_version, kind, namespace, name } = subject.clone();
        Self { api_version: Some(api_version), kind, namespace, name }
    }
}

impl From<&Value> for Reference {
    fn from(object: &Value) -> Self {
        Self::from(&Subject::of(object))
    }
}

impl From<&Object> for Reference {
    fn from(object: &Object) -> Self {
        Self::from(&Value::from(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(reference: impl Into<Reference>, expected: [&str; 4]) {
        let Reference { api_version, kind, namespace, name } = reference.into();
        let words = [api_version.unwrap_or_default(), kind, namespace.unwrap_or_default(), name];
        assert_eq!(words, expected);
    }

    #[test]
    fn references_are_written_as_in_plans_or_are_objects() {
        check("Job default/hello", ["", "Job", "default", "hello"]);
        check("Namespace team-a", ["", "Namespace", "", "team-a"]);
        check("batch/v1 Job team-a/hello", ["batch/v1", "Job", "team-a", "hello"]);
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "hello", "namespace": "default"}});
        check(&job, ["batch/v1", "Job", "default", "hello"]);
    }

    #[test]
    fn an_invalid_reference_is_an_error_with_an_example() {
        for text in ["", "hello", "Job ", "a b c d"] {
            let error = Reference::from(text).check().unwrap_err().to_string();
            assert!(error.ends_with("names no object: write it as in \"Job default/hello\""), "{error}");
        }
    }
}
