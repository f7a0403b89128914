//! The record of the generated values of a Secret, in an annotation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::digest::DigestKey;
use super::issuers::{Issuers, State};
use super::request::{Certificate, Generator, HashAlgorithm, Issuer, Request};
use super::validate::Requests;

/// The annotation of Secrets that says which of their values the host made, and for which epoch.
/// It contains no value, and no digest that could be tested without the host's key.
pub const GENERATED_ANNOTATION: &str = "gyre.dev/generated";

/// The record of the generated values of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    values: BTreeMap<String, Entry>,
    /// Identifies the key of digests, of which a cluster has one for each deployment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    digests: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) epoch: Option<u64>,
    /// A digest of what a certificate or a hash was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    /// The key with whose value this one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) with: Option<String>,
}

impl Record {
    /// Reads the annotation; `None` if it is no record.
    pub fn parse(annotation: &str) -> Option<Self> {
        serde_json::from_str(annotation).ok()
    }

    /// The text of the annotation.
    pub fn to_annotation(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The keys of `data` whose values were made.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The [`DigestKey::id`] of the key with which it was written.
    pub fn digests(&self) -> &str {
        &self.digests
    }

    /// Describes these values. `before` is the last record, whose epochs never go back.
    pub fn of(
        requests: &Requests,
        values: &BTreeMap<String, Vec<u8>>,
        issuers: &Issuers,
        before: &Self,
        digests: &DigestKey,
    ) -> Self {
        let mut entries = BTreeMap::new();
        for (key, request) in requests.in_order() {
            let epoch = before.entry(key).and_then(|entry| entry.epoch).unwrap_or(0).max(request.epoch);
            let from = match &request.generate {
                // An issuer that is missing signed nothing, so what was recorded is still true.
                Generator::Certificate(_) => certificate_source(request, values, issuers)
                    .or_else(|| before.entry(key).and_then(|entry| entry.from.clone())),
                Generator::Hash(hash) if hash.algorithm != HashAlgorithm::Sha256 => {
                    values.get(&hash.of).map(|value| digests.source(key, value))
                }
                _ => None,
            };
            entries.insert(key.to_owned(), Entry { epoch: Some(epoch), from, with: None });
            for companion in request.generate.companions() {
                entries.insert(companion.to_owned(), Entry { with: Some(key.to_owned()), ..Entry::default() });
            }
        }
        Self { values: entries, digests: digests.id() }
    }

    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.values.get(key)
    }
}

/// A digest of everything that makes another certificate necessary: its fields, and the certificate
/// of its issuer. When it is renewed is no reason. `None` if the issuer is missing.
pub(super) fn certificate_source(request: &Request, values: &BTreeMap<String, Vec<u8>>, issuers: &Issuers) -> Option<String> {
    let Generator::Certificate(certificate) = &request.generate else { return None };
    let mut hasher = Sha256::new();
    let fields = Certificate { renew_before_seconds: None, ..certificate.clone() };
    hasher.update(serde_json::to_vec(&fields).unwrap_or_default());
    match &certificate.issuer {
        Issuer::Itself => {}
        Issuer::Key(key) => hasher.update(values.get(key)?),
        Issuer::Secret(secret) => match issuers.get(secret)? {
            State::Found { certificate, .. } => hasher.update(certificate),
            State::Missing(_) => return None,
        },
    }
    Some(hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}
