//! The requirements of a signature.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sigstore_verify::Verifier;
use sigstore_verify::trust_root::TrustedRoot;

use crate::keys::PublicKey;
use crate::provider;
use crate::refusal::brief;

/// Errors of requirements that no signature could fulfil, or that would mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither a key nor an identity is given.
    #[error("signatures are required, but no key and no identity that may sign")]
    Nobody,
    /// Entries in a log are required, and no trusted root is given.
    #[error("entries in a transparency log are required, but without a trusted root none can be verified")]
    LogWithoutRoot,
    /// An identity is given, and no trusted root.
    #[error("keyless signatures of {0} are accepted, but without a trusted root none can be verified")]
    IdentityWithoutRoot(String),
    /// The trusted root cannot be used.
    #[error("the trusted root cannot be used: {0}")]
    Root(String),
    /// An identity is empty, or has a pattern that is not supported.
    #[error("the identity {subject:?} of {issuer:?} cannot be accepted: {why}")]
    Identity {
        /// The issuer.
        issuer: String,
        /// The subject.
        subject: String,
        /// The reason.
        why: &'static str,
    },
}

impl Error {
    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Nobody => "name a public key, or the issuer and subject of keyless signatures",
            Self::LogWithoutRoot => "name the trusted_root.json of the Sigstore that has the log, or set log: ignored",
            Self::IdentityWithoutRoot(_) => "name the trusted_root.json of the Sigstore that issues its certificates",
            Self::Root(_) => "get it from your Sigstore again, e.g. with cosign trusted-root create",
            Self::Identity { .. } => {
                "write the issuer and the subject as in the certificate; only a subject may end with *, \
                 after the part that is fixed"
            }
        }
    }
}

/// Whether signatures by keys need an entry in a transparency log. Keyless signatures always do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Log {
    /// They need one, which the trusted root verifies.
    #[default]
    Required,
    /// They need none, and entries that they have are not read.
    Ignored,
}

/// An identity whose keyless signatures are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    issuer: String,
    subject: String,
}

impl Identity {
    /// The issuer must be the one in the certificate, and so must the subject. A subject that ends
    /// with `*` accepts all subjects that begin with the part before, e.g. a workflow for all tags:
    /// `https://forge.example.com/team/echo/.github/workflows/release.yml@refs/tags/*`.
    ///
    /// # Errors
    ///
    /// If a part is empty, or has `*` elsewhere: a pattern that accepts more than it seems to is
    /// worse than none.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Result<Self, Error> {
        let (issuer, subject) = (issuer.into(), subject.into());
        let fixed = subject.strip_suffix('*').unwrap_or(&subject);
        let why = if issuer.is_empty() || fixed.is_empty() {
            "a part of it is empty"
        } else if issuer.contains('*') || fixed.contains('*') {
            "* is supported only at the end of the subject"
        } else {
            return Ok(Self { issuer, subject });
        };
        Err(Error::Identity { issuer, subject, why })
    }

    pub(crate) fn accepts(&self, issuer: &str, subject: &str) -> bool {
        let accepts_subject = match self.subject.strip_suffix('*') {
            Some(fixed) => subject.starts_with(fixed),
            None => subject == self.subject,
        };
        issuer == self.issuer && accepts_subject
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.subject, self.issuer)
    }
}

/// The requirements as they are configured. A signature must be by one of the keys or identities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The accepted keys.
    pub keys: Vec<PublicKey>,
    /// The accepted identities of keyless signatures.
    pub identities: Vec<Identity>,
    /// The `trusted_root.json` that verifies certificates and logs.
    pub trusted_root: Option<String>,
    /// Whether signatures by keys need an entry in a log.
    pub log: Log,
    /// Annotations that must be signed, with their values.
    pub annotations: BTreeMap<String, String>,
}

/// Requirements that can be fulfilled. A clone is cheap.
#[derive(Clone)]
pub struct Policy {
    required: Arc<Requirements>,
    /// Present if identities or a log are required.
    verifier: Option<Arc<Verifier>>,
}

impl Policy {
    /// Reads the trusted root.
    ///
    /// # Errors
    ///
    /// If no signature could fulfil the requirements, or the trusted root cannot be used.
    pub fn new(required: Requirements) -> Result<Self, Error> {
        provider::install();
        let Requirements { keys, identities, trusted_root, log, .. } = &required;
        if keys.is_empty() && identities.is_empty() {
            return Err(Error::Nobody);
        }
        let verifier = match (trusted_root, identities.first()) {
            (Some(root), _) => Some(Arc::new(verifier(root, &required)?)),
            (None, Some(identity)) => return Err(Error::IdentityWithoutRoot(identity.to_string())),
            (None, None) if *log == Log::Required => return Err(Error::LogWithoutRoot),
            (None, None) => None,
        };
        Ok(Self { required: Arc::new(required), verifier })
    }

    /// The requirements as they were given.
    pub fn required(&self) -> &Requirements {
        &self.required
    }

    /// `None` only if neither a log nor certificates are to be verified.
    pub(crate) fn verifier(&self) -> Option<&Verifier> {
        self.verifier.as_deref()
    }
}

/// The keys and identities whose signatures are accepted.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Requirements { keys, identities, .. } = self.required();
        let keys = keys.iter().map(|key| format!("the key {key}"));
        let accepted: Vec<String> = keys.chain(identities.iter().map(Identity::to_string)).collect();
        f.write_str(&accepted.join(" or "))
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("required", &self.required).finish_non_exhaustive()
    }
}

fn verifier(root: &str, required: &Requirements) -> Result<Verifier, Error> {
    let unusable = |why: &dyn fmt::Display| Error::Root(brief(why));
    let root = TrustedRoot::from_json(root).map_err(|error| unusable(&error))?;
    let is_keyless = !required.identities.is_empty();
    if root.tlogs.is_empty() && (is_keyless || required.log == Log::Required) {
        return Err(unusable(&"it has no transparency log"));
    }
    if root.certificate_authorities.is_empty() && is_keyless {
        return Err(unusable(&"it has no certificate authority, which keyless signatures need"));
    }
    if root.ctlogs.is_empty() && is_keyless {
        return Err(unusable(&"it has no log of certificates, which keyless signatures need"));
    }
    Verifier::new(&root).map_err(|error| unusable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = include_str!("../tests/fixtures/virtual/trusted_root.json");

    fn key() -> PublicKey {
        PublicKey::from_pem("team.pub", include_str!("../tests/fixtures/virtual/team.pub")).unwrap()
    }

    fn identity() -> Identity {
        Identity::new("https://token.example.com", "https://forge.example.com/team/*").unwrap()
    }

    fn error(required: Requirements) -> String {
        let error = Policy::new(required).unwrap_err();
        format!("{error}; {}", error.remedy())
    }

    #[test]
    fn requirements_that_nothing_fulfils_are_refused() {
        let root = || Some(ROOT.to_owned());
        let by_key = || Requirements { keys: vec![key()], ..Requirements::default() };
        let keyless = || Requirements { identities: vec![identity()], ..Requirements::default() };
        assert!(error(Requirements { trusted_root: root(), ..Requirements::default() }).contains("no key and no identity"));
        assert!(error(by_key()).contains("without a trusted root none can be verified; name the trusted_root.json"));
        let without = error(Requirements { log: Log::Ignored, ..keyless() });
        assert!(without.starts_with("keyless signatures of https://forge.example.com/team/* of https://token.example.com"));
        for broken in ["", "{}", "[]"] {
            let error = error(Requirements { trusted_root: Some(broken.to_owned()), ..by_key() });
            assert!(error.starts_with("the trusted root cannot be used: "), "{error}");
        }
        for (without, expected) in [
            ("tlogs", "it has no transparency log"),
            ("certificateAuthorities", "it has no certificate authority"),
            ("ctlogs", "it has no log of certificates"),
        ] {
            let mut root: serde_json::Value = serde_json::from_str(ROOT).unwrap();
            root.as_object_mut().unwrap().remove(without);
            let error = error(Requirements { trusted_root: Some(root.to_string()), ..keyless() });
            assert!(error.contains(expected), "{error}");
        }
        for required in [
            Requirements { log: Log::Ignored, ..by_key() },
            Requirements { trusted_root: root(), ..by_key() },
            Requirements { trusted_root: root(), ..keyless() },
        ] {
            Policy::new(required).unwrap();
        }
    }

    #[test]
    fn a_subject_may_have_a_free_end_and_nothing_else() {
        let exact = Identity::new("i", "release.yml@refs/tags/v1").unwrap();
        assert!(exact.accepts("i", "release.yml@refs/tags/v1"));
        assert!(!exact.accepts("i", "release.yml@refs/tags/v10") && !exact.accepts("other", "release.yml@refs/tags/v1"));
        let tags = Identity::new("i", "release.yml@refs/tags/*").unwrap();
        assert!(tags.accepts("i", "release.yml@refs/tags/v1") && !tags.accepts("i", "release.yml@refs/heads/main"));
        for (issuer, subject) in [("", "s"), ("i", ""), ("i", "*"), ("i*", "s"), ("i", "*s"), ("i", "s**")] {
            let error = Identity::new(issuer, subject).unwrap_err();
            assert!(matches!(error, Error::Identity { .. }), "{issuer} {subject}");
        }
    }
}
