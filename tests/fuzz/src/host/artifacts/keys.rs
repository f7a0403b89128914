//! Public keys in PEM.

use gyre_devcluster::random::Random;
use gyre_registry::Digest;
use gyre_signatures::{Candidate, Content, Log as TransparencyLog, Policy, PublicKey, Requirements, verify};
use pem::Pem;

use super::signatures::DIGEST;
use super::{about, changed, check_message};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../../host/signatures/tests/fixtures/", $name))
    };
}

/// A key, and a bundle that it signed.
struct Sample {
    pem: &'static str,
    bundle: &'static str,
    /// The number of bytes of the key itself in its DER.
    length: usize,
    /// The number of bytes after them.
    rest: usize,
}

const SAMPLES: &[Sample] = &[
    Sample { pem: fixture!("cosign/team.pub"), bundle: fixture!("cosign/bundle.json"), length: 64, rest: 0 },
    Sample { pem: fixture!("cosign/p384.pub"), bundle: fixture!("cosign/p384.json"), length: 96, rest: 0 },
    Sample { pem: fixture!("cosign/ed25519.pub"), bundle: fixture!("gyre/ed25519.json"), length: 32, rest: 0 },
    // The exponent is after the modulus.
    Sample { pem: fixture!("cosign/rsa.pub"), bundle: fixture!("cosign/rsa.json"), length: 256, rest: 5 },
    Sample { pem: fixture!("virtual/team.pub"), bundle: fixture!("virtual/key.json"), length: 64, rest: 0 },
];

const NAME: &str = "it.pub";
const TAG: &str = "PUBLIC KEY";
const TEXTS: usize = 8;

pub(super) fn run(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    for _ in 0..TEXTS {
        let sample = random.pick(SAMPLES);
        let text = text(random, sample.pem);
        log.step(&|| format!("key {}", shown(&text)));
        check(sample, &text, tally).map_err(|failure| about(&failure, text.as_bytes()))?;
    }
    Ok(())
}

fn text(random: &mut Random, sample: &str) -> String {
    match random.below(10) {
        0 => sample.to_owned(),
        1 => sample.replace('\n', "\r\n"),
        2 => format!("{}\n{sample}{}", mutate::text(random), mutate::text(random)),
        3 => format!("{sample}{sample}"),
        4 => {
            let tag = match random.below(3) {
                0 => mutate::text(random),
                1 => "EC PUBLIC KEY".to_owned(),
                _ => "ENCRYPTED SIGSTORE PRIVATE KEY".to_owned(),
            };
            let times = if random.chance(0.5) { 1 } else { 2 };
            sample.replacen(TAG, &tag, times)
        }
        5..8 => {
            let mut der = der(sample).unwrap_or_default();
            mutate::bytes(random, &mut der);
            pem::encode(&Pem::new(TAG, der))
        }
        _ => changed(random, sample),
    }
}

fn der(text: &str) -> Option<Vec<u8>> {
    Some(pem::parse(text).ok()?.into_contents())
}

fn check(sample: &Sample, text: &str, tally: &mut Tally) -> Result<(), Failure> {
    let key = match PublicKey::from_pem(NAME, text) {
        Ok(key) => key,
        Err(error) => {
            count(tally, "no-key");
            law(text != sample.pem, || "the sample is refused".to_owned())?;
            return check_message(&error, error.remedy());
        }
    };
    count(tally, "key");
    let read = der(text).unwrap_or_default();
    let fingerprint = Digest::of(&read).to_string();
    law(key.name() == NAME && key.fingerprint() == fingerprint, || format!("{key} has the fingerprint {fingerprint}"))?;
    let required = Requirements { keys: vec![key], log: TransparencyLog::Ignored, ..Requirements::default() };
    let policy = Policy::new(required).map_err(|error| Failure(error.to_string()))?;
    let candidate = Candidate { name: NAME, content: Content::Bundle(sample.bundle.as_bytes()) };
    let verified = verify(&policy, DIGEST, &[candidate]);
    law(verified.is_ok() || text != sample.pem, || format!("the sample does not verify its signature: {verified:?}"))?;
    // The same key may be written in more than one way.
    let own = der(sample.pem).unwrap_or_default();
    let end = own.len() - sample.rest;
    let is_same = read.windows(sample.length).any(|window| *window == own[end - sample.length..end]);
    law(verified.is_err() || is_same, || format!("another key verifies the signature: {verified:?}"))
}
