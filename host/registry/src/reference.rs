//! References to what is in a registry: `oci://HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`.
//!
//! Names and tags are those of the [distribution specification], so a reference can be put into a
//! URL as it is.
//!
//! What is absent: defaults. A name without a host means another registry to each tool, and a
//! reference without a tag means `latest`, which nobody wrote.
//!
//! [distribution specification]: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use gyre_core::text::{cut, without_control};

use crate::digest::{self, Digest};

const SCHEME: &str = "oci://";
/// The longest name of a repository with its host: many registries allow no more, as the
/// specification says.
const LONGEST_NAME: usize = 255;
const LONGEST_TAG: usize = 128;
const LONGEST_HOST: usize = 253;
const LONGEST_LABEL: usize = 63;
const LONGEST_QUOTE: usize = 300;

/// Returns whether a text is meant as a reference, and not as the path of a file.
pub fn is_reference(text: &str) -> bool {
    text.starts_with(SCHEME)
}

/// The name of a manifest in a registry: a repository with a tag, a digest or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl Reference {
    /// The host in lower case, with the port if the reference has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path of the repository, without the host.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest of the manifest. If there is one, it decides, and the tag is for people.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The same reference, pinned to a manifest.
    #[must_use]
    pub fn with_digest(self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self }
    }

    /// The same repository with this tag, and without a digest.
    ///
    /// # Errors
    ///
    /// If it is not a valid tag.
    pub fn with_tag(self, tag: &str) -> Result<Self, Error> {
        if !is_tag(tag) {
            return Err(Error::Tag(quoted(tag)));
        }
        Ok(Self { tag: Some(tag.to_owned()), digest: None, ..self })
    }

    /// The part of a URL that names the manifest in its repository.
    pub(crate) fn target(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.clone().unwrap_or_default(),
        }
    }
}

/// An error about the text of a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not begin with `oci://`.
    #[error("{0:?} does not begin with \"oci://\"")]
    Scheme(String),
    /// The host is missing or invalid.
    #[error("{0:?} is not the host of a registry")]
    Host(String),
    /// The repository is missing or invalid.
    #[error("{0:?} is not the name of a repository")]
    Repository(String),
    /// The name is longer than registries allow.
    #[error("the name has {0} bytes with its host, which is more than 255")]
    Length(usize),
    /// The tag is invalid.
    #[error("{0:?} is not a tag")]
    Tag(String),
    /// The digest is invalid.
    #[error("its digest is invalid")]
    Digest(#[from] digest::Error),
    /// It has neither a tag nor a digest.
    #[error("{0:?} has neither a tag nor a digest")]
    Unversioned(String),
}

impl Error {
    /// The remedy, for people.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Scheme(_) | Self::Length(_) => {
                "write it as oci://HOST/REPOSITORY:TAG, e.g. oci://registry.example.com/team/echo:1.4"
            }
            Self::Host(_) => "begin with the host of the registry, e.g. oci://registry.example.com/team/echo:1.4",
            Self::Repository(_) => {
                "use lower-case letters and digits, with single separators between them, e.g. team/echo-plugin"
            }
            Self::Tag(_) => {
                "use at most 128 letters, digits, dots, hyphens and underscores, and begin with a letter, digit or underscore"
            }
            Self::Digest(error) => error.remedy(),
            Self::Unversioned(_) => "add a tag or a digest: gyre does not assume \"latest\"",
        }
    }
}

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let name = text.strip_prefix(SCHEME).ok_or_else(|| Error::Scheme(quoted(text)))?;
        let (registry, path) = name.split_once('/').ok_or_else(|| Error::Repository(String::new()))?;
        if !is_registry(registry) {
            return Err(Error::Host(quoted(registry)));
        }
        let (path, digest) = match path.split_once('@') {
            Some((path, digest)) => (path, Some(digest.parse::<Digest>()?)),
            None => (path, None),
        };
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        if !repository.split('/').all(is_component) {
            return Err(Error::Repository(quoted(repository)));
        }
        let length = registry.len() + 1 + repository.len();
        if length > LONGEST_NAME {
            return Err(Error::Length(length));
        }
        match tag {
            Some(tag) if !is_tag(tag) => return Err(Error::Tag(quoted(tag))),
            None if digest.is_none() => return Err(Error::Unversioned(quoted(text))),
            _ => {}
        }
        Ok(Self {
            registry: registry.to_ascii_lowercase(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

/// The whole reference, with `oci://`.
impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { registry, repository, tag, digest } = self;
        write!(formatter, "{SCHEME}{registry}/{repository}")?;
        if let Some(tag) = tag {
            write!(formatter, ":{tag}")?;
        }
        if let Some(digest) = digest {
            write!(formatter, "@{digest}")?;
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    cut(&without_control(text), LONGEST_QUOTE)
}

/// Returns whether a text is a host, with or without a port.
pub(crate) fn is_registry(text: &str) -> bool {
    let (is_host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address.parse::<Ipv6Addr>().is_ok(), rest),
        None => {
            let (host, port) = text.find(':').and_then(|colon| text.split_at_checked(colon)).unwrap_or((text, ""));
            (is_name(host), port)
        }
    };
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_port(text: &str) -> bool {
    let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain && text.parse::<u16>().is_ok()
}

fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-';
        let is_inside = !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
        is_inside && label.len() <= LONGEST_LABEL && label.bytes().all(is_letter)
    };
    if host.len() > LONGEST_HOST || !host.split('.').all(is_label) {
        return false;
    }
    // URLs read every name whose last label is a number as an address, e.g. `127.1` as 127.0.0.1.
    !ends_in_a_number(host) || host.parse::<Ipv4Addr>().is_ok()
}

fn ends_in_a_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    last.bytes().all(|byte| byte.is_ascii_digit())
        || hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns whether a text is a part of a repository's name.
fn is_component(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let mut separators = text.split(is_plain).filter(|separator| !separator.is_empty());
    text.starts_with(is_plain)
        && text.ends_with(is_plain)
        && separators.all(|separator| matches!(separator, "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-'))
}

fn is_tag(text: &str) -> bool {
    let is_word = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
    let begins_well = text.bytes().next().is_some_and(is_word);
    begins_well && text.len() <= LONGEST_TAG && text.bytes().all(|letter| is_word(letter) || letter == b'.' || letter == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str) -> (String, String, Option<String>, bool) {
        let reference: Reference = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(reference.to_string(), text);
        let tag = reference.tag().map(str::to_owned);
        (reference.registry().to_owned(), reference.repository().to_owned(), tag, reference.digest().is_some())
    }

    #[test]
    fn references_are_taken_apart() {
        let digest = Digest::of(b"");
        for (text, registry, repository, tag, has_digest) in [
            ("oci://registry.example.com/team/echo:1.4".to_owned(), "registry.example.com", "team/echo", Some("1.4"), false),
            (format!("oci://registry.example.com/team/echo@{digest}"), "registry.example.com", "team/echo", None, true),
            (format!("oci://localhost:5000/echo:1.4@{digest}"), "localhost:5000", "echo", Some("1.4"), true),
            ("oci://10.0.0.1:5000/a:b".to_owned(), "10.0.0.1:5000", "a", Some("b"), false),
            ("oci://[fd00::1]:5000/a:b".to_owned(), "[fd00::1]:5000", "a", Some("b"), false),
            ("oci://[::1]/a:b".to_owned(), "[::1]", "a", Some("b"), false),
            ("oci://registry/a/b/c--d_e__f.g:_".to_owned(), "registry", "a/b/c--d_e__f.g", Some("_"), false),
        ] {
            let expected = (registry.to_owned(), repository.to_owned(), tag.map(str::to_owned), has_digest);
            assert_eq!(parts(&text), expected, "{text}");
        }
        let reference: Reference = "oci://Registry.Example.com/a:B".parse().unwrap();
        assert_eq!(reference.to_string(), "oci://registry.example.com/a:B");
    }

    #[test]
    fn each_error_names_its_part() {
        let long = format!("oci://a/{}:1", "b/".repeat(130).trim_end_matches('/'));
        for (text, expected) in [
            ("registry.example.com/a:1", "does not begin with \"oci://\""),
            ("OCI://a/b:1", "does not begin with"),
            ("oci://echo:1.4", "name of a repository"),
            ("oci:///echo:1.4", "host of a registry"),
            ("oci://user@host/echo:1", "host of a registry"),
            ("oci://ho_st/echo:1", "host of a registry"),
            ("oci://-a.b/echo:1", "host of a registry"),
            ("oci://a..b/echo:1", "host of a registry"),
            ("oci://host:/echo:1", "host of a registry"),
            ("oci://host:0/echo:1", "host of a registry"),
            ("oci://host:+1/echo:1", "host of a registry"),
            ("oci://host:65536/echo:1", "host of a registry"),
            ("oci://127.1/echo:1", "host of a registry"),
            ("oci://2130706433/echo:1", "host of a registry"),
            ("oci://0x7f.0x1/echo:1", "host of a registry"),
            ("oci://[::1/echo:1", "host of a registry"),
            ("oci://[::1]5/echo:1", "host of a registry"),
            ("oci://::1/echo:1", "host of a registry"),
            ("oci://host/Echo:1", "name of a repository"),
            ("oci://host//echo:1", "name of a repository"),
            ("oci://host/../echo:1", "name of a repository"),
            ("oci://host/a/:1", "name of a repository"),
            ("oci://host/a___b:1", "name of a repository"),
            ("oci://host/a._b:1", "name of a repository"),
            ("oci://host/a-:1", "name of a repository"),
            ("oci://host/a?b:1", "name of a repository"),
            ("oci://host/:1", "name of a repository"),
            (long.as_str(), "more than 255"),
            ("oci://host/a:", "is not a tag"),
            ("oci://host/a:.b", "is not a tag"),
            ("oci://host/a:b:c", "is not a tag"),
            ("oci://host/a:b/c", "is not a tag"),
            ("oci://host/a@sha256:00", "its digest is invalid"),
            ("oci://host/a", "neither a tag nor a digest"),
        ] {
            let error = text.parse::<Reference>().unwrap_err();
            assert!(error.to_string().contains(expected), "{text}: {error}");
            assert!(!error.remedy().is_empty());
        }
    }

    #[test]
    fn a_new_tag_replaces_the_digest() {
        let reference: Reference = "oci://host/a:1".parse().unwrap();
        let pinned = reference.clone().with_digest(Digest::of(b""));
        assert_eq!(pinned.to_string(), format!("oci://host/a:1@{}", Digest::of(b"")));
        assert_eq!(pinned.with_tag("2").unwrap().to_string(), "oci://host/a:2");
        assert!(matches!(reference.with_tag("a b"), Err(Error::Tag(_))));
    }

    #[test]
    fn a_file_is_not_meant_as_a_reference() {
        assert!(is_reference("oci://host/a"));
        assert!(!is_reference("./oci:/host/a") && !is_reference("echo.wasm") && !is_reference("oci:host/a"));
    }

    proptest! {
        #[test]
        fn a_reference_that_is_read_is_a_part_of_a_url(
            text in "oci://[a-zA-Z0-9.:\\[\\]-]{1,20}/[a-z0-9._/-]{1,20}(:[a-zA-Z0-9._-]{0,10})?(@sha256:[0-9a-f]{64})?"
        ) {
            if let Ok(reference) = text.parse::<Reference>() {
                prop_assert_eq!(reference.to_string().to_lowercase(), text.to_lowercase());
                prop_assert_eq!(reference.to_string().parse(), Ok(reference.clone()));
                let (registry, repository, target) = (reference.registry(), reference.repository(), reference.target());
                let written = format!("https://{registry}/v2/{repository}/manifests/{target}");
                // Names with another alphabet have a spelling of their own, which may be wrong.
                let Ok(url) = reqwest::Url::parse(&written) else { return Ok(()) };
                let expected = format!("/v2/{repository}/manifests/{target}");
                prop_assert_eq!(url.path(), expected.as_str());
                prop_assert_eq!(url.query(), None);
            }
        }

        #[test]
        fn any_text_is_refused_or_read(text in ".{0,80}", scheme in any::<bool>()) {
            let text = if scheme { format!("{SCHEME}{text}") } else { text };
            let _ = text.parse::<Reference>();
        }
    }
}
