//! The arguments about signatures.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use gyre_input::document::Part;
use gyre_input::problem::Problems;
use gyre_signatures::Policy;

use crate::config::keys::{Identity, Log, Verify};
use crate::config::types::{FilePath, Plain};
use crate::config::values::one_of;
use crate::config::verification::Verification;
use crate::plugins::files::Files;

const LOGS: &[(&str, &str, Log)] = &[
    ("required", "signatures by keys need an entry in a log that the trusted root verifies", Log::Required),
    ("ignored", "they need none", Log::Ignored),
];

/// The signatures that are accepted, as in the key `verify` of a configuration.
#[derive(Debug, Args)]
pub(crate) struct SignatureArguments {
    /// Public key (PEM) that may have signed. Can be repeated.
    #[arg(long = "key", value_name = "FILE", required_unless_present = "issuer")]
    keys: Vec<PathBuf>,
    /// Issuer of an identity that may have signed with a certificate of a Sigstore (keyless).
    #[arg(long, value_name = "URL", requires = "subject", requires = "trusted_root")]
    issuer: Option<String>,
    /// Subject of this identity; a * at its end stands for any characters.
    #[arg(long, value_name = "SUBJECT", requires = "issuer")]
    subject: Option<String>,
    /// The trusted_root.json with the authorities and logs of the Sigstore. No server is asked.
    #[arg(long, value_name = "FILE")]
    trusted_root: Option<PathBuf>,
    /// Whether signatures by keys need an entry in a transparency log [default: required with
    /// --trusted-root, else ignored].
    #[arg(long, value_name = "LOG", value_parser = one_of(LOGS))]
    log: Option<Log>,
    /// Annotation that the signature must have. Can be repeated.
    #[arg(long = "annotation", value_name = "NAME=VALUE")]
    annotations: Vec<Annotation>,
}

/// An annotation, as `NAME=VALUE`.
#[derive(Clone, Debug)]
pub(crate) struct Annotation {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Annotation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Self { name: name.to_owned(), value: value.to_owned() }),
            _ => Err("expected a name, = and a value, such as team=a".to_owned()),
        }
    }
}

impl SignatureArguments {
    /// Reads the keys.
    ///
    /// # Errors
    /// If a file cannot be used, or no signature could be accepted.
    pub(crate) fn policy(&self) -> Result<Option<Arc<Policy>>, Problems> {
        let Self { keys, issuer, subject, trusted_root, log, annotations } = self;
        let identity = Identity { issuer: issuer.clone(), subject: subject.clone() };
        let of_flags = Verify {
            keys: Some(keys.iter().cloned().map(FilePath).collect()),
            identities: Some(issuer.iter().map(|_| identity.clone()).collect()),
            trusted_root: trusted_root.clone().map(FilePath),
            log: *log,
            annotations: Some(annotations.iter().map(|one| (one.name.clone(), Some(Plain(one.value.clone())))).collect()),
        };
        let mut problems = Problems::default();
        let verification = Verification::new(of_flags, Part::flag("--key"), &PathBuf::new());
        let policy = verification.policy(&mut Files::default(), &mut problems);
        problems.or(policy)
    }
}
