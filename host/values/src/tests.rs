use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use gyre_core::generated::{
    Decision, DigestKey, Generator, Inspect as _, Issuers, Live, PLACEHOLDER_PREFIX, Record, Requests, State, decide,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_790_000_000;
const DAY: i64 = 86_400;

type Values = BTreeMap<String, Vec<u8>>;

fn requests(data: &Value) -> Requests {
    Requests::take(json!({ "data": data }).as_object_mut().unwrap()).unwrap()
}

fn make_at(data: &Value, live: &Live, issuers: &Issuers, seed: Option<u64>, now: i64) -> Result<Values, Error> {
    let requests = requests(data);
    let decision = decide(&requests, live, &Values::new(), issuers, None, &Inspector, now);
    let randomness = seed.map_or(Randomness::System, Randomness::Seeded);
    let given = Values::new();
    let ingredients =
        Ingredients { requests: &requests, given: &given, issuers, randomness: &randomness, place: ["default", "it"], now };
    make(&ingredients, &decision, live)
}

fn made(data: &Value, seed: Option<u64>) -> Values {
    make_at(data, &Live::default(), &Issuers::new(), seed, NOW).unwrap()
}

fn text(values: &Values, key: &str) -> String {
    String::from_utf8(values[key].clone()).unwrap()
}

/// Every sort of value; RSA alone takes long.
fn everything() -> Value {
    json!({
        "password": { "generate": { "password": { "length": 24 } } },
        "pin": { "generate": { "password": { "length": 6, "alphabet": "0123456789" } } },
        "bytes": { "generate": { "bytes": { "length": 32 } } },
        "hex": { "generate": { "bytes": { "length": 16, "encoding": "hex" } } },
        "ed": { "generate": { "keyPair": { "algorithm": "ed25519", "publicKey": "ed.pub" } } },
        "ec": { "generate": { "keyPair": { "algorithm": "ecdsa-p256", "publicKey": "ec.pub" } } },
        "ssh": { "generate": { "keyPair": { "algorithm": "ed25519", "format": "ssh", "publicKey": "ssh.pub" } } },
        "ca.crt": { "generate": { "certificate": {
            "privateKey": "ca.key", "isCa": true, "commonName": "a CA", "lifetimeSeconds": 365 * DAY,
        } } },
        "tls.crt": { "generate": { "certificate": {
            "privateKey": "tls.key", "caCertificate": "bundle.crt", "issuer": { "key": "ca.crt" },
            "dnsNames": ["db.default.svc", "*.db"], "ipAddresses": ["10.0.0.1", "::1"], "lifetimeSeconds": 90 * DAY,
        } } },
        "url": { "generate": { "text": "postgres://app:{password}@db" } },
        "bcrypt": { "generate": { "hash": { "of": "password", "algorithm": "bcrypt" } } },
        "scram": { "generate": { "hash": { "of": "password", "algorithm": "scram-sha256" } } },
    })
}

#[test]
fn seeded_values_are_the_same_bit_for_bit_and_others_never() {
    let first = made(&everything(), Some(1));
    assert_eq!(made(&everything(), Some(1)), first);
    let (second, third) = (made(&everything(), None), made(&everything(), None));
    for key in first.keys() {
        assert_ne!(first[key], second[key], "{key}");
        assert_ne!(second[key], third[key], "{key}");
    }
    assert_eq!(text(&first, "url"), format!("postgres://app:{}@db", text(&first, "password")));
    assert_eq!((first["bytes"].len(), first["hex"].len(), first["password"].len(), first["pin"].len()), (32, 32, 24, 6));
    assert!(text(&first, "pin").bytes().all(|byte| byte.is_ascii_digit()));
    assert_eq!(first["bundle.crt"], first["ca.crt"]);
}

#[test]
fn what_is_made_is_then_kept_by_the_decision() {
    let digests = DigestKey::new([1; 32]);
    let (requests, values) = (requests(&everything()), made(&everything(), None));
    let record = Record::of(&requests, &values, &Issuers::new(), &Record::default(), &digests);
    use base64::Engine as _;
    let data: serde_json::Map<String, Value> = values
        .iter()
        .map(|(key, value)| (key.clone(), json!(base64::engine::general_purpose::STANDARD.encode(value))))
        .collect();
    let annotations = json!({ gyre_core::generated::GENERATED_ANNOTATION: record.to_annotation() });
    let live = Live::of(&json!({ "metadata": { "annotations": annotations }, "data": data }));
    let decision = |now| decide(&requests, &live, &Values::new(), &Issuers::new(), Some(&digests), &Inspector, now);
    let Decision { is_needed, due, .. } = decision(NOW);
    assert!(!is_needed);
    assert_eq!(due, Some(NOW + 60 * DAY), "90 days, without the last third");
    assert!(decision(NOW + 60 * DAY).is_needed);
    let renewed = make_at(&everything(), &live, &Issuers::new(), None, NOW + 60 * DAY).unwrap();
    let changed: Vec<&String> = renewed.keys().filter(|key| renewed[*key] != values[*key]).collect();
    assert_eq!(changed, ["tls.crt", "tls.key"]);
    assert!(!record.to_annotation().contains(PLACEHOLDER_PREFIX));
}

#[test]
fn certificates_are_valid_for_those_who_trust_their_issuer() {
    for algorithm in ["ed25519", "ecdsa-p256", "rsa-2048"] {
        let mut data = everything();
        data["ca.crt"]["generate"]["certificate"]["algorithm"] = json!(algorithm);
        data["tls.crt"]["generate"]["certificate"]["algorithm"] = json!(algorithm);
        let values = made(&data, Some(3));
        verify(&values["ca.crt"], &values["tls.crt"]);
        let facts = Inspector.certificate(&values["tls.crt"]).unwrap();
        assert_eq!((facts.not_before, facts.not_after), (NOW - 300, NOW + 90 * DAY));
    }
}

/// Checks the signature, the names and the extensions with another library than the one that wrote
/// them.
fn verify(ca: &[u8], certificate: &[u8]) {
    let (_, ca) = x509_parser::pem::parse_x509_pem(ca).unwrap();
    let (_, certificate) = x509_parser::pem::parse_x509_pem(certificate).unwrap();
    let (ca, certificate) = (ca.parse_x509().unwrap(), certificate.parse_x509().unwrap());
    assert_eq!(certificate.issuer(), ca.subject());
    assert!(ca.is_ca() && !certificate.is_ca());
    certificate.verify_signature(Some(ca.public_key())).expect("the signature of its issuer");
    ca.verify_signature(None).expect("its own signature");
    let names = certificate.subject_alternative_name().unwrap().unwrap().value.general_names.len();
    assert_eq!(names, 4);
    assert!(certificate.extended_key_usage().unwrap().unwrap().value.server_auth);
}

#[test]
fn an_issuer_in_another_secret_signs_with_any_key_that_cert_manager_writes() {
    let data = json!({ "tls.crt": { "generate": { "certificate": {
        "privateKey": "tls.key", "issuer": { "secret": { "name": "ca" } }, "dnsNames": ["a", "b", "c", "d"], "lifetimeSeconds": 365 * DAY,
    } } } });
    let issuer = requests(&data).issuers().next().unwrap().clone();
    let with = |certificate: &[u8], private_key: &[u8]| {
        let found = State::Found { certificate: certificate.to_vec(), private_key: private_key.to_vec() };
        make_at(&data, &Live::default(), &Issuers::from([(issuer.clone(), found)]), Some(1), NOW)
    };
    let ca = |algorithm: &str, lifetime: i64| {
        made(
            &json!({ "tls.crt": { "generate": { "certificate": {
            "privateKey": "tls.key", "isCa": true, "commonName": "a CA", "algorithm": algorithm, "lifetimeSeconds": lifetime,
        } } } }),
            Some(7),
        )
    };
    let short = ca("ecdsa-p256", 10 * DAY);
    let pkcs8 = crate::keys::read_private_key(&short["tls.key"]).unwrap();
    use p256::pkcs8::DecodePrivateKey as _;
    let sec1 = p256::SecretKey::from_pkcs8_der(&pkcs8).unwrap().to_sec1_der().unwrap();
    for key in [short["tls.key"].clone(), crate::keys::to_pem("EC PRIVATE KEY", &sec1)] {
        let values = with(&short["tls.crt"], &key).unwrap();
        verify(&short["tls.crt"], &values["tls.crt"]);
        assert_eq!(Inspector.certificate(&values["tls.crt"]).unwrap().not_after, NOW + 10 * DAY, "it ends with its issuer");
    }
    let rsa = ca("rsa-2048", 10 * DAY);
    let pkcs8 = crate::keys::read_private_key(&rsa["tls.key"]).unwrap();
    use rsa::pkcs1::EncodeRsaPrivateKey as _;
    let pkcs1 = rsa::PrivateKey::from_pkcs8_der(&pkcs8).unwrap().to_pkcs1_der().unwrap();
    let values = with(&rsa["tls.crt"], &crate::keys::to_pem("RSA PRIVATE KEY", pkcs1.as_bytes())).unwrap();
    verify(&rsa["tls.crt"], &values["tls.crt"]);
    // Not an issuer.
    let says = |certificate: &[u8], key: &[u8]| with(certificate, key).unwrap_err().to_string();
    assert!(says(&short["tls.crt"], &rsa["tls.key"]).contains("does not belong to the private key beside it"));
    assert!(says(&short["tls.crt"], b"?").contains("it has no private key: use ECDSA with P-256, Ed25519 or RSA"));
    assert!(says(b"?", &short["tls.key"]).contains("is no certificate"));
    let leaf = made(&everything(), Some(1));
    assert!(says(&leaf["tls.crt"], &leaf["tls.key"]).contains("is not that of a CA"));
}

#[test]
fn a_public_key_that_is_missing_is_made_of_the_private_key_that_is_there() {
    for (algorithm, format) in
        [("ed25519", "pem"), ("ed25519", "ssh"), ("ecdsa-p256", "pem"), ("ecdsa-p256", "ssh"), ("rsa-2048", "ssh")]
    {
        let data = json!({ "key": { "generate": { "keyPair": { "algorithm": algorithm, "format": format, "publicKey": "public" } } } });
        let both = made(&data, Some(5));
        use base64::Engine as _;
        let private = base64::engine::general_purpose::STANDARD.encode(&both["key"]);
        let live = Live::of(&json!({ "metadata": {}, "data": { "key": private } }));
        assert_eq!(make_at(&data, &live, &Issuers::new(), None, NOW).unwrap(), both, "{algorithm} {format}");
    }
}

/// With the program of OpenSSH, where it is installed.
#[test]
fn openssh_reads_the_keys() {
    for algorithm in ["ed25519", "ecdsa-p256", "rsa-2048"] {
        let data =
            json!({ "key": { "generate": { "keyPair": { "algorithm": algorithm, "format": "ssh", "publicKey": "public" } } } });
        let values = made(&data, None);
        let path = std::env::temp_dir().join(format!("gyre-ssh-{}-{algorithm}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create(true).truncate(true), 0o600);
        options.open(&path).unwrap().write_all(&values["key"]).unwrap();
        let read = Command::new("ssh-keygen").arg("-y").arg("-f").arg(&path).stdin(Stdio::null()).output();
        std::fs::remove_file(&path).unwrap();
        let Ok(read) = read else { return eprintln!("skipped: ssh-keygen is not installed") };
        let public = String::from_utf8(read.stdout).unwrap();
        let fields: Vec<&str> = public.split_whitespace().take(2).collect();
        assert_eq!(fields.join(" "), text(&values, "public").trim_end(), "{}", String::from_utf8_lossy(&read.stderr));
    }
}

#[test]
fn what_cannot_be_made_says_where_and_why() {
    let data = json!({
        "password": { "generate": { "password": { "length": 100 } } },
        "hash": { "generate": { "hash": { "of": "password", "algorithm": "bcrypt" } } },
    });
    let error = make_at(&data, &Live::default(), &Issuers::new(), None, NOW).unwrap_err();
    assert_eq!(error.to_string(), "data[\"hash\"] cannot be made: bcrypt takes at most 72 bytes, none of which is 0");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each character of each alphabet is equally probable: a bound of five standard deviations.
    #[test]
    fn the_characters_of_passwords_are_equally_probable(count in 2_usize..94, seed: u64) {
        let alphabet: String = (' '..='~').take(count).collect();
        let mut counts = BTreeMap::<u8, u32>::new();
        for number in 0..20 {
            let data = json!({ format!("p{number}"): { "generate": { "password": { "length": 256, "alphabet": alphabet } } } });
            made(&data, Some(seed)).into_values().flatten().for_each(|byte| *counts.entry(byte).or_default() += 1);
        }
        let expected = 5120.0 / count as f64;
        for byte in alphabet.bytes() {
            let seen = f64::from(counts.get(&byte).copied().unwrap_or(0));
            prop_assert!((seen - expected).abs() < 6.0 * expected.sqrt(), "{} of {expected}", seen);
        }
    }

    #[test]
    fn nothing_that_is_in_a_secret_makes_it_panic(pem: Vec<u8>, which in 0_usize..4) {
        let tags = ["CERTIFICATE", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"];
        for bytes in [pem.clone(), keys::to_pem(tags[which], &pem)] {
            let _ = Inspector.certificate(&bytes);
            let _ = keys::read_private_key(&bytes).and_then(|key| keys::Signer::new(&key).map(|_| ()));
            let _ = ssh::read_private_key(&bytes);
            for algorithm in [gyre_core::generated::HashAlgorithm::Bcrypt, gyre_core::generated::HashAlgorithm::ScramSha256] {
                let _ = Inspector.matches(algorithm, &bytes, &pem);
            }
        }
    }
}

#[test]
fn every_generator_has_a_test() {
    let all = everything();
    let names: std::collections::BTreeSet<&str> =
        requests(&all).in_order().map(|(_, request)| request.generate.name()).collect();
    let known = ["bytes", "certificate", "hash", "keyPair", "password", "text"];
    assert_eq!(names.into_iter().collect::<Vec<_>>(), known);
    let _: fn(&Generator) = |generator| match generator {
        Generator::Bytes(_)
        | Generator::Password(_)
        | Generator::KeyPair(_)
        | Generator::Certificate(_)
        | Generator::Text(_)
        | Generator::Hash(_) => {}
    };
}
