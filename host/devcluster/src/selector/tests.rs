use proptest::prelude::*;

use super::*;
use crate::kinds::Scope;
use crate::test_kinds;

#[test]
fn fields_are_matched() {
    let value = |field: &str| match field {
        "metadata.name" => Some("a,b".to_owned()),
        "status.phase" => Some("Running".to_owned()),
        _ => None,
    };
    for (selector, matches) in [
        ("", true),
        (r"metadata.name=a\,b", true),
        ("metadata.name!=x", true),
        ("status.phase==Running,status.phase!=Failed", true),
        ("status.phase=Failed", false),
        ("spec.nodeName=", true),
        ("spec.nodeName!=", false),
        ("=", true),
        (",,", true),
    ] {
        assert_eq!(FieldSelector::parse(selector).unwrap().matches(value), matches, "{selector}");
    }
    assert_eq!(FieldSelector::parse("metadata.name=x,a!=b").unwrap().required("metadata.name"), Some("x"));
    assert_eq!(FieldSelector::parse("metadata.name!=x").unwrap().required("metadata.name"), None);
}

/// The messages that a real API server sent.
#[test]
fn bad_field_selectors_are_refused_in_the_servers_words() {
    for (selector, message) in [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        (r"metadata.name=a\q", r"invalid field selector: invalid escape sequence: \q"),
        (r"metadata.name=\", r"invalid field selector: invalid escape sequence: \"),
    ] {
        assert_eq!(FieldSelector::parse(selector).unwrap_err().message, message);
    }
    for (group, kind, scope, field, message) in [
        ("", "Node", Scope::Cluster, "spec.foo", Some("field label not supported: spec.foo")),
        ("batch", "Job", Scope::Namespaced, "spec.foo", Some("field label \"spec.foo\" not supported for Job")),
        (
            "batch",
            "CronJob",
            Scope::Namespaced,
            "spec.foo",
            Some("\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
        ),
        ("", "Node", Scope::Cluster, "metadata.namespace", Some("field label not supported: metadata.namespace")),
        ("", "PersistentVolume", Scope::Cluster, "metadata.namespace", None),
        ("", "ConfigMap", Scope::Namespaced, "metadata.name", None),
    ] {
        let kind = test_kinds::builtin(group, "v1", "x", kind, scope);
        let checked = FieldSelector::parse(&format!("{field}=x")).unwrap().check(&kind);
        assert_eq!(checked.err().map(|status| status.message).as_deref(), message);
    }
}

proptest! {
    #[test]
    fn any_text_is_a_field_selector_or_an_error(text in "([a-c]|[=!,\\\\ ]|\\PC){0,20}") {
        if let Ok(selector) = FieldSelector::parse(&text) {
            selector.matches(|_| None);
        }
    }
}
