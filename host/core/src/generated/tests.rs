use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Makes values that are never equal, and reads its own certificates and hashes.
#[derive(Default)]
struct Maker {
    made: u64,
}

impl Inspect for Maker {
    fn certificate(&self, pem: &[u8]) -> Option<CertificateFacts> {
        let text = str::from_utf8(pem).ok()?.strip_prefix("certificate:")?;
        let mut numbers = text.split(':').map(|number| number.parse().unwrap());
        Some(CertificateFacts { not_before: numbers.next()?, not_after: numbers.next()? })
    }

    fn matches(&self, _: HashAlgorithm, hash: &[u8], value: &[u8]) -> bool {
        str::from_utf8(hash).is_ok_and(|hash| hash.starts_with(&format!("hash:{}:", sum(value))))
    }
}

fn sum(value: &[u8]) -> String {
    STANDARD.encode(value)
}

impl Maker {
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Carries out a decision, as `gyre-values` and the engine do.
    fn carry_out(&mut self, world: &World, decision: &Decision) -> Value {
        let mut values: BTreeMap<String, Vec<u8>> = world.given.clone();
        for (key, request) in world.requests.in_order() {
            let keep = |values: &mut BTreeMap<String, Vec<u8>>, key: &str| {
                if let Some(value) = world.live().values().get(key) {
                    values.insert(key.to_owned(), value.clone());
                }
            };
            let reuse = match &decision.actions[key] {
                Action::Impossible(why) => panic!("{key}: {why}"),
                Action::Keep => {
                    std::iter::once(key).chain(request.generate.companions()).for_each(|output| keep(&mut values, output));
                    continue;
                }
                Action::Complete => {
                    keep(&mut values, key);
                    for companion in request.generate.companions() {
                        values.insert(companion.to_owned(), b"public".to_vec());
                    }
                    continue;
                }
                Action::Make(reuse) => *reuse,
            };
            let number = self.next();
            let value = match &request.generate {
                Generator::Text(text) => Template::parse(text).unwrap().fill(&values).unwrap(),
                Generator::Hash(Hash { of, algorithm: HashAlgorithm::Sha256 }) => {
                    use sha2::Digest as _;
                    sha2::Sha256::digest(&values[of]).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes()
                }
                Generator::Hash(hash) => format!("hash:{}:{number}", sum(&values[&hash.of])).into_bytes(),
                Generator::Certificate(certificate) => {
                    let limit = match &certificate.issuer {
                        Issuer::Itself => None,
                        Issuer::Key(key) => self.certificate(&values[key]),
                        Issuer::Secret(secret) => match &world.issuers[secret] {
                            State::Found { certificate, .. } => self.certificate(certificate),
                            State::Missing(why) => panic!("{why}"),
                        },
                    };
                    let end = world.now + i64::try_from(certificate.lifetime_seconds).unwrap();
                    let end = limit.map_or(end, |facts| facts.not_after.min(end));
                    format!("certificate:{}:{end}:{number}", world.now).into_bytes()
                }
                _ => format!("value {number}").into_bytes(),
            };
            values.insert(key.to_owned(), value);
            for companion in request.generate.companions() {
                if reuse == Reuse::PrivateKey && !companion.starts_with("ca-certificate") {
                    keep(&mut values, companion);
                } else {
                    values.insert(companion.to_owned(), format!("companion {number}").into_bytes());
                }
            }
        }
        let record = Record::of(&world.requests, &values, &world.issuers, world.live().record(), &world.digests);
        let data: Map<String, Value> = values.iter().map(|(key, value)| (key.clone(), json!(STANDARD.encode(value)))).collect();
        json!({ "metadata": { "annotations": { GENERATED_ANNOTATION: record.to_annotation() } }, "data": data })
    }
}

struct World {
    requests: Requests,
    given: BTreeMap<String, Vec<u8>>,
    issuers: Issuers,
    digests: DigestKey,
    secret: Value,
    now: i64,
}

impl World {
    fn new(data: &Value) -> Self {
        let (requests, given) = parsed(data).unwrap();
        let issuers = requests.issuers().map(|issuer| {
            let certificate = format!("certificate:0:{}:0", 10 * YEAR).into_bytes();
            (issuer.clone(), State::Found { certificate, private_key: Vec::new() })
        });
        let issuers = issuers.collect();
        Self { issuers, requests, given, digests: DigestKey::new([7; 32]), secret: json!({}), now: 1_000_000 }
    }

    fn live(&self) -> Live {
        Live::of(&self.secret)
    }

    fn decide(&self) -> Decision {
        let digests = Some(&self.digests);
        decide(&self.requests, &self.live(), &self.given, &self.issuers, digests, &Maker::default(), self.now)
    }

    /// Decides and carries out; returns the keys whose values differ from before.
    fn step(&mut self, maker: &mut Maker) -> Vec<String> {
        let before = self.live().values().clone();
        let decision = self.decide();
        if decision.is_needed {
            self.secret = maker.carry_out(self, &decision);
        }
        let after = self.live().values().clone();
        assert!(before.keys().all(|key| after.contains_key(key)) || !decision.is_needed);
        after.into_iter().filter(|(key, value)| before.get(key) != Some(value)).map(|(key, _)| key).collect()
    }

    fn ask(&mut self, data: &Value) {
        (self.requests, self.given) = parsed(data).unwrap();
    }

    fn set(&mut self, key: &str, value: Option<&str>) {
        let data = self.secret["data"].as_object_mut().unwrap();
        match value {
            Some(value) => data.insert(key.to_owned(), json!(STANDARD.encode(value))),
            None => data.remove(key),
        };
    }
}

const YEAR: i64 = 365 * 86_400;

fn parsed(data: &Value) -> Result<(Requests, BTreeMap<String, Vec<u8>>), String> {
    let mut object = json!({ "data": data }).as_object().cloned().unwrap();
    let requests = Requests::take(&mut object)?;
    let given = object["data"].as_object().unwrap().iter();
    Ok((requests, given.map(|(key, value)| (key.clone(), STANDARD.decode(value.as_str().unwrap()).unwrap())).collect()))
}

/// Requests of every sort, that depend on each other.
fn everything() -> Value {
    json!({
        "user": STANDARD.encode("app"),
        "password": { "generate": { "password": { "length": 24 } } },
        "token": { "generate": { "bytes": { "length": 32, "encoding": "hex" } } },
        "key": { "generate": { "keyPair": { "algorithm": "ed25519", "publicKey": "key.pub" } } },
        "ca.crt": { "generate": { "certificate": { "privateKey": "ca.key", "isCa": true, "commonName": "CA", "lifetimeSeconds": YEAR } } },
        "tls.crt": { "generate": { "certificate": {
            "privateKey": "tls.key", "issuer": { "key": "ca.crt" }, "dnsNames": ["db"], "lifetimeSeconds": YEAR / 4,
        } } },
        "client.crt": { "generate": { "certificate": {
            "privateKey": "client.key", "caCertificate": "ca-certificate", "issuer": { "secret": { "name": "ca" } },
            "commonName": "client", "lifetimeSeconds": YEAR / 8,
        } } },
        "url": { "generate": { "text": "postgres://{user}:{password}@db/{{x}}" } },
        "hash": { "generate": { "hash": { "of": "password", "algorithm": "bcrypt" } } },
        "scram": { "generate": { "hash": { "of": "url", "algorithm": "scram-sha256" } } },
        "sum": { "generate": { "hash": { "of": "url", "algorithm": "sha256" } } },
    })
}

fn with_epoch(key: &str, epoch: u64) -> Value {
    let mut data = everything();
    data[key]["epoch"] = json!(epoch);
    data
}

#[test]
fn after_a_decision_is_carried_out_nothing_is_needed_until_it_is_due() {
    let (mut world, mut maker) = (World::new(&everything()), Maker::default());
    assert_eq!(world.step(&mut maker).len(), 16);
    let decision = world.decide();
    assert!(!decision.is_needed, "{decision:?}");
    world.now = decision.due.expect("certificates end") - 1;
    assert!(!world.decide().is_needed);
    world.now += 1;
    // An eighth of a year, renewed after two thirds of it.
    assert_eq!(world.now, 1_000_000 + YEAR / 8 - YEAR / 24);
    assert_eq!(world.step(&mut maker), ["ca-certificate", "client.crt", "client.key"]);
    assert!(!world.decide().is_needed);
}

#[test]
fn certificates_are_always_renewed_before_they_end() {
    let (mut world, mut maker) = (World::new(&everything()), Maker::default());
    world.step(&mut maker);
    let end = 5 * YEAR;
    let mut steps = 0;
    while world.now < end {
        let due = world.decide().due.expect("there is always a next renewal");
        assert!(due > world.now, "time passes between renewals");
        world.now = due;
        let changed = world.step(&mut maker);
        assert!(!changed.iter().any(|key| ["password", "token", "key", "ca.key"].contains(&key.as_str())), "{changed:?}");
        for (key, request) in world.requests.in_order() {
            if let Generator::Certificate(_) = &request.generate {
                let facts = Maker::default().certificate(&world.live().values()[key]).unwrap();
                assert!(facts.not_after > world.now, "{key} has ended");
            }
        }
        steps += 1;
    }
    assert!((60..200).contains(&steps), "{steps} renewals in 5 years");
}

#[test]
fn a_certificate_that_ends_with_its_issuer_is_not_renewed_in_vain() {
    let data = json!({ "tls.crt": { "generate": { "certificate": {
        "privateKey": "tls.key", "issuer": { "secret": { "name": "ca" } }, "commonName": "it", "lifetimeSeconds": YEAR,
    } } } });
    let (mut world, mut maker) = (World::new(&data), Maker::default());
    let issuer = world.requests.issuers().next().unwrap().clone();
    let ends_at =
        |end: i64| State::Found { certificate: format!("certificate:0:{end}:0").into_bytes(), private_key: Vec::new() };
    world.issuers.insert(issuer.clone(), ends_at(world.now + 7_200));
    world.step(&mut maker);
    for minute in 0..120 {
        world.now = 1_000_000 + minute * 60;
        assert!(!world.decide().is_needed, "after {minute} minutes");
    }
    world.now = 1_000_000 + 7_200;
    assert!(!world.decide().is_needed, "it cannot be better");
    world.issuers.insert(issuer, ends_at(world.now + YEAR));
    assert_eq!(world.step(&mut maker), ["tls.crt", "tls.key"]);
}

#[test]
fn an_issuer_that_is_missing_makes_a_certificate_impossible_and_leaves_one_that_is_there() {
    let (mut world, mut maker) = (World::new(&everything()), Maker::default());
    let missing: Issuers =
        world.issuers.keys().map(|issuer| (issuer.clone(), State::Missing("it is gone".to_owned()))).collect();
    let found = std::mem::replace(&mut world.issuers, missing.clone());
    assert_eq!(world.decide().impossible(), Some(("client.crt", "it is gone")));
    world.issuers = found;
    world.step(&mut maker);
    world.issuers = missing;
    let decision = world.decide();
    assert_eq!((decision.impossible(), decision.is_needed), (None, false));
}

#[test]
fn what_follows_from_a_value_follows_its_changes() {
    let (mut world, mut maker) = (World::new(&everything()), Maker::default());
    world.step(&mut maker);
    world.set("password", Some("by hand"));
    let changed = world.step(&mut maker);
    assert_eq!(changed, ["hash", "scram", "sum", "url"], "the password itself is kept");
    assert_eq!(world.live().values()["url"], b"postgres://app:by hand@db/{x}");
}

#[test]
fn a_public_key_that_is_missing_costs_no_private_key() {
    let (mut world, mut maker) = (World::new(&everything()), Maker::default());
    world.step(&mut maker);
    world.set("key.pub", None);
    assert_eq!(world.step(&mut maker), ["key.pub"]);
}

#[test]
fn another_field_makes_another_certificate_and_another_time_of_renewal_does_not() {
    let (mut world, mut maker) = (World::new(&everything()), Maker::default());
    world.step(&mut maker);
    let mut data = everything();
    data["tls.crt"]["generate"]["certificate"]["renewBeforeSeconds"] = json!(YEAR / 10);
    world.ask(&data);
    assert_eq!(world.step(&mut maker), Vec::<String>::new());
    data["tls.crt"]["generate"]["certificate"]["dnsNames"] = json!(["db", "db.default"]);
    world.ask(&data);
    assert_eq!(world.step(&mut maker), ["tls.crt", "tls.key"]);
    data["password"]["generate"]["password"]["length"] = json!(30);
    data["key"]["generate"]["keyPair"]["algorithm"] = json!("rsa-4096");
    world.ask(&data);
    assert_eq!(world.step(&mut maker), Vec::<String>::new(), "what is in use stays without a new epoch");
}

#[test]
fn a_ca_keeps_its_key_and_what_it_signed_is_signed_again() {
    let (mut world, mut maker) = (World::new(&everything()), Maker::default());
    world.step(&mut maker);
    let mut data = everything();
    data["ca.crt"]["generate"]["certificate"]["commonName"] = json!("another");
    world.ask(&data);
    assert_eq!(world.step(&mut maker), ["ca.crt", "tls.crt", "tls.key"]);
    data["ca.crt"]["epoch"] = json!(1);
    world.ask(&data);
    assert_eq!(world.step(&mut maker), ["ca.crt", "ca.key", "tls.crt", "tls.key"]);
}

proptest! {
    #[test]
    fn a_higher_epoch_makes_a_new_value_once_and_a_lower_one_none(key in made(), epochs in prop::collection::vec(0_u64..5, 1..8)) {
        let (mut world, mut maker) = (World::new(&everything()), Maker::default());
        world.step(&mut maker);
        let mut highest = 0;
        for epoch in epochs {
            world.ask(&with_epoch(&key, epoch));
            let is_new = world.step(&mut maker).contains(&key);
            prop_assert_eq!(is_new, epoch > highest, "epoch {} after {}", epoch, highest);
            highest = highest.max(epoch);
            prop_assert!(!world.decide().is_needed);
        }
    }

    #[test]
    fn a_value_that_is_removed_is_made_again_and_one_that_is_changed_is_kept(key in made(), others in prop::collection::vec(made(), 0..3)) {
        let (mut world, mut maker) = (World::new(&everything()), Maker::default());
        world.step(&mut maker);
        for other in others.iter().filter(|other| **other != key && !other.contains("crt")) {
            world.set(other, Some("by hand"));
        }
        world.set(&key, None);
        let changed = world.step(&mut maker);
        prop_assert!(changed.contains(&key));
        let live = world.live();
        let by_hand = others.iter().filter(|other| **other != key && !other.contains("crt"));
        for other in by_hand {
            prop_assert_eq!(live.values()[other].as_slice(), b"by hand");
        }
        prop_assert!(!world.decide().is_needed);
    }

    /// Restoring a backup elsewhere, adoption, and a host that lost its key.
    #[test]
    fn no_value_is_lost_with_the_record_or_with_the_key_of_digests(loses_record: bool, loses_key: bool, epoch in 0_u64..3) {
        let (mut world, mut maker) = (World::new(&with_epoch("password", epoch)), Maker::default());
        world.step(&mut maker);
        if loses_record {
            world.secret["metadata"] = json!({});
        }
        if loses_key {
            world.digests = DigestKey::new([8; 32]);
        }
        prop_assert_eq!(world.step(&mut maker), Vec::<String>::new());
        prop_assert!(!world.decide().is_needed);
    }

    #[test]
    fn placeholders_are_known_from_other_values(key in any::<[u8; 32]>(), value in any::<Vec<u8>>()) {
        prop_assert!(is_placeholder(DigestKey::new(key).placeholder("here", "it", "password", &value).as_bytes()));
        prop_assert!(!is_placeholder(&value));
        prop_assert!(!is_placeholder(&[PLACEHOLDER_PREFIX.as_bytes(), &value, b"G"].concat()));
    }

    #[test]
    fn placeholders_are_equal_for_equal_values_in_the_same_place_alone(
        first in ("[ab]{1,2}", "[ab]{1,2}", "[ab]{1,2}", prop::collection::vec(0_u8..2, 0..3)),
        second in ("[ab]{1,2}", "[ab]{1,2}", "[ab]{1,2}", prop::collection::vec(0_u8..2, 0..3)),
    ) {
        let of = |key: u8, (namespace, secret, field, value): &(String, String, String, Vec<u8>)| {
            DigestKey::new([key; 32]).placeholder(namespace, secret, field, value)
        };
        prop_assert_eq!(of(1, &first) == of(1, &second), first == second);
        prop_assert_ne!(of(1, &first), of(2, &first));
    }

    #[test]
    fn decisions_take_any_secret(secret in any_json(), data in any_json()) {
        let mut object = json!({ "data": data }).as_object().cloned().unwrap();
        let requests = Requests::take(&mut object).unwrap_or_default();
        let live = Live::of(&secret);
        decide(&requests, &live, &BTreeMap::new(), &Issuers::new(), None, &Maker::default(), i64::MAX);
        shown(&secret, None);
    }
}

fn made() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["password", "token", "key", "ca.crt", "tls.crt", "client.crt"]).prop_map(str::to_owned)
}

fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "data",
        "metadata",
        "annotations",
        GENERATED_ANNOTATION,
        "generate",
        "password",
        "length",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(7)),
        Just(json!("eA==")),
        Just(json!("{\"values\":{\"x\":{\"epoch\":1}}}")),
        Just(json!("?"))
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop::collection::btree_map(keys.clone(), inner, 0..4).prop_map(|map| json!(map))
    })
}

#[test]
fn a_secret_is_shown_without_its_generated_values() {
    let (mut world, mut maker) = (World::new(&everything()), Maker::default());
    world.step(&mut maker);
    let shown = super::shown(&world.secret, Some(&world.digests)).expect("it has generated values");
    assert_eq!(shown["data"]["user"], json!(STANDARD.encode("app")), "what the plugin gave is shown");
    let placeholder = world.digests.placeholder("", "", "password", &world.live().values()["password"]);
    assert_eq!(shown["data"]["password"], json!(STANDARD.encode(placeholder)));
    let text = shown.to_string();
    for (key, value) in world.live().values().iter().filter(|(key, _)| *key != "user") {
        assert!(!text.contains(&STANDARD.encode(value)), "{key} is shown");
    }
    // Somebody has read the Secret, and has applied what he had read.
    world.secret["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
        json!(world.secret.to_string());
    let shown = super::shown(&world.secret, Some(&world.digests)).expect("it has generated values").to_string();
    for (key, value) in world.live().values().iter().filter(|(key, _)| *key != "user") {
        assert!(!shown.contains(&STANDARD.encode(value)), "{key} is shown");
    }
    // Nobody can read this annotation, so nothing is shown.
    world.secret["metadata"]["annotations"][GENERATED_ANNOTATION] = json!("?");
    let shown = super::shown(&world.secret, None).expect("everything is hidden");
    assert_eq!(shown["data"]["user"], json!(STANDARD.encode(PLACEHOLDER_PREFIX)));
    assert_eq!(super::shown(&json!({ "metadata": { "name": "it" }, "data": { "a": "eA==" } }), None), None);
}

#[test]
fn bad_requests_get_an_error_with_place_cause_and_remedy() {
    let password = |fields: Value| json!({ "p": { "generate": { "password": fields } } });
    let certificate = |fields: Value| {
        let mut all = json!({ "privateKey": "k", "commonName": "it", "lifetimeSeconds": YEAR });
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "c": { "generate": { "certificate": all } } })
    };
    for (data, says) in [
        (json!({ "p": {} }), "data[\"p\"] is no request for a value: missing field `generate`"),
        (password(json!({ "length": 0 })), "data[\"p\"].generate.password: length is 0, and must be from 1 to 256"),
        (
            password(json!({ "length": 8, "alphabet": "aa" })),
            "alphabet must be at least two different printable ASCII characters",
        ),
        (password(json!({ "length": 8, "classes": 1 })), "unknown field `classes`"),
        (certificate(json!({ "lifetimeSeconds": 60 })), "lifetimeSeconds is 60, and must be from 3600 to"),
        (certificate(json!({ "renewBeforeSeconds": YEAR })), "at most half of lifetimeSeconds"),
        (certificate(json!({ "commonName": null })), "it has no name"),
        (certificate(json!({ "commonName": null, "isCa": true })), "a CA needs a name of its own"),
        (certificate(json!({ "dnsNames": ["a b"] })), "\"a b\" in dnsNames is no DNS name"),
        (certificate(json!({ "ipAddresses": ["300.1.1.1"] })), "is no IP address"),
        (certificate(json!({ "privateKey": "c" })), "under the key \"c\", which is used twice"),
        (certificate(json!({ "privateKey": "a/b" })), "use at most 253 letters"),
        (certificate(json!({ "issuer": { "key": "ca" } })), "needs the key \"ca\", which the Secret does not have"),
        (certificate(json!({ "issuer": { "key": "c" } })), "no generated certificate with isCa: true"),
        (json!({ "t": { "generate": { "text": "{x}" } } }), "needs the key \"x\""),
        (json!({ "t": { "generate": { "text": "{x" } } }), "a brace has no counterpart at byte 0"),
        (
            json!({ "a": { "generate": { "text": "{b}" } }, "b": { "generate": { "text": "{a}" } } }),
            "values of data depend on each other in a circle, among a, b",
        ),
        (
            json!(
                (0..4)
                    .map(|number| (format!("k{number}"), json!({ "generate": { "keyPair": { "algorithm": "rsa-4096" } } })))
                    .collect::<Map<_, _>>()
            ),
            "may take 24000 ms to make, and the limit is 15000 ms",
        ),
    ] {
        let error = parsed(&data).expect_err(says);
        assert!(error.contains(says), "{error}");
    }
}
