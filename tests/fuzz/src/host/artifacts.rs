//! Artifacts as registries, their realms and tenants send them, and the files about them: each is
//! refused, or keeps the rules of the crate that reads it.
//!
//! ```text
//! case ─┬─ names        (references, digests)
//!       ├─ documents    (manifests, indexes, configs)
//!       ├─ credentials  (config.json of docker, tokens, challenges)
//!       ├─ signatures   (bundles, the older form of cosign)
//!       ├─ keys         (public keys in PEM)
//!       ├─ cache        (its files, damaged)
//!       └─ session      (a client of a registry that lies)
//!             └─ documents, cache, session: written ◀── exchange (the other side of all connections)
//! ```

mod cache;
mod credentials;
mod documents;
mod exchange;
mod keys;
mod names;
mod session;
mod signatures;
mod written;

use std::error::Error;

use gyre_core::text::error_chain;
use gyre_devcluster::random::Random;
use serde_json::Value;

use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, law, shown};

/// The maximum length of the error for something that is refused.
const PROBLEM: usize = 8 << 10;

pub(crate) fn run(seed: u64, log: &mut dyn Log) -> Result<Tally, Failure> {
    let mut random = Random::new(seed);
    let mut tally = Tally::new();
    match random.below(20) {
        0..4 => names::run(&mut random, log, &mut tally),
        4..8 => documents::run(&mut random, log, &mut tally),
        8..12 => credentials::run(&mut random, log, &mut tally),
        12..15 => signatures::run(&mut random, log, &mut tally),
        15 => keys::run(&mut random, log, &mut tally),
        16..18 => cache::run(&mut random, log, &mut tally),
        _ => session::run(&mut random, log, &mut tally),
    }?;
    Ok(tally)
}

/// Checks that an error is one short line, and has a remedy.
fn check_message(error: &(dyn Error + 'static), remedy: &str) -> Result<(), Failure> {
    law(!remedy.is_empty(), || format!("there is no remedy for {error}"))?;
    check_line(&error_chain(error))
}

fn check_line(text: &str) -> Result<(), Failure> {
    law((1..=PROBLEM).contains(&text.len()), || format!("an error has {} bytes: {}", text.len(), shown(text)))?;
    law(!text.contains(char::is_control), || format!("control characters in {text:?}"))
}

/// Returns a text with some of its bytes changed.
fn changed(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    mutate::bytes(random, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a JSON document with some of its values and bytes changed. `special` draws values that
/// mean something in such a document.
fn mutated(random: &mut Random, sample: &[u8], special: impl Fn(&mut Random) -> Value) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    if let Ok(mut value) = serde_json::from_slice::<Value>(sample)
        && random.chance(0.85)
    {
        if random.chance(0.7) {
            let new = special(random);
            replace(random, &mut value, new);
        }
        if random.chance(0.6) {
            mutate::structure(random, &mut value);
        }
        let odd = random.chance(0.1);
        bytes = if random.chance(0.5) {
            mutate::spelled(random, &value, odd).into_bytes()
        } else {
            mutate::json_text(random, &value)
        };
    }
    if random.chance(0.25) {
        mutate::bytes(random, &mut bytes);
    }
    bytes
}

/// Replaces a value somewhere in a document.
fn replace(random: &mut Random, document: &mut Value, new: Value) {
    let mut found = Vec::new();
    pointers(document, "", &mut found);
    if found.is_empty() {
        return;
    }
    let pointer = random.pick(&found);
    if let Some(place) = document.pointer_mut(pointer) {
        *place = new;
    }
}

/// Collects the pointers to all values within a document.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, inner)| (key.replace('~', "~0").replace('/', "~1"), inner)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, inner)| (index.to_string(), inner)).collect(),
        _ => Vec::new(),
    };
    for (key, inner) in members {
        let pointer = format!("{at}/{key}");
        pointers(inner, &pointer, found);
        found.push(pointer);
    }
}

/// Returns a failure with the input that it is about.
fn about(failure: &Failure, input: &[u8]) -> Failure {
    Failure(format!("{failure}\n  {}", shown(&String::from_utf8_lossy(input))))
}
