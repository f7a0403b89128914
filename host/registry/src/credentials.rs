//! Credentials for registries, from a docker `config.json`, which is also the content of a Secret
//! of the type `kubernetes.io/dockerconfigjson`.
//!
//! What is absent: helpers (`credHelpers`, `credsStore`). They are programs, and a host in a
//! cluster runs none. Their names are kept, for the error if a registry does not serve anonymous
//! clients.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use crate::bounds;

/// The host of Docker's registry in references, and its older names in the keys of docker.
const DOCKER: &str = "docker.io";
const NAMES_OF_DOCKER: [&str; 2] = ["index.docker.io", "registry-1.docker.io"];

/// The user that stands for an identity token, by which docker marks it.
const IDENTITY_USER: &str = "<token>";

/// Docker pads base64, other tools do not always.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How to log in to a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    /// Without credentials.
    Anonymous,
    /// With a name and a password.
    Password {
        /// The name of the user.
        user: String,
        /// The password.
        password: String,
    },
    /// With an identity token, for which a realm gives tokens (OAuth2's refresh token).
    Identity(String),
    /// With a token for the registry itself.
    Token(String),
}

/// Without secrets.
impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => formatter.write_str("Anonymous"),
            Self::Password { user, .. } => formatter.debug_struct("Password").field("user", user).finish_non_exhaustive(),
            Self::Identity(_) => formatter.write_str("Identity(…)"),
            Self::Token(_) => formatter.write_str("Token(…)"),
        }
    }
}

/// The credentials of a `config.json`.
#[derive(Clone, Debug, Default)]
pub struct DockerConfig {
    logins: Vec<(Key, Login)>,
    helpers: BTreeMap<String, String>,
    store: Option<String>,
}

/// An error about a `config.json`. None quotes its content.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("the credentials in {} cannot be read", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is too large.
    #[error("the file of credentials has more than {} bytes", bounds::DOCKER_CONFIG)]
    Size,
    /// It is not JSON with the expected fields.
    #[error("the file of credentials is not a docker config.json: line {line}, column {column}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The `auth` of a registry is not `user:password` in base64.
    #[error("the \"auth\" of {0:?} is not a user and a password, in base64 and separated by a colon")]
    Auth(String),
    /// The file has a user without a password, or a password without a user.
    #[error("the entry of {0:?} has only one of \"username\" and \"password\"")]
    Half(String),
    /// A token has letters that a header cannot have.
    #[error("a token among the credentials has letters that a header cannot have")]
    Letters,
}

impl Error {
    /// The remedy, for people.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Read { .. } => "name a file that gyre may read, or mount the Secret with the pull credentials",
            Self::Size | Self::Json { .. } => "write it with docker login, or with kubectl create secret docker-registry",
            Self::Auth(_) | Self::Half(_) | Self::Letters => "correct the entry, or log in again with docker login",
        }
    }
}

#[derive(Deserialize)]
struct Content {
    auths: Option<BTreeMap<String, Entry>>,
    #[serde(rename = "credHelpers")]
    helpers: Option<BTreeMap<String, String>>,
    #[serde(rename = "credsStore")]
    store: Option<String>,
}

#[derive(Default, Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

impl DockerConfig {
    /// Reads a file; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        // One byte more, by which a larger file is noticed.
        file.take(bounds::DOCKER_CONFIG + 1).read_to_end(&mut bytes).map_err(failed)?;
        Self::parse(&bytes).map(Some)
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    ///
    /// If it is not a `config.json`, or an entry of it is invalid.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() as u64 > bounds::DOCKER_CONFIG {
            return Err(Error::Size);
        }
        let content: Content =
            serde_json::from_slice(bytes).map_err(|error| Error::Json { line: error.line(), column: error.column() })?;
        let mut logins = Vec::new();
        for (name, entry) in content.auths.unwrap_or_default() {
            if let Some(login) = entry.login(&name)? {
                logins.push((Key::new(&name), login));
            }
        }
        let helpers = content.helpers.unwrap_or_default().into_iter();
        let helpers = helpers.map(|(name, helper)| (Key::new(&name).host, helper)).collect();
        Ok(Self { logins, helpers, store: content.store.filter(|store| !store.is_empty()) })
    }

    /// The login for a repository: of the entries that match, the one with the longest path.
    pub fn login(&self, registry: &str, repository: &str) -> Login {
        let names = names_of(registry);
        let matching = self.logins.iter().filter(|(key, _)| names.iter().any(|name| key.covers(name, repository)));
        let best = matching.max_by_key(|(key, _)| (!key.is_pattern(), key.path.len()));
        best.map_or(Login::Anonymous, |(_, login)| login.clone())
    }

    /// The program that has the credentials of a registry, which gyre does not run.
    pub fn helper(&self, registry: &str) -> Option<&str> {
        let names = names_of(registry);
        let of_registry = names.iter().find_map(|name| self.helpers.get(*name));
        of_registry.or(self.store.as_ref()).map(String::as_str)
    }
}

impl Entry {
    /// The login of an entry; `None` if it has no credentials, as with a helper.
    fn login(self, name: &str) -> Result<Option<Login>, Error> {
        let is_given = |text: &String| !text.is_empty();
        if let Some(token) = self.registrytoken.filter(is_given) {
            return Ok(Some(Login::Token(token)));
        }
        if let Some(token) = self.identitytoken.filter(is_given) {
            return Ok(Some(Login::Identity(token)));
        }
        let shown = || gyre_core::text::cut(&gyre_core::text::without_control(name), 200);
        let (user, password) = match (self.username.filter(is_given), self.password.filter(is_given)) {
            (Some(user), Some(password)) => (user, password),
            // With both, as kubectl writes them, they say the same.
            (user, password) => match self.auth.filter(is_given) {
                Some(auth) => decoded(&auth).ok_or_else(|| Error::Auth(shown()))?,
                None if user.is_some() || password.is_some() => return Err(Error::Half(shown())),
                None => return Ok(None),
            },
        };
        let is_identity = user == IDENTITY_USER;
        Ok(Some(if is_identity { Login::Identity(password) } else { Login::Password { user, password } }))
    }
}

/// The user and the password in an `auth`.
fn decoded(auth: &str) -> Option<(String, String)> {
    let text = String::from_utf8(BASE64.decode(auth.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    // Docker ends the password at a null byte.
    let password = password.trim_end_matches('\0');
    (!user.is_empty()).then(|| (user.to_owned(), password.to_owned()))
}

/// The names of a registry in a `config.json`.
fn names_of(registry: &str) -> Vec<&str> {
    let without_port = registry.strip_suffix(":443").unwrap_or(registry);
    let mut names = vec![without_port];
    if without_port == DOCKER || NAMES_OF_DOCKER.contains(&without_port) {
        names.push(DOCKER);
        names.extend(NAMES_OF_DOCKER);
    }
    names
}

/// The key of an entry: a host, with or without a port and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    /// In lower case, without the default port. A label may contain `*`, as Kubernetes allows.
    host: String,
    path: String,
}

impl Key {
    fn new(name: &str) -> Self {
        let name = name.split_once("://").map_or(name, |(_, rest)| rest);
        let (host, path) = name.split_once('/').unwrap_or((name, ""));
        let path = path.trim_matches('/');
        // Docker wrote the version of the API behind the host.
        let path = if path == "v1" || path == "v2" { "" } else { path };
        let host = host.to_ascii_lowercase();
        Self { host: host.strip_suffix(":443").unwrap_or(&host).to_owned(), path: path.to_owned() }
    }

    fn is_pattern(&self) -> bool {
        self.host.contains('*')
    }

    fn covers(&self, registry: &str, repository: &str) -> bool {
        let is_path = self.path.is_empty()
            || repository == self.path
            || repository.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'));
        is_path && (self.host == registry || self.is_pattern() && matches(&self.host, registry))
    }
}

/// Compares label by label, so that `*` stands for no dot.
fn matches(pattern: &str, registry: &str) -> bool {
    let (mut patterns, mut labels) = (pattern.split('.'), registry.split('.'));
    loop {
        match (patterns.next(), labels.next()) {
            (None, None) => return true,
            (Some(pattern), Some(label)) if matches_label(pattern, label) => {}
            _ => return false,
        }
    }
}

fn matches_label(pattern: &str, label: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = label.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut is_exact = true;
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        is_exact = false;
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    !is_exact || rest.is_empty()
}

#[cfg(test)]
mod tests;
