use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::kinds::Scope;
use crate::test_kinds;

#[test]
fn labels_are_matched() {
    let object = json!({ "metadata": { "labels": { "app": "echo", "tier": "front", "in": "x", "n": "7", "empty": "", "example.com/a": "b" } } });
    for (selector, matches) in [
        ("", true),
        ("app=echo", true),
        ("app==echo", true),
        ("app=other", false),
        ("app!=other", true),
        ("none!=other", true),
        ("app", true),
        ("!app", false),
        ("!none", true),
        ("app in (a,echo)", true),
        ("app in (a,b)", false),
        ("app notin (a,b)", true),
        ("none notin (a,b)", true),
        ("none in (a)", false),
        ("n>6", true),
        ("n>7", false),
        ("n<8", true),
        ("app<8", false),
        ("empty=", true),
        ("empty in ()", true),
        ("empty in (,x)", true),
        ("app=echo,tier in (front, back),!gone , n>1", true),
        ("app=echo,tier=back", false),
        ("in in (x)", true),
        ("example.com/a=b", true),
    ] {
        assert_eq!(LabelSelector::parse(selector).unwrap().matches(&object), matches, "{selector}");
    }
}

/// The messages that a real API server sent.
#[test]
fn bad_label_selectors_are_refused_in_the_servers_words() {
    const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
        character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let long = format!("x={}", "a".repeat(64));
    for (selector, message) in [
        ("a==b,", "found '', expected: identifier after ','".to_owned()),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt".to_owned()),
        ("a in x", "unable to parse requirement: found 'x' expected: '('".to_owned()),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'".to_owned()),
        ("!", "unable to parse requirement: found '', expected: identifier".to_owned()),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer"
                .to_owned(),
        ),
        ("-a=b", format!("unable to parse requirement: <nil>: Invalid value: \"-a\": {KEY}")),
        (
            "a=-b",
            "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be an empty string or consist of \
             alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
             'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        ),
        ("a=b=c", "found '=', expected: ',' or 'end of string'".to_owned()),
        ("=x", "found '=', expected: !, identifier, or 'end of string'".to_owned()),
        ("a,,b", "found ',', expected: identifier after ','".to_owned()),
        ("a!x", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt".to_owned()),
        ("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'".to_owned()),
        ("a notin (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier".to_owned()),
        ("a=b c", "found 'c', expected: ',' or 'end of string'".to_owned()),
        ("!a=b", "found '=', expected: ',' or 'end of string'".to_owned()),
        ("/b", "unable to parse requirement: <nil>: Invalid value: \"/b\": prefix part must be non-empty".to_owned()),
        ("a/", format!("unable to parse requirement: <nil>: Invalid value: \"a/\": name part must be non-empty; {KEY}")),
        (
            "A/b",
            "unable to parse requirement: <nil>: Invalid value: \"A/b\": prefix part a lowercase RFC 1123 subdomain must consist of \
             lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
             'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        ),
        (
            &long,
            format!(
                "unable to parse requirement: values[0][x]: Invalid value: \"{}\": must be no more than 63 bytes",
                "a".repeat(64)
            ),
        ),
    ] {
        let status = LabelSelector::parse(selector).unwrap_err();
        assert_eq!((status.code.as_u16(), status.message), (400, message), "{selector}");
    }
}

#[test]
fn selectors_of_objects_are_written_and_matched() {
    let selector = json!({
        "matchLabels": { "app": "e" },
        "matchExpressions": [
            { "key": "x", "operator": "NotIn", "values": ["b", "a"] },
            { "key": "a", "operator": "DoesNotExist" },
        ],
    });
    let selector = LabelSelector::from_object(Some(&selector)).unwrap();
    assert_eq!(selector.to_string(), "!a,app=e,x notin (a,b)");
    assert!(selector.matches(&json!({ "metadata": { "labels": { "app": "e", "x": "c" } } })));
    assert!(!selector.matches(&json!({ "metadata": { "labels": { "app": "e", "x": "a" } } })));
    assert!(LabelSelector::from_object(Some(&json!({}))).unwrap().matches(&json!({})));
    assert!(!LabelSelector::from_object(None).unwrap().matches(&json!({})));
    let bad = json!({ "matchExpressions": [{ "key": "x", "operator": "Like" }] });
    assert_eq!(LabelSelector::from_object(Some(&bad)).unwrap_err(), "\"Like\" is not a valid label selector operator");
}

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
    fn no_selector_makes_it_panic(words in "([a-c]|in|notin|[=!<>(),\\\\ ]|\\PC){0,20}") {
        if let Ok(selector) = LabelSelector::parse(&words) {
            selector.matches(&json!({ "metadata": { "labels": { "a": "b" } } }));
        }
        if let Ok(selector) = FieldSelector::parse(&words) {
            selector.matches(|_| None);
        }
    }

    #[test]
    fn what_is_written_is_read_as_the_same(words in "([ab](=|==|!=)[cd]|!?[ab]|[ab] (in|notin) \\([cd](,[cd])?\\)|[ab][<>][12])(,[ab]=[cd])?") {
        let selector = LabelSelector::parse(&words).unwrap();
        prop_assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
    }
}
