//! The fields of parents that plugins may set, as JSON Pointers.

use std::fmt;

/// The domains of the host's own labels and annotations.
const OF_THE_HOST: [&str; 3] = ["gyre.dev", "children.gyre.dev", "fields.gyre.dev"];

/// The fields that a manifest declares or a mount grants: a field, and all below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath {
    pointer: String,
    segments: Vec<String>,
}

/// Why a text is no path of fields that a plugin may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It is no JSON Pointer.
    #[error("must be a JSON Pointer such as /spec/replicas or /metadata/annotations/example.com~1digest")]
    NotAPointer,
    /// It is a field that no plugin sets.
    #[error("may not be set: only /metadata/labels, /metadata/annotations, and fields besides metadata and status may")]
    NotOfAPlugin,
    /// It is a label or an annotation of the host.
    #[error("is a label or an annotation of the host, which no plugin may set")]
    OfTheHost,
}

impl FieldPath {
    /// Parses a JSON Pointer (RFC 6901).
    ///
    /// # Errors
    ///
    /// If it is none, or no plugin may set these fields.
    pub fn parse(pointer: &str) -> Result<Self, PathError> {
        let rest = pointer.strip_prefix('/').ok_or(PathError::NotAPointer)?;
        let segments: Vec<String> = rest.split('/').map(decoded).collect::<Option<_>>().ok_or(PathError::NotAPointer)?;
        let names: Vec<&str> = segments.iter().map(String::as_str).collect();
        check(&names)?;
        Ok(Self { pointer: pointer.to_owned(), segments })
    }

    /// Returns whether a field is this one, or below it.
    pub(crate) fn covers(&self, path: &[&str]) -> bool {
        path.len() >= self.segments.len() && self.segments.iter().zip(path).all(|(segment, name)| segment == name)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.pointer)
    }
}

/// Returns whether any of these paths covers this one.
pub fn any_covers<'a>(paths: impl IntoIterator<Item = &'a FieldPath>, path: &FieldPath) -> bool {
    let names: Vec<&str> = path.segments.iter().map(String::as_str).collect();
    paths.into_iter().any(|known| known.covers(&names))
}

fn decoded(segment: &str) -> Option<String> {
    is_encoded(segment).then(|| segment.replace("~1", "/").replace("~0", "~"))
}

/// Returns whether a text is a segment of a JSON Pointer: `~` is followed by `0` or `1`.
pub(crate) fn is_encoded(segment: &str) -> bool {
    let is_escape = |rest: &str| rest.starts_with(['0', '1']);
    segment.split('~').skip(1).all(is_escape)
}

/// Returns the JSON Pointer of a field.
pub(crate) fn encoded(path: &[&str]) -> String {
    path.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
}

/// Checks that a plugin may set a field of its parent.
pub(crate) fn check(path: &[&str]) -> Result<(), PathError> {
    match path {
        [] | ["", ..] => Err(PathError::NotAPointer),
        ["metadata", "labels" | "annotations"] => Ok(()),
        ["metadata", "labels" | "annotations", key, rest @ ..] => match key.split_once('/') {
            Some((domain, _)) if OF_THE_HOST.contains(&domain) => Err(PathError::OfTheHost),
            _ if rest.is_empty() => Ok(()),
            _ => Err(PathError::NotOfAPlugin),
        },
        ["apiVersion" | "kind" | "metadata" | "status", ..] => Err(PathError::NotOfAPlugin),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_of_the_host_and_of_the_api_server_are_refused() {
        for (pointer, expected) in [
            ("", Err(PathError::NotAPointer)),
            ("spec", Err(PathError::NotAPointer)),
            ("/", Err(PathError::NotAPointer)),
            ("/spec/~2", Err(PathError::NotAPointer)),
            ("/metadata", Err(PathError::NotOfAPlugin)),
            ("/metadata/finalizers", Err(PathError::NotOfAPlugin)),
            ("/metadata/ownerReferences", Err(PathError::NotOfAPlugin)),
            ("/metadata/labels/a/b", Err(PathError::NotOfAPlugin)),
            ("/status", Err(PathError::NotOfAPlugin)),
            ("/status/phase", Err(PathError::NotOfAPlugin)),
            ("/kind", Err(PathError::NotOfAPlugin)),
            ("/metadata/labels/gyre.dev~1plugin", Err(PathError::OfTheHost)),
            ("/metadata/annotations/children.gyre.dev~1echo", Err(PathError::OfTheHost)),
            ("/metadata/annotations/fields.gyre.dev~1echo", Err(PathError::OfTheHost)),
            ("/metadata/annotations/cleaner.gyre.dev~1ttl", Ok(())),
            ("/metadata/annotations", Ok(())),
            ("/spec", Ok(())),
            ("/data/key", Ok(())),
        ] {
            assert_eq!(FieldPath::parse(pointer).map(|_| ()), expected, "{pointer}");
        }
    }

    #[test]
    fn a_path_covers_itself_and_what_is_below() {
        let path = |pointer| FieldPath::parse(pointer).expect("a path");
        let template = path("/spec/template");
        let annotation = path("/metadata/annotations/example.com~1digest");
        for (path, expected) in [
            (&["spec", "template"][..], true),
            (&["spec", "template", "metadata"], true),
            (&["spec"], false),
            (&["spec", "templates"], false),
        ] {
            assert_eq!(template.covers(path), expected, "{path:?}");
        }
        assert!(annotation.covers(&["metadata", "annotations", "example.com/digest"]));
        assert!(!annotation.covers(&["metadata", "annotations", "example.com/other"]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,20}", more in "(/[a-z~01]{0,4}){0,5}") {
            for text in [text, more] {
                if let Ok(path) = FieldPath::parse(&text) {
                    let names: Vec<&str> = path.segments.iter().map(String::as_str).collect();
                    prop_assert_eq!(FieldPath::parse(&encoded(&names)), Ok(path.clone()));
                }
            }
        }
    }
}
