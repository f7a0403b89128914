//! References to objects.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::object::Object;
use crate::subject::Subject;

/// A reference to an object, as in plans: `Job default/hello`. The namespace can be omitted if it
/// is `default`, or for a cluster-scoped kind. If several groups have the kind, the `apiVersion`
/// comes first: `v1 Event default/hello`. An object converts to a reference to itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reference(String);

impl Reference {
    /// Returns whether it can stand for this object.
    pub(crate) fn names(&self, subject: &Subject) -> bool {
        let Subject { api_version, kind, namespace, name } = subject;
        let keys = match namespace.as_deref() {
            None => vec![name.clone()],
            Some("default") => vec![name.clone(), format!("default/{name}")],
            Some(namespace) => vec![format!("{namespace}/{name}")],
        };
        let is_spelled = |key: &String| self.0 == format!("{kind} {key}") || self.0 == format!("{api_version} {kind} {key}");
        keys.iter().any(is_spelled)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&str> for Reference {
    fn from(text: &str) -> Self {
        Self(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl From<&String> for Reference {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Subject> for Reference {
    fn from(subject: &Subject) -> Self {
        Self::from(&format!("{} {subject}", subject.api_version))
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

    #[test]
    fn references_name_objects_as_plans_do() {
        let object = |namespace: Option<&str>| {
            Subject::of(&json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": namespace}}))
        };
        let names = |text: &str, namespace: Option<&str>| Reference::from(text).names(&object(namespace));
        for (text, namespace) in [
            ("Job a", None),
            ("Job a", Some("default")),
            ("Job default/a", Some("default")),
            (" batch/v1  Job team/a", Some("team")),
        ] {
            assert!(names(text, namespace), "{text}");
        }
        for (text, namespace) in
            [("Job a", Some("team")), ("Job team/a", None), ("v1 Job a", None), ("Pod a", None), ("a", None)]
        {
            assert!(!names(text, namespace), "{text}");
        }
        assert!(Reference::from(&object(Some("team"))).names(&object(Some("team"))));
    }
}
