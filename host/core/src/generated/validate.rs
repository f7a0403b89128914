//! The requests of one Secret, checked.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::Serialize;
use serde_json::{Map, Value};

use super::request::{Certificate, Generator, HashAlgorithm, Issuer, IssuerSecret, Request};
use super::template::Template;

/// The most values that one parent may ask for, in all its Secrets. More than that are a loop of
/// the plugin: each takes time and entropy of the host.
pub const MOST_VALUES: usize = 256;
/// The most milliseconds that the values of one Secret may take on a slow core: two RSA keys of
/// 4096 bits, or 30 bcrypt hashes. They are made together, because one request writes them.
pub const LARGEST_COST: u64 = 15_000;

const BYTES: std::ops::RangeInclusive<u32> = 1..=1024;
const CHARACTERS: std::ops::RangeInclusive<u32> = 1..=256;
/// An hour is renewed three times in it, so a shorter one would write all the time; 30 years is
/// what the longest-lived roots have.
const LIFETIME: std::ops::RangeInclusive<u64> = 3_600..=30 * 365 * 86_400;
/// The most names of a certificate.
const MOST_NAMES: usize = 100;
/// The limit of the API server for a key of `data`.
const LONGEST_KEY: usize = 253;

/// The requests of one Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Requests {
    by_key: BTreeMap<String, Request>,
    /// The keys, each after those on which its value depends.
    #[serde(skip)]
    order: Vec<String>,
}

impl Requests {
    /// Returns whether the `data` of a Secret asks for a value.
    pub fn are_in(object: &Map<String, Value>) -> bool {
        object.get("kind").is_some_and(|kind| kind == "Secret")
            && object.get("data").and_then(Value::as_object).is_some_and(|data| data.values().any(Value::is_object))
    }

    /// Takes the requests out of the `data` of a Secret. `data` then contains only given values.
    ///
    /// # Errors
    ///
    /// A sentence with the place, the cause and the remedy.
    pub fn take(object: &mut Map<String, Value>) -> Result<Self, String> {
        let Some(Value::Object(data)) = object.get_mut("data") else { return Ok(Self::default()) };
        let keys: Vec<String> = data.iter().filter(|(_, value)| value.is_object()).map(|(key, _)| key.clone()).collect();
        let mut by_key = BTreeMap::new();
        for key in keys {
            let Some(value) = data.remove(&key) else { continue };
            let request: Request =
                serde_json::from_value(value).map_err(|error| format!("data[{key:?}] is no request for a value: {error}"))?;
            check(&request.generate).map_err(|why| format!("data[{key:?}].generate.{}: {why}", request.generate.name()))?;
            by_key.insert(key, request);
        }
        let given: BTreeSet<&str> = data.keys().map(String::as_str).collect();
        check_outputs(&by_key, &given)?;
        check_cost(&by_key)?;
        let order = order(&by_key, &given)?;
        Ok(Self { by_key, order })
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The number of values, with those that are made together with others.
    pub fn len(&self) -> usize {
        self.outputs().count()
    }

    /// The milliseconds that the value of a key may take on a slow core.
    pub(super) fn cost(&self, key: &str) -> u64 {
        self.by_key.get(key).map_or(0, |request| cost(&request.generate))
    }

    /// The request of a key.
    pub fn get(&self, key: &str) -> Option<&Request> {
        self.by_key.get(key)
    }

    /// The requests with their keys, each after those on which its value depends.
    pub fn in_order(&self) -> impl Iterator<Item = (&str, &Request)> {
        self.order.iter().filter_map(|key| self.by_key.get_key_value(key)).map(|(key, request)| (key.as_str(), request))
    }

    /// The keys of `data` that are made, with the key of the request to which each belongs.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_key.iter().flat_map(|(key, request)| {
            std::iter::once((key.as_str(), key.as_str()))
                .chain(request.generate.companions().map(move |other| (other, key.as_str())))
        })
    }

    /// The issuers outside of the Secret.
    pub fn issuers(&self) -> impl Iterator<Item = &IssuerSecret> {
        self.by_key.values().filter_map(|request| match &request.generate {
            Generator::Certificate(Certificate { issuer: Issuer::Secret(secret), .. }) => Some(secret),
            _ => None,
        })
    }
}

fn cost(generator: &Generator) -> u64 {
    match generator {
        Generator::Bytes(_) | Generator::Password(_) | Generator::Text(_) => 1,
        Generator::KeyPair(pair) => pair.algorithm.cost(),
        Generator::Certificate(certificate) => certificate.algorithm.cost() + 5,
        Generator::Hash(hash) => match hash.algorithm {
            HashAlgorithm::Bcrypt => 400,
            HashAlgorithm::ScramSha256 => 20,
            HashAlgorithm::Sha256 => 1,
        },
    }
}

fn check_cost(requests: &BTreeMap<String, Request>) -> Result<(), String> {
    let total: u64 = requests.values().map(|request| cost(&request.generate)).sum();
    if total <= LARGEST_COST {
        return Ok(());
    }
    Err(format!(
        "data asks for values that may take {total} ms to make, and the limit is {LARGEST_COST} ms: ask for fewer RSA keys and bcrypt hashes, or for several Secrets"
    ))
}

fn check(generator: &Generator) -> Result<(), String> {
    match generator {
        Generator::Bytes(bytes) => in_range("length", bytes.length, &BYTES),
        Generator::Password(password) => {
            in_range("length", password.length, &CHARACTERS)?;
            let characters = password.characters();
            let distinct: BTreeSet<char> = characters.chars().collect();
            let is_printable = characters.chars().all(|character| (' '..='~').contains(&character));
            if distinct.len() < 2 || distinct.len() != characters.len() || !is_printable {
                return Err("alphabet must be at least two different printable ASCII characters".to_owned());
            }
            Ok(())
        }
        Generator::KeyPair(_) | Generator::Hash(_) => Ok(()),
        Generator::Certificate(certificate) => check_certificate(certificate),
        Generator::Text(text) => Template::parse(text).map(|_| ()),
    }
}

fn check_certificate(certificate: &Certificate) -> Result<(), String> {
    in_range("lifetimeSeconds", certificate.lifetime_seconds, &LIFETIME)?;
    if certificate.renew_before() > certificate.lifetime_seconds / 2 {
        return Err("renewBeforeSeconds must be at most half of lifetimeSeconds".to_owned());
    }
    let names = certificate.dns_names.len() + certificate.ip_addresses.len();
    if names > MOST_NAMES {
        return Err(format!("it has {names} names, and the limit is {MOST_NAMES}"));
    }
    if certificate.is_ca && certificate.common_name.is_none() {
        return Err("a CA needs a name of its own: give it a commonName".to_owned());
    }
    if names == 0 && certificate.common_name.is_none() {
        return Err("it has no name: give it dnsNames, ipAddresses or a commonName".to_owned());
    }
    if let Some(name) = certificate.dns_names.iter().find(|name| !is_dns_name(name)) {
        return Err(format!("{name:?} in dnsNames is no DNS name"));
    }
    if let Some(address) = certificate.ip_addresses.iter().find(|address| address.parse::<IpAddr>().is_err()) {
        return Err(format!("{address:?} in ipAddresses is no IP address"));
    }
    // The bound of X.520.
    if certificate.common_name.as_deref().is_some_and(|name| name.is_empty() || name.chars().count() > 64) {
        return Err("commonName must have 1 to 64 characters".to_owned());
    }
    Ok(())
}

fn is_dns_name(name: &str) -> bool {
    let name = name.strip_prefix("*.").unwrap_or(name);
    name.len() <= 253 && name.split('.').all(crate::names::is_dns_label)
}

fn in_range<T: PartialOrd + std::fmt::Display>(
    field: &str,
    value: T,
    range: &std::ops::RangeInclusive<T>,
) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("{field} is {value}, and must be from {} to {}", range.start(), range.end()))
}

fn check_outputs(requests: &BTreeMap<String, Request>, given: &BTreeSet<&str>) -> Result<(), String> {
    let mut seen: BTreeSet<&str> = given.clone();
    for (key, request) in requests {
        for output in std::iter::once(key.as_str()).chain(request.generate.companions()) {
            let is_character = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
            if output.is_empty() || output.len() > LONGEST_KEY || !output.chars().all(is_character) {
                return Err(format!(
                    "data[{key:?}] asks for a value under the key {output:?}: use at most {LONGEST_KEY} letters, digits, '-', '_' and '.'"
                ));
            }
            if !seen.insert(output) {
                return Err(format!(
                    "data[{key:?}] asks for a value under the key {output:?}, which is used twice: use different keys"
                ));
            }
        }
    }
    Ok(())
}

/// The keys on which a value depends, of the same Secret.
fn dependencies(request: &Request) -> Vec<&str> {
    match &request.generate {
        Generator::Text(text) => Template::parse(text).map(|template| template.keys().collect()).unwrap_or_default(),
        Generator::Hash(hash) => vec![&hash.of],
        Generator::Certificate(Certificate { issuer: Issuer::Key(key), .. }) => vec![key],
        _ => Vec::new(),
    }
}

/// Returns the keys, each after those on which its value depends.
fn order(requests: &BTreeMap<String, Request>, given: &BTreeSet<&str>) -> Result<Vec<String>, String> {
    let request_of = |output: &str| {
        let is_output =
            |(key, request): &(&String, &Request)| *key == output || request.generate.companions().any(|other| other == output);
        requests.iter().find(is_output).map(|(key, _)| key.as_str())
    };
    for (key, request) in requests {
        for needed in dependencies(request) {
            if !given.contains(needed) && request_of(needed).is_none() {
                return Err(format!("data[{key:?}] needs the key {needed:?}, which the Secret does not have: add it to data"));
            }
        }
        if let Generator::Certificate(Certificate { issuer: Issuer::Key(issuer), .. }) = &request.generate {
            let is_ca = |request: &Request| matches!(&request.generate, Generator::Certificate(issuer) if issuer.is_ca);
            if !requests.get(issuer).is_some_and(is_ca) {
                return Err(format!(
                    "data[{key:?}] is to be signed by {issuer:?}, which is no generated certificate with isCa: true"
                ));
            }
        }
    }
    let mut ordered: Vec<String> = Vec::new();
    while ordered.len() < requests.len() {
        let is_ready = |(key, request): &(&String, &Request)| {
            let is_there = |needed: &str| request_of(needed).is_none_or(|of| ordered.iter().any(|done| done == of));
            !ordered.contains(key) && dependencies(request).into_iter().all(is_there)
        };
        match requests.iter().find(is_ready) {
            Some((key, _)) => ordered.push(key.clone()),
            None => {
                let left: Vec<&str> = requests.keys().filter(|key| !ordered.contains(key)).map(String::as_str).collect();
                return Err(format!("values of data depend on each other in a circle, among {}: remove one", left.join(", ")));
            }
        }
    }
    Ok(ordered)
}
