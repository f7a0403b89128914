//! Signatures: Sigstore bundles, and the older form of cosign.
//!
//! Nobody here can sign for the keys of the fixtures. So an accepted signature has the bytes that
//! one of them signed, and says the same.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use gyre_devcluster::random::Random;
use gyre_registry::Digest;
use gyre_signatures::{
    Candidate, Content, Identity, Log as TransparencyLog, MAX_SIGNATURE, Policy, PublicKey, Refusal, Requirements, SigningKey,
    Verified, sign, verify,
};
use serde_json::Value;

use super::{changed, check_line, mutated, pointers};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../../host/signatures/tests/fixtures/", $name))
    };
}

/// The manifest that all fixtures sign.
pub(super) const DIGEST: &str = "sha256:b1f0fc11766f5794fecb4e428cac6b31d2fd4e8a58d17c7040d0dc8efcd0176d";

const ROOT: &str = fixture!("virtual/trusted_root.json");
const ISSUER: &str = "https://token.example.com";
const SUBJECT: &str = "https://forge.example.com/team/echo/.github/workflows/release.yml@refs/tags/*";
const NAME: &str = "sha256:81e8";
const ED25519: (&str, &str) = (fixture!("cosign/ed25519.key"), fixture!("cosign/ed25519.pub"));
/// The public keys, by their names in messages.
const KEYS: &[(&str, &str)] = &[
    ("team.pub", fixture!("cosign/team.pub")),
    ("protected.pub", fixture!("cosign/protected.pub")),
    ("p384.pub", fixture!("cosign/p384.pub")),
    ("rsa.pub", fixture!("cosign/rsa.pub")),
    ("ed25519.pub", fixture!("cosign/ed25519.pub")),
    ("virtual.pub", fixture!("virtual/team.pub")),
];

/// The demand of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Demand {
    /// One of all keys, without a log.
    Key,
    /// The same, with an annotation.
    Annotated,
    /// A key, with an entry in the log.
    Logged,
    Keyless,
    /// A key or an identity, with an entry in the log.
    Any,
}

const DEMANDS: [Demand; 5] = [Demand::Key, Demand::Annotated, Demand::Logged, Demand::Keyless, Demand::Any];

/// A signature as a registry has it.
#[derive(Clone, Debug)]
pub(super) enum Signature {
    Bundle(Vec<u8>),
    Simple { payload: Vec<u8>, annotations: BTreeMap<String, String> },
}

impl Signature {
    fn content(&self) -> Content<'_> {
        match self {
            Self::Bundle(bytes) => Content::Bundle(bytes),
            Self::Simple { payload, annotations } => Content::Simple { payload, annotations },
        }
    }

    /// The bytes that are signed; `None` if they cannot be read here.
    fn signed(&self) -> Option<Vec<u8>> {
        match self {
            Self::Simple { payload, .. } => Some(payload.clone()),
            Self::Bundle(bytes) => {
                let bundle: Value = serde_json::from_slice(bytes).ok()?;
                decoded(bundle["dsseEnvelope"]["payload"].as_str()?)
            }
        }
    }
}

/// A fixture.
struct Sample {
    signature: Signature,
    signed: Vec<u8>,
    /// The result for each demand that accepts it.
    verified: BTreeMap<Demand, Verified>,
}

struct Stage {
    policies: BTreeMap<Demand, Policy>,
    samples: Vec<Sample>,
}

/// The fixtures, with the demands that accept them.
const SIGNATURES: &[(&str, Option<&str>, &[Demand])] = &[
    (fixture!("cosign/bundle.json"), None, &[Demand::Key]),
    (fixture!("cosign/protected.json"), None, &[Demand::Key]),
    (fixture!("cosign/p384.json"), None, &[Demand::Key]),
    (fixture!("cosign/rsa.json"), None, &[Demand::Key]),
    (fixture!("gyre/bundle.json"), None, &[Demand::Key]),
    (fixture!("gyre/ed25519.json"), None, &[Demand::Key]),
    (fixture!("cosign/annotated.json"), None, &[Demand::Key, Demand::Annotated]),
    (fixture!("gyre/annotated.json"), None, &[Demand::Key, Demand::Annotated]),
    (fixture!("virtual/key.json"), None, &[Demand::Key, Demand::Logged, Demand::Any]),
    (fixture!("virtual/keyless.json"), None, &[Demand::Keyless, Demand::Any]),
    (fixture!("cosign/simple.payload.json"), Some(fixture!("cosign/simple.annotations.json")), &[Demand::Key]),
    (
        fixture!("cosign/simple-annotated.payload.json"),
        Some(fixture!("cosign/simple-annotated.annotations.json")),
        &[Demand::Key, Demand::Annotated],
    ),
    (
        fixture!("virtual/simple.payload.json"),
        Some(fixture!("virtual/simple-key.annotations.json")),
        &[Demand::Key, Demand::Logged, Demand::Any],
    ),
    (
        fixture!("virtual/simple.payload.json"),
        Some(fixture!("virtual/simple-keyless.annotations.json")),
        &[Demand::Keyless, Demand::Any],
    ),
    (fixture!("cosign/attestation.json"), None, &[]),
    (fixture!("cosign/ed25519ph.json"), None, &[]),
    (fixture!("virtual/keyless-provenance.json"), None, &[]),
    (fixture!("virtual/keyless-without-log.json"), None, &[]),
];

fn stage() -> Result<&'static Stage, Failure> {
    static STAGE: OnceLock<Result<Stage, String>> = OnceLock::new();
    let made = STAGE.get_or_init(|| {
        let policies = DEMANDS.iter().map(|demand| Ok((*demand, policy(*demand)?))).collect::<Result<_, String>>()?;
        let mut stage = Stage { policies, samples: Vec::new() };
        for (text, annotations, accepted_by) in SIGNATURES {
            let sample = stage.sample(text, *annotations, accepted_by)?;
            stage.samples.push(sample);
        }
        Ok(stage)
    });
    made.as_ref().map_err(|error| Failure(error.clone()))
}

fn policy(demand: Demand) -> Result<Policy, String> {
    let key = |(name, text): &(&str, &str)| PublicKey::from_pem(*name, text).map_err(|error| error.to_string());
    let keys = KEYS.iter().map(key).collect::<Result<Vec<_>, _>>()?;
    let identity = Identity::new(ISSUER, SUBJECT).map_err(|error| error.to_string())?;
    let root = Some(ROOT.to_owned());
    let required = match demand {
        Demand::Key => Requirements { keys, log: TransparencyLog::Ignored, ..Requirements::default() },
        Demand::Annotated => {
            let annotations = BTreeMap::from([("team".to_owned(), "platform".to_owned())]);
            Requirements { keys, log: TransparencyLog::Ignored, annotations, ..Requirements::default() }
        }
        Demand::Logged => Requirements { keys, trusted_root: root, ..Requirements::default() },
        Demand::Keyless => Requirements { identities: vec![identity], trusted_root: root, ..Requirements::default() },
        Demand::Any => Requirements { keys, identities: vec![identity], trusted_root: root, ..Requirements::default() },
    };
    Policy::new(required).map_err(|error| error.to_string())
}

impl Stage {
    /// Checks a fixture with all policies.
    fn sample(&self, text: &str, annotations: Option<&str>, accepted_by: &[Demand]) -> Result<Sample, String> {
        let bytes = text.as_bytes().to_vec();
        let signature = match annotations {
            None => Signature::Bundle(bytes),
            Some(annotations) => {
                let annotations = serde_json::from_str(annotations).map_err(|error| error.to_string())?;
                Signature::Simple { payload: bytes, annotations }
            }
        };
        let mut verified = BTreeMap::new();
        for (demand, policy) in &self.policies {
            match (ask(policy, DIGEST, &signature), accepted_by.contains(demand)) {
                (Ok(found), true) => drop(verified.insert(*demand, found)),
                (Err(_), false) => {}
                (found, _) => return Err(format!("{demand:?} says of {}: {found:?}", shown(text))),
            }
        }
        let signed = signature.signed().ok_or_else(|| format!("nothing is signed by {}", shown(text)))?;
        Ok(Sample { signature, signed, verified })
    }
}

/// Returns the signatures of all fixtures.
pub(super) fn samples() -> Result<Vec<Signature>, Failure> {
    Ok(stage()?.samples.iter().map(|sample| sample.signature.clone()).collect())
}

fn ask(policy: &Policy, digest: &str, signature: &Signature) -> Result<Verified, Refusal> {
    verify(policy, digest, &[Candidate { name: NAME, content: signature.content() }])
}

pub(super) fn run(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    if random.chance(0.1) {
        return check_signed(random, log, tally);
    }
    let stage = stage()?;
    for _ in 0..3 {
        let signature = signature(random, stage);
        let digest = if random.chance(0.85) { DIGEST.to_owned() } else { other_digest(random) };
        log.step(&|| format!("{digest} {}", describe(&signature)));
        check(&signature, &digest, tally)?;
    }
    Ok(())
}

/// Checks a signature of any origin with all policies.
pub(super) fn check(signature: &Signature, digest: &str, tally: &mut Tally) -> Result<(), Failure> {
    let stage = stage()?;
    for (demand, policy) in &stage.policies {
        let checked = match ask(policy, digest, signature) {
            Ok(verified) => {
                count(tally, "accepted");
                check_accepted(stage, *demand, digest, signature, &verified)
            }
            Err(refusal) => {
                count(tally, "refused-signature");
                check_refusal(&refusal)
            }
        };
        checked.map_err(|failure| Failure(format!("{demand:?}: {failure}\n  {}", describe(signature))))?;
    }
    Ok(())
}

/// Checks that the signature is, but for its notation, one of the fixtures.
fn check_accepted(
    stage: &Stage,
    demand: Demand,
    digest: &str,
    signature: &Signature,
    verified: &Verified,
) -> Result<(), Failure> {
    law(digest == DIGEST, || format!("a signature of {digest} is accepted"))?;
    let signed = signature.signed();
    let is_known = |sample: &Sample| {
        let is_same = |expected: &Verified| {
            // The time is not verified without the promise of the log, which may be left out.
            let is_same_time = verified.logged_at.is_none() || verified.logged_at == expected.logged_at;
            is_same_time
                && (&verified.name, &verified.signer, &verified.annotations)
                    == (&expected.name, &expected.signer, &expected.annotations)
        };
        signed.as_ref().is_none_or(|signed| *signed == sample.signed) && sample.verified.get(&demand).is_some_and(is_same)
    };
    law(stage.samples.iter().any(is_known), || {
        let signed = signed.as_deref().map(String::from_utf8_lossy);
        format!("nobody signed {signed:?}, and it is accepted: {verified:?}")
    })?;
    let (Content::Bundle(bytes) | Content::Simple { payload: bytes, .. }) = signature.content();
    law(bytes.len() <= MAX_SIGNATURE, || format!("it has {} bytes", bytes.len()))
}

fn check_refusal(refusal: &Refusal) -> Result<(), Failure> {
    check_line(&refusal.to_string())?;
    law(!refusal.remedy().is_empty() && !refusal.is_unsigned(), || format!("there is no remedy for {refusal}"))?;
    let [(name, found)] = refusal.found() else {
        return Err(Failure(format!("one signature is refused as {:?}", refusal.found())));
    };
    law(name == NAME && !found.remedy().is_empty(), || format!("there is no remedy for {found}"))?;
    check_line(&found.to_string())
}

fn signature(random: &mut Random, stage: &Stage) -> Signature {
    let sample = random.pick(&stage.samples).signature.clone();
    if random.chance(0.05) {
        return sample;
    }
    match sample {
        Signature::Bundle(bytes) => Signature::Bundle(bundle(random, stage, &bytes)),
        Signature::Simple { payload, annotations } => simple(random, stage, payload, annotations),
    }
}

fn bundle(random: &mut Random, stage: &Stage, sample: &[u8]) -> Vec<u8> {
    if random.chance(0.01) {
        let mut bytes = sample.to_vec();
        bytes.resize(MAX_SIGNATURE + random.size(2), b' ');
        return bytes;
    }
    let Ok(mut bundle) = serde_json::from_slice::<Value>(sample) else { return sample.to_vec() };
    match random.below(8) {
        0 => {
            let payload = &mut bundle["dsseEnvelope"]["payload"];
            let statement = decoded(payload.as_str().unwrap_or_default()).unwrap_or_default();
            let statement = mutated(random, &statement, special);
            *payload = encoded(random, &statement).into();
        }
        1 => {
            let signature = &mut bundle["dsseEnvelope"]["signatures"][0]["sig"];
            let mut bytes = decoded(signature.as_str().unwrap_or_default()).unwrap_or_default();
            mutate::bytes(random, &mut bytes);
            *signature = encoded(random, &bytes).into();
        }
        2..4 => {
            // A part of another signature, in the same place.
            let other = match &random.pick(&stage.samples).signature {
                Signature::Bundle(bytes) => serde_json::from_slice::<Value>(bytes).unwrap_or_default(),
                Signature::Simple { annotations, .. } => serde_json::json!(annotations),
            };
            let mut found = Vec::new();
            pointers(&bundle, "", &mut found);
            let pointer = random.pick(&found);
            if let (Some(place), Some(part)) = (bundle.pointer_mut(pointer), other.pointer(pointer)) {
                *place = part.clone();
            }
        }
        _ => return mutated(random, sample, special),
    }
    bundle.to_string().into_bytes()
}

fn simple(random: &mut Random, stage: &Stage, payload: Vec<u8>, annotations: BTreeMap<String, String>) -> Signature {
    let (mut payload, mut annotations) = (payload, annotations);
    if random.chance(0.4) {
        payload = mutated(random, &payload, special);
    }
    let keys: Vec<String> = annotations.keys().cloned().collect();
    if random.chance(0.7)
        && let Some(value) = annotations.get_mut(random.pick(&keys))
    {
        *value = match random.below(4) {
            0 => changed(random, value),
            1 => mutate::text(random),
            // The entry in the log is JSON within the text.
            _ => String::from_utf8_lossy(&mutated(random, value.as_bytes(), special)).into_owned(),
        };
    }
    if random.chance(0.2)
        && let Signature::Simple { annotations: other, .. } = &random.pick(&stage.samples).signature
    {
        let taken = other.iter().filter(|_| random.chance(0.5)).map(|(key, value)| (key.clone(), value.clone()));
        annotations.extend(taken);
    }
    if random.chance(0.1) {
        annotations.remove(random.pick(&keys));
    }
    Signature::Simple { payload, annotations }
}

/// A value that means something in a signature.
fn special(random: &mut Random) -> Value {
    let texts = [
        DIGEST.trim_start_matches("sha256:"),
        DIGEST,
        "https://in-toto.io/Statement/v1",
        "https://sigstore.dev/cosign/sign/v1",
        "https://slsa.dev/provenance/v1",
        "application/vnd.in-toto+json",
        "application/vnd.dev.sigstore.bundle+json;version=0.1",
        "application/vnd.dev.sigstore.bundle+json;version=0.2",
        "hashedrekord",
        "dsse",
        "intoto",
        "0.0.2",
        "1748779200",
        "cosign container image signature",
        "-----BEGIN CERTIFICATE-----\nAAEC\n-----END CERTIFICATE-----\n",
    ];
    match random.below(4) {
        0 => Value::from(*random.pick(&texts)),
        1 => {
            let bytes: Vec<u8> = (0..random.size(80)).map(|_| random.next_u64() as u8).collect();
            STANDARD.encode(bytes).into()
        }
        2 => Digest::of(&random.next_u64().to_be_bytes()).hex().into(),
        _ => mutate::value(random),
    }
}

fn other_digest(random: &mut Random) -> String {
    match random.below(4) {
        0 => DIGEST.to_uppercase(),
        1 => DIGEST.trim_start_matches("sha256:").to_owned(),
        2 => Digest::of(&random.next_u64().to_be_bytes()).to_string(),
        _ => changed(random, DIGEST),
    }
}

/// Decodes base64 of both alphabets, with and without padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD_NO_PAD.decode(text.replace('-', "+").replace('_', "/").trim_end_matches('=')).ok()
}

fn encoded(random: &mut Random, bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    if random.chance(0.3) { text.replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned() } else { text }
}

/// Checks that a new signature is of its manifest and with its annotations, and of no other.
fn check_signed(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure(format!("a signature cannot be made: {error}"));
    let (private, public) = ED25519;
    let key = SigningKey::from_pem(private, None).map_err(|error| failed(&error))?;
    let annotations: BTreeMap<String, String> =
        (0..1 + random.size(4)).map(|_| (mutate::text(random), mutate::text(random))).collect();
    let digest = Digest::of(&random.next_u64().to_be_bytes()).to_string();
    log.step(&|| format!("sign {digest} with {annotations:?}"));
    let bundle = Signature::Bundle(sign(&key, &digest, &annotations).map_err(|error| failed(&error))?);
    let asked = |required: BTreeMap<String, String>, digest: &str| {
        let keys = vec![PublicKey::from_pem("it.pub", public).map_err(|error| failed(&error))?];
        let required = Requirements { keys, log: TransparencyLog::Ignored, annotations: required, ..Requirements::default() };
        let policy = Policy::new(required).map_err(|error| failed(&error))?;
        Ok::<_, Failure>(ask(&policy, digest, &bundle))
    };
    let verified = asked(annotations.clone(), &digest)?;
    count(tally, "signed");
    law(verified.as_ref().is_ok_and(|verified| verified.annotations == annotations), || format!("{verified:?}"))?;
    let of_other = asked(annotations.clone(), DIGEST)?;
    law(of_other.is_err(), || format!("of another manifest: {of_other:?}"))?;
    let keys: Vec<&String> = annotations.keys().collect();
    let changed = (random.pick(&keys).to_string(), "another value".to_owned());
    let with_other = asked(BTreeMap::from([changed]), &digest)?;
    law(with_other.is_err(), || format!("with another annotation: {with_other:?}"))
}

fn describe(signature: &Signature) -> String {
    match signature {
        Signature::Bundle(bytes) => format!("bundle {}", shown(&String::from_utf8_lossy(bytes))),
        Signature::Simple { payload, annotations } => {
            format!("payload {}, annotations {}", shown(&String::from_utf8_lossy(payload)), shown(&format!("{annotations:?}")))
        }
    }
}
