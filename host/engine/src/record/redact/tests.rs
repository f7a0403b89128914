use std::collections::BTreeMap;
use std::time::SystemTime;

use gyre_sandbox::Limits;
use serde_json::json;

use super::super::Ask;
use super::*;

const KEY: Key = Key([7; 32]);

fn bytes(value: &Value) -> Bytes {
    Arc::from(value.to_string().into_bytes())
}

fn inputs(parent: &Value, children: &[Value]) -> CallInputs {
    CallInputs {
        ask: Ask::Reconcile,
        parent: bytes(parent),
        members: Vec::new(),
        settings: Arc::from(*b"{}"),
        limits: Limits::default(),
        seed: "uid".into(),
        now: SystemTime::UNIX_EPOCH,
        children: BTreeMap::from([(GroupVersionKind::new("", "v1", "Any"), children.iter().map(bytes).collect())]),
        reads: BTreeMap::new(),
    }
}

fn secret(data: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> =
        data.iter().map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value).into())).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "credentials",
            "annotations": { LAST_APPLIED: json!({ "apiVersion": "v1", "kind": "Secret", "data": data }).to_string() },
        },
        "data": data,
    })
}

fn redacted(parent: &Value, children: &[Value]) -> Option<String> {
    let inputs = Redactor::new(KEY).redact(&inputs(parent, children)).unwrap()?;
    let all = [&inputs.parent, &inputs.settings]
        .into_iter()
        .chain(inputs.children.values().flatten())
        .chain(inputs.reads.values().flatten().flatten());
    Some(all.map(|object| String::from_utf8(object.to_vec()).unwrap()).collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_value_is_found_wherever_it_was_copied_to() {
    let value = "correct horse \"battery\"\nstaple é";
    let copies = [
        value.to_owned(),
        STANDARD.encode(value),
        format!("postgres://me:{value}@db"),
        format!("prefix{value}{value}suffix"),
        "correct horse \"battery\"".to_owned(),
    ];
    for copy in copies {
        let parent = json!({ "apiVersion": "v1", "kind": "Echo", "spec": { "list": [{ "text": copy }] } });
        let left = redacted(&parent, &[secret(&[("password", value)])]).unwrap();
        for text in ["horse", "battery", "staple", &STANDARD.encode(value)] {
            assert!(!left.contains(text), "{text} of {copy} is in {left}");
        }
        let head = left.lines().next().unwrap();
        assert!(head.starts_with(r#"{"apiVersion":"v1","kind":"Echo","spec":{"list":[{"text":""#), "the rest stays: {head}");
    }
}

#[test]
fn the_members_of_a_group_are_redacted_and_taught_from() {
    let group = json!({ "kind": "ParentGroup", "spec": { "value": "correct horse" } });
    let member = secret(&[("password", "correct horse")]);
    let members = vec![bytes(&member), bytes(&json!({ "kind": "Any", "spec": { "copy": "correct horse" } }))];
    let inputs = CallInputs { members, ..inputs(&group, &[]) };
    let redacted = Redactor::new(KEY).redact(&inputs).unwrap().unwrap();
    for object in [&redacted.parent].into_iter().chain(&redacted.members) {
        let text = str::from_utf8(object).unwrap();
        assert!(!text.contains("correct horse") && !text.contains(&STANDARD.encode("correct horse")), "{text}");
    }
}

#[test]
fn a_secret_is_detected_in_any_spelling() {
    for head in [
        r#""apiVersion":"v1","kind":"Secret""#,
        r#""apiVersion":[],"apiVersion":"v1","kind":"Pod","kind":"Secret""#,
        r#""apiVersion":null,"kind":"Secr\u0065t""#,
        r#""kind":"Secret""#,
    ] {
        let text = format!(r#"{{{head},"data":{{"a":"{}"}}}}"#, STANDARD.encode("password"));
        let mut redactor = Redactor::new(KEY);
        redactor.learn(text.as_bytes()).unwrap();
        assert!(redactor.known.contains_key("password"), "{head}");
    }
}

#[test]
fn short_values_are_found_as_words_and_the_shortest_in_their_secret_alone() {
    let parent = json!({ "spec": { "a": "root", "b": "me:root@db", "c": "rootless", "d": "x" } });
    let left = redacted(&parent, &[secret(&[("user", "root"), ("mode", "x")])]).unwrap();
    let (parent, secret) = left.split_once("\n{}\n").unwrap();
    assert!(!parent.contains("\"root\"") && !parent.contains(":root@"), "{parent}");
    assert!(parent.contains("rootless") && parent.contains("\"x\""), "{parent}");
    for value in ["root", "x"] {
        assert!(!secret.contains(&format!("\"{}\"", STANDARD.encode(value))), "{secret}");
    }
}

#[test]
fn values_within_values_are_found() {
    let inner = json!({ "auths": { "registry": { "password": "hunter2hunter2" } } }).to_string();
    let pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----\n";
    let parent = json!({ "spec": { "a": "hunter2hunter2", "b": ["MIIEvQIBADANBgkqhkiG"], "c": pem.trim() } });
    let left = redacted(&parent, &[secret(&[("config", &inner), ("key", pem)])]).unwrap();
    assert!(!left.contains("hunter2") && !left.contains("MIIEv"), "{left}");
}

#[test]
fn after_a_long_value_the_rest_of_the_string_is_removed() {
    let long: String = (0..2_000).map(|number| format!("{number:04}-")).collect();
    let parent = json!({ "spec": { "text": format!("see {long}{}", "tail of it") } });
    let left = redacted(&parent, &[secret(&[("blob", &long)])]).unwrap();
    assert!(left.contains("see redacted-") && !left.contains("1999"), "{left}");
}

#[test]
fn values_that_overlap_both_go() {
    let parent = json!({ "spec": { "text": "abcdefghijklmnop" } });
    let left = redacted(&parent, &[secret(&[("a", "abcdefghij"), ("b", "ghijklmnop"), ("c", "abcdefghijkl!")])]).unwrap();
    let parent = left.lines().next().unwrap();
    assert!(!parent.contains("klmnop") && !parent.contains("abc"), "{parent}");
}

#[test]
fn names_stay_also_if_a_secret_has_the_same_value() {
    let owners = json!([{ "apiVersion": "v1", "kind": "Echo", "name": "production", "uid": "production" }]);
    let metadata =
        json!({ "name": "production", "namespace": "production", "ownerReferences": owners, "labels": { "of": "production" } });
    let parent = json!({ "apiVersion": "v1", "kind": "Echo", "metadata": metadata });
    let left = redacted(&parent, &[secret(&[("namespace", "production")])]).unwrap();
    let parent: Value = serde_json::from_str(left.lines().next().unwrap()).unwrap();
    assert_eq!(parent["metadata"]["namespace"], "production");
    assert_eq!(parent["metadata"]["ownerReferences"], owners);
    assert_ne!(parent["metadata"]["labels"]["of"], "production");
}

#[test]
fn placeholders_are_equal_for_equal_values_and_differ_between_recordings() {
    let parent = json!({ "spec": { "password": "correct horse" } });
    let secrets = [secret(&[("one", "correct horse"), ("other", "correct horse"), ("third", "battery staple")])];
    let left = redacted(&parent, &secrets).unwrap();
    let mut lines = left.lines();
    let parent: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let secret: Value = serde_json::from_str(lines.nth(1).unwrap()).unwrap();
    let data = &secret["data"];
    assert!(data["one"] == data["other"] && data["one"] != data["third"]);
    assert_eq!(STANDARD.encode(parent["spec"]["password"].as_str().unwrap()), data["one"], "what a plugin copies stays a copy");
    let [one, other] = [Key::random(), Key::random()].map(|key| key.placeholder(b"correct horse"));
    assert_ne!(one, other);
}

#[test]
fn texts_without_secrets_are_not_changed() {
    let parent = json!({ "kind": "Echo", "spec": { "secretName": "Secret", "data": { "password": "correct horse" } } });
    assert_eq!(redacted(&parent, &[json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" } })]), None);
    let other = json!({ "apiVersion": "external.io/v1", "kind": "Secret", "data": { "a": "Zm9vYmFy" } });
    assert_eq!(redacted(&parent, &[other]), None, "another group's kind of that name");
}

#[test]
fn secrets_of_earlier_calls_are_found_in_later_calls() {
    let mut redactor = Redactor::new(KEY);
    redactor.learn(&bytes(&secret(&[("password", "correct horse")]))).unwrap();
    let parent = json!({ "spec": { "password": "correct horse" } });
    let redacted = redactor.redact(&inputs(&parent, &[])).unwrap().unwrap();
    assert!(!String::from_utf8_lossy(&redacted.parent).contains("horse"));
}

#[test]
fn settings_that_their_schema_calls_secret_are_values_like_those_of_secrets() {
    let schema = json!({
        "properties": {
            "password": { "type": "string", "writeOnly": true },
            "tokens": { "items": { "properties": { "token": { "format": "password" } } } },
            "name": { "type": "string" },
        },
    });
    let settings = json!({ "password": "correct horse", "tokens": [{ "token": "battery staple" }], "name": "production" });
    let mut redactor = Redactor::new(KEY);
    redactor.learn_settings(Some(&schema), settings.to_string().as_bytes()).unwrap();
    let mut inputs = inputs(&json!({ "spec": "battery staple" }), &[]);
    inputs.settings = bytes(&settings);
    let redacted = redactor.redact(&inputs).unwrap().unwrap();
    let left = String::from_utf8([redacted.settings.to_vec(), redacted.parent.to_vec()].concat()).unwrap();
    assert!(!left.contains("horse") && !left.contains("staple") && left.contains("production"), "{left}");
}

#[test]
fn a_secret_of_which_only_metadata_is_read_keeps_no_value_either() {
    let mut metadata = secret(&[("password", "correct horse")]);
    metadata.as_object_mut().unwrap().remove("data");
    let left = redacted(&json!({}), &[metadata]).unwrap();
    assert!(!left.contains(&STANDARD.encode("correct horse")), "{left}");
}

#[test]
fn a_read_by_a_name_from_a_secret_is_answered_by_the_value_and_by_the_placeholder() {
    let mut inputs = inputs(&json!({ "spec": { "template": "production" } }), &[secret(&[("of", "production")])]);
    let kind = GroupVersionKind::new("", "v1", "ConfigMap");
    let question = |name: &str| Question::Get { kind: kind.clone(), namespace: None, name: name.to_owned() };
    inputs.reads.insert(question("production"), Ok(Vec::new()));
    let redacted = Redactor::new(KEY).redact(&inputs).unwrap().unwrap();
    assert!(redacted.reads.contains_key(&question("production")));
    assert!(redacted.reads.contains_key(&question(&KEY.placeholder(b"production"))));
}

#[test]
fn too_many_values_of_secrets_end_a_recording() {
    let mut redactor = Redactor::new(KEY);
    let ended = (0..100_000_u32).find_map(|number| {
        let value = format!("{number:0200}");
        redactor.learn(&bytes(&secret(&[("value", &value)]))).err()
    });
    assert_eq!(ended, Some(Error::TooMany));
    assert!(redactor.known_bytes <= MOST_BYTES && redactor.is_half_full());
}

#[test]
fn an_answer_is_shown_without_the_values_of_the_secrets_in_it() {
    use gyre_core::object::ObjectKey;
    use gyre_core::response::{Child, Condition, ConditionStatus, Event, Failure, MemberStatus, Response, Severity};
    use gyre_sandbox::{LogLevel, LogLine, LogSource};
    let value = "correct horse battery staple";
    let text = |value: &Value| Text(bytes(value));
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it" }, "stringData": { "short": "x", "long": value } });
    let copy = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "it" }, "data": { "copy": value } });
    let telling = || format!("it is {value}");
    let log = LogLine {
        source: LogSource::Log,
        level: LogLevel::Info,
        message: telling(),
        fields: vec![("secret".to_owned(), telling())],
    };
    let condition =
        || Condition { kind: "Ready".to_owned(), status: ConditionStatus::True, reason: "Told".to_owned(), message: telling() };
    let results = [
        ResultLine::Response(Response {
            children: Some(vec![Child::from(text(&copy)), Child::from(text(&secret))]),
            status: Some(text(&json!({ "seen": telling() }))),
            conditions: vec![condition()],
            events: vec![Event { severity: Severity::Normal, reason: "Told".to_owned(), message: telling() }],
            requeue_after: None,
            parent: None,
            delete_parent: None,
            members: vec![MemberStatus {
                member: ObjectKey::new(Some("default"), "a"),
                status: Some(text(&json!({ "seen": telling() }))),
                conditions: vec![condition()],
            }],
            done: false,
        }),
        ResultLine::Failure(Failure::Terminal { message: telling() }),
        ResultLine::Error {
            reason: "InvalidOutput".to_owned(),
            message: telling(),
            texts: vec![text(&copy), Text(Arc::from(telling().into_bytes()))],
        },
    ];
    for result in results {
        let answer = AnswerLine { read_clock: false, log: vec![log.clone()], result };
        let mut redaction = Redaction::new([secret.to_string().as_bytes()].into_iter(), &[]).unwrap();
        let shown = serde_json::to_string(&redaction.answer(answer)).unwrap();
        assert!(!shown.contains("correct") && !shown.contains("\"x\"") && shown.contains("it is redacted-"), "{shown}");
    }
}
