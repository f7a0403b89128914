//! Decides which values of a Secret are kept and which are made.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::digest::DigestKey;
use super::issuers::{Issuers, State};
use super::record::{GENERATED_ANNOTATION, Record, certificate_source};
use super::request::{Certificate, Generator, HashAlgorithm, Issuer, Request};
use super::template::Template;
use super::validate::Requests;

/// Reads values, for which a library is needed. It must depend on its arguments alone.
pub trait Inspect {
    /// The facts of a certificate in PEM; `None` if it is none.
    fn certificate(&self, pem: &[u8]) -> Option<CertificateFacts>;
    /// Returns whether a value has this hash.
    fn matches(&self, algorithm: HashAlgorithm, hash: &[u8], value: &[u8]) -> bool;
}

/// The facts of a certificate, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// The beginning of its validity.
    pub not_before: i64,
    /// The end of its validity.
    pub not_after: i64,
}

/// A Secret as it is.
#[derive(Clone, Default)]
pub struct Live {
    values: BTreeMap<String, Vec<u8>>,
    record: Record,
}

impl Live {
    /// Reads a Secret. A value that is not base64 is no value.
    pub fn of(secret: &Value) -> Self {
        let data = secret.get("data").and_then(Value::as_object);
        let decode = |(key, value): (&String, &Value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?));
        let annotations = secret.get("metadata").and_then(|metadata| metadata.get("annotations"));
        let annotation = annotations.and_then(|annotations| annotations.get(GENERATED_ANNOTATION)?.as_str());
        Self {
            values: data.into_iter().flatten().filter_map(decode).collect(),
            record: annotation.and_then(Record::parse).unwrap_or_default(),
        }
    }

    /// The values, by their keys.
    pub fn values(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.values
    }

    /// The record.
    pub fn record(&self) -> &Record {
        &self.record
    }
}

/// Whether a new certificate has a new private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The private key that is there is kept.
    PrivateKey,
    /// Everything is new.
    Nothing,
}

/// The decision about the values of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// They stay as they are.
    Keep,
    /// They are made.
    Make(Reuse),
    /// The value stays, and its companion, which follows from it, is made.
    Complete,
    /// They cannot be made now; the text says why.
    Impossible(String),
}

/// The decision about one Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The decision about each request, by its key.
    pub actions: BTreeMap<String, Action>,
    /// Whether the Secret must be written, for the values or for the record.
    pub is_needed: bool,
    /// The time of the next decision, in seconds since 1970.
    pub due: Option<i64>,
}

impl Decision {
    /// The milliseconds that the values to make may take on a slow core.
    pub fn cost(&self, requests: &Requests) -> u64 {
        let made = self.actions.iter().filter(|(_, action)| matches!(action, Action::Make(_)));
        made.map(|(key, _)| requests.cost(key)).sum()
    }

    /// The first value that cannot be made, with the reason.
    pub fn impossible(&self) -> Option<(&str, &str)> {
        self.actions.iter().find_map(|(key, action)| match action {
            Action::Impossible(why) => Some((key.as_str(), why.as_str())),
            _ => None,
        })
    }
}

/// Decides about the values of a Secret.
///
/// # Guarantees
///
/// - A value that exists is kept, also one that a person wrote, unless the request has a higher
///   epoch than the one that is recorded. Without a record it is kept, too: it was restored or
///   adopted.
/// - A value that is missing is made.
/// - Texts and hashes follow from the values that they are made of.
/// - A certificate is made again if its fields or its issuer change, and before its end, if that
///   makes it valid for longer.
/// - After a decision is carried out, nothing is needed until it is due.
///
/// `given` are the values that the plugin gives. Without `digests`, hashes are compared with their
/// sources instead of the record.
pub fn decide(
    requests: &Requests,
    live: &Live,
    given: &BTreeMap<String, Vec<u8>>,
    issuers: &Issuers,
    digests: Option<&DigestKey>,
    inspect: &dyn Inspect,
    now: i64,
) -> Decision {
    // Values as they will be, as far as they are known: what is made is not among them.
    let mut known: BTreeMap<String, Vec<u8>> = given.clone();
    let mut made: BTreeSet<&str> = BTreeSet::new();
    let mut decision = Decision::default();
    let given_keys: BTreeSet<&str> = given.keys().map(String::as_str).collect();
    for (key, request) in requests.in_order() {
        let view = View { key, request, live, known: &known, made: &made, issuers, digests, inspect, now };
        let (action, due) = view.decide();
        if matches!(action, Action::Keep | Action::Complete) {
            let outputs = std::iter::once(key).chain(request.generate.companions());
            known.extend(
                outputs.filter_map(|output| live.values.get_key_value(output)).map(|(key, value)| (key.clone(), value.clone())),
            );
        } else {
            made.extend(
                std::iter::once(key).chain(request.generate.companions()).filter(|output| !given_keys.contains(output)),
            );
        }
        decision.due = [decision.due, due].into_iter().flatten().min();
        decision.is_needed |= matches!(action, Action::Make(_) | Action::Complete);
        decision.actions.insert(key.to_owned(), action);
    }
    decision.is_needed |= !is_recorded(requests, live, &known, issuers, digests);
    decision
}

/// Returns whether the record says what the next one will say.
fn is_recorded(
    requests: &Requests,
    live: &Live,
    known: &BTreeMap<String, Vec<u8>>,
    issuers: &Issuers,
    digests: Option<&DigestKey>,
) -> bool {
    match digests {
        Some(digests) => Record::of(requests, known, issuers, &live.record, digests) == live.record,
        // Only the sources of hashes need the key.
        None => requests.outputs().map(|(output, _)| output).collect::<BTreeSet<_>>().into_iter().eq(live.record.keys()),
    }
}

struct View<'a> {
    key: &'a str,
    request: &'a Request,
    live: &'a Live,
    known: &'a BTreeMap<String, Vec<u8>>,
    made: &'a BTreeSet<&'a str>,
    issuers: &'a Issuers,
    digests: Option<&'a DigestKey>,
    inspect: &'a dyn Inspect,
    now: i64,
}

impl View<'_> {
    fn decide(&self) -> (Action, Option<i64>) {
        match &self.request.generate {
            Generator::Text(text) => (self.text(text), None),
            Generator::Hash(hash) => (self.hash(&hash.of, hash.algorithm), None),
            Generator::Certificate(certificate) => self.certificate(certificate),
            Generator::Bytes(_) | Generator::Password(_) | Generator::KeyPair(_) => {
                let is_complete = self.request.generate.companions().all(|companion| self.live.values.contains_key(companion));
                let action = match self.value() {
                    None => Action::Make(Reuse::Nothing),
                    Some(_) if self.is_of_a_lower_epoch() => Action::Make(Reuse::Nothing),
                    Some(_) if !is_complete => Action::Complete,
                    Some(_) => Action::Keep,
                };
                (action, None)
            }
        }
    }

    fn value(&self) -> Option<&Vec<u8>> {
        self.live.values.get(self.key)
    }

    /// A value without a record was restored or adopted, and counts as of this epoch.
    fn is_of_a_lower_epoch(&self) -> bool {
        self.live.record.entry(self.key).and_then(|entry| entry.epoch).is_some_and(|epoch| epoch < self.request.epoch)
    }

    fn text(&self, text: &str) -> Action {
        let filled = Template::parse(text).ok().and_then(|template| template.fill(self.known));
        if filled.is_some() && filled.as_ref() == self.value() { Action::Keep } else { Action::Make(Reuse::Nothing) }
    }

    fn hash(&self, of: &str, algorithm: HashAlgorithm) -> Action {
        let (Some(source), Some(hash)) = (self.known.get(of), self.value()) else { return Action::Make(Reuse::Nothing) };
        let recorded = self.live.record.entry(self.key).and_then(|entry| entry.from.as_deref());
        let is_right = match algorithm {
            HashAlgorithm::Sha256 => hash.as_slice() == sha256(source).as_bytes(),
            _ if self.is_of_a_lower_epoch() => false,
            // A recorded source spares the comparison, which is slow by design.
            _ => match self.digests.map(|digests| digests.source(self.key, source)) {
                Some(digest) if recorded == Some(digest.as_str()) => true,
                _ => self.inspect.matches(algorithm, hash, source),
            },
        };
        if is_right { Action::Keep } else { Action::Make(Reuse::Nothing) }
    }

    fn certificate(&self, certificate: &Certificate) -> (Action, Option<i64>) {
        let limit = match self.issuer_ends(&certificate.issuer) {
            Ok(limit) => limit,
            Err(why) => return (self.without_issuer(certificate, why), None),
        };
        let is_there = self.request.generate.companions().all(|companion| self.live.values.contains_key(companion));
        let new_epoch = self.is_of_a_lower_epoch();
        let lifetime = i64::try_from(certificate.lifetime_seconds).unwrap_or(i64::MAX);
        let next_end = limit.map_or(self.now.saturating_add(lifetime), |limit| limit.min(self.now.saturating_add(lifetime)));
        let issue = || {
            if next_end <= self.now {
                return Action::Impossible("the certificate of its issuer has ended: renew that first".to_owned());
            }
            // Certificates that a CA has signed stay valid if it keeps its key.
            let keeps = certificate.is_ca && !new_epoch && self.live.values.contains_key(&certificate.private_key);
            Action::Make(if keeps { Reuse::PrivateKey } else { Reuse::Nothing })
        };
        let Some(value) = self.value().filter(|_| is_there && !new_epoch) else {
            return (issue(), self.renewal_after(certificate, next_end));
        };
        let recorded = self.live.record.entry(self.key).and_then(|entry| entry.from.as_deref());
        let is_of_new_issuer = matches!(&certificate.issuer, Issuer::Key(key) if self.made.contains(key.as_str()));
        let source = certificate_source(self.request, self.known, self.issuers);
        // Without a record, it was restored or adopted.
        let is_another = recorded.is_some() && recorded != source.as_deref();
        if is_of_new_issuer || is_another {
            return (issue(), self.renewal_after(certificate, next_end));
        }
        // Nobody knows when something else ends.
        let Some(facts) = self.inspect.certificate(value) else { return (Action::Keep, None) };
        let renew_at = renewal(certificate, facts);
        // A certificate that ends with its issuer gains nothing by a renewal.
        let gains = next_end > facts.not_after.saturating_add(lifetime / 20);
        match (renew_at <= self.now, gains) {
            (false, _) => (Action::Keep, Some(renew_at)),
            (true, true) => (issue(), self.renewal_after(certificate, next_end)),
            (true, false) => (Action::Keep, None),
        }
    }

    /// The time at which a certificate that is made now will be renewed.
    fn renewal_after(&self, certificate: &Certificate, end: i64) -> Option<i64> {
        Some(renewal(certificate, CertificateFacts { not_before: self.now, not_after: end })).filter(|at| *at > self.now)
    }

    /// The end of the issuer's certificate, if it is another.
    fn issuer_ends(&self, issuer: &Issuer) -> Result<Option<i64>, String> {
        match issuer {
            Issuer::Itself => Ok(None),
            // One that is made now has not ended; the certificate is bounded by it when it is made.
            Issuer::Key(key) => {
                Ok(self.known.get(key).and_then(|pem| self.inspect.certificate(pem)).map(|facts| facts.not_after))
            }
            Issuer::Secret(secret) => match self.issuers.get(secret) {
                Some(State::Found { certificate, .. }) => match self.inspect.certificate(certificate) {
                    Some(facts) => Ok(Some(facts.not_after)),
                    None => Err(format!("the key {:?} of the Secret {:?} is no certificate", secret.certificate, secret.name)),
                },
                Some(State::Missing(why)) => Err(why.clone()),
                None => Err(format!("the Secret {:?} was not read", secret.name)),
            },
        }
    }

    /// A certificate that exists is kept if its issuer is missing.
    fn without_issuer(&self, certificate: &Certificate, why: String) -> Action {
        let is_there = self.live.values.contains_key(&certificate.private_key) && self.value().is_some();
        if is_there { Action::Keep } else { Action::Impossible(why) }
    }
}

/// The time at which a certificate is renewed. One that ends with its issuer may be shorter than
/// its lifetime.
fn renewal(certificate: &Certificate, facts: CertificateFacts) -> i64 {
    let before = i64::try_from(certificate.renew_before()).unwrap_or(i64::MAX);
    let half = facts.not_after.saturating_sub(facts.not_before) / 2;
    facts.not_after.saturating_sub(before.min(half))
}

/// The SHA-256 of a value in hexadecimal digits.
fn sha256(value: &[u8]) -> String {
    Sha256::digest(value).iter().map(|byte| format!("{byte:02x}")).collect()
}
