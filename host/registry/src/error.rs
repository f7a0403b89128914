//! The errors of requests to registries.

use std::path::PathBuf;
use std::time::Duration;

use crate::address::Refused;
use crate::cache;
use crate::challenge;
use crate::credentials;
use crate::digest::Digest;
use crate::manifest;
use crate::reference;
use crate::token;

/// Why a request to a registry failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client cannot be made.
    #[error("the client of registries cannot be made")]
    Client(#[source] reqwest::Error),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] tokio_rustls::rustls::Error),
    /// The bundle of certificates cannot be read.
    #[error("the certificates in {} cannot be read: {reason}", .path.display())]
    CaBundle {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A variable of the environment is not the URL of a proxy. The URL may contain a password.
    #[error("{0} is not the URL of a proxy")]
    Proxy(&'static str),
    /// One of the registries over plain HTTP is not the host of a registry.
    #[error("{0:?} is not the host of a registry, with or without a port")]
    Insecure(String),
    /// The reference, or the new tag, is invalid.
    #[error(transparent)]
    Reference(#[from] reference::Error),
    /// The credentials cannot be read.
    #[error(transparent)]
    Credentials(#[from] credentials::Error),
    /// The registry leads to an address that it must not lead to.
    #[error(transparent)]
    Address(#[from] Refused),
    /// The registry leads to a place without TLS.
    #[error("{host} leads to {place}, which has no TLS")]
    PlainHttp {
        /// The registry.
        host: String,
        /// The place.
        place: String,
    },
    /// The registry leads to something that is not the URL of a place.
    #[error("{host} leads to {place:?}, which is not the URL of a place to go to")]
    Place {
        /// The registry.
        host: String,
        /// The text instead of a URL.
        place: String,
    },
    /// The registry redirects too often, or a request that must not be redirected.
    #[error("{host} redirects {what}")]
    Redirects {
        /// The host of the last answer.
        host: String,
        /// The kind of request.
        what: &'static str,
    },
    /// No connection could be made, or it broke off before the answer.
    #[error("{host} cannot be reached")]
    Unreachable {
        /// The host, which may be another one than the registry after a redirect.
        host: String,
        /// Why.
        source: reqwest::Error,
    },
    /// An answer broke off.
    #[error("the answer of {host} broke off")]
    Interrupted {
        /// The host.
        host: String,
        /// Why; `None` if it ended early.
        source: Option<reqwest::Error>,
    },
    /// Nothing happened for the time of a request.
    #[error("{host} did not answer within {} s", .waited.as_secs_f64())]
    Timeout {
        /// The host.
        host: String,
        /// The time.
        waited: Duration,
    },
    /// A transfer was slower than [`bounds::LEAST_RATE`](crate::bounds::LEAST_RATE).
    #[error("{host} sends or takes less than {} KiB per second", crate::bounds::LEAST_RATE >> 10)]
    Slow {
        /// The host.
        host: String,
    },
    /// All requests of a question or a pull together took more than their time.
    #[error("{host} needs more than {} s in all", .longest.as_secs_f64())]
    TooLong {
        /// The registry.
        host: String,
        /// The time.
        longest: Duration,
    },
    /// The registry wants credentials by an invalid challenge.
    #[error("{host} asks for credentials in a way that cannot be read")]
    Challenge {
        /// The registry.
        host: String,
        /// Why.
        source: challenge::Error,
    },
    /// The registry wants credentials by an unknown scheme, or without a realm.
    #[error("{host} asks for credentials by {schemes:?}, and gyre knows basic and bearer with a realm")]
    Scheme {
        /// The registry.
        host: String,
        /// The schemes.
        schemes: Vec<String>,
    },
    /// The answer of a realm is invalid.
    #[error("the answer of {realm} is not a token")]
    Token {
        /// The realm.
        realm: String,
        /// Why.
        source: token::Error,
    },
    /// The registry wants credentials, and there are none for it.
    #[error("{host} wants credentials for {repository}, and {missing}")]
    Anonymous {
        /// The registry.
        host: String,
        /// The repository.
        repository: String,
        /// Why there are none.
        missing: Missing,
    },
    /// The registry does not accept the credentials.
    #[error("{host} does not accept the credentials for {repository}{message}")]
    Unauthorized {
        /// The registry, or the realm.
        host: String,
        /// The repository.
        repository: String,
        /// The text of its answer, after a colon.
        message: String,
    },
    /// The credentials do not allow the request.
    #[error("{host} does not allow this for {repository}{message}")]
    Denied {
        /// The registry, or the realm.
        host: String,
        /// The repository.
        repository: String,
        /// The text of its answer, after a colon.
        message: String,
    },
    /// The manifest, blob or repository does not exist.
    #[error("{what} is not in {host}/{repository}{message}")]
    NotFound {
        /// The registry.
        host: String,
        /// The repository.
        repository: String,
        /// The tag or digest.
        what: String,
        /// The text of its answer, after a colon.
        message: String,
    },
    /// The registry is busy, also after repetitions.
    #[error("{host} is busy: it answers {status}{}", shown_wait(.retry_after))]
    Busy {
        /// The host.
        host: String,
        /// The status.
        status: u16,
        /// When to ask again, if it says so.
        retry_after: Option<Duration>,
    },
    /// Any other status.
    #[error("{host} answers {status} for {what}{message}")]
    Status {
        /// The host.
        host: String,
        /// The status.
        status: u16,
        /// The tag, digest or action.
        what: String,
        /// The text of its answer, after a colon.
        message: String,
    },
    /// An answer is too large.
    #[error("{what} of {host} has more than {limit} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// The kind of content.
        what: &'static str,
        /// The bound in bytes.
        limit: u64,
    },
    /// A blob has another size than its manifest says.
    #[error("{host} sends {found} bytes for {digest}, whose manifest says {expected}")]
    Size {
        /// The host.
        host: String,
        /// The digest.
        digest: Digest,
        /// The size in the manifest.
        expected: u64,
        /// The size that it sends or announces, or a lower bound of it.
        found: u64,
    },
    /// The content has another digest.
    #[error("{host} sends {found} for {expected}")]
    Digest {
        /// The host.
        host: String,
        /// The digest that was asked for, or announced.
        expected: Digest,
        /// The digest of what it sends.
        found: Digest,
    },
    /// The manifest, index or config is invalid.
    #[error("{what} is not accepted")]
    Manifest {
        /// The reference.
        what: String,
        /// Why.
        source: manifest::Error,
    },
    /// A push to a digest that is not the one of the component.
    #[error("the manifest has the digest {found}, and the reference names {expected}")]
    OtherDigest {
        /// The digest in the reference.
        expected: Digest,
        /// The digest of what would be pushed.
        found: Digest,
    },
    /// A component, or something that is attached, is too large to be pushed.
    #[error("{what} has {size} bytes, and gyre pushes 1 to {limit}")]
    Push {
        /// The kind of content.
        what: &'static str,
        /// The size in bytes.
        size: u64,
        /// The bound in bytes.
        limit: u64,
    },
    /// Others change the list of referrers at the same time.
    #[error("the list of referrers of {subject} in {host} is changed by somebody else each time")]
    Referrers {
        /// The registry.
        host: String,
        /// The manifest.
        subject: Digest,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] cache::Error),
}

/// Why there are no credentials for a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no file of credentials.
    File,
    /// No entry of the file is about the registry.
    Entry,
    /// They are in a helper, which gyre does not run.
    Helper(String),
    /// They are for the registry, and it asks for them at another site.
    Realm,
    /// There is only a token, and the registry wants a name and a password.
    Password,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File => formatter.write_str("there is no file of credentials"),
            Self::Entry => formatter.write_str("the file of credentials has none for it"),
            Self::Helper(name) => {
                write!(formatter, "they are in the helper docker-credential-{name}, which gyre does not run")
            }
            Self::Realm => formatter.write_str("those for the registry are not sent to another site"),
            Self::Password => formatter.write_str("the file of credentials has a token for it, but no name and password"),
        }
    }
}

impl Error {
    /// The remedy, for people.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Client(_) | Self::Tls(_) => "check the certificates of the system, and those that are configured",
            Self::Proxy(_) => "write it as http://HOST:PORT",
            Self::CaBundle { .. } => "name a file with certificates in PEM that gyre may read",
            Self::Insecure(_) => "write it as HOST or HOST:PORT, as in references",
            Self::Reference(error) => error.remedy(),
            Self::Credentials(error) => error.remedy(),
            Self::Address(_) => "use a registry whose storage and realm are no more local than itself",
            Self::PlainHttp { .. } => "allow plain HTTP for this host, too, if the network can be trusted",
            Self::Place { .. } | Self::Redirects { .. } | Self::Challenge { .. } | Self::Scheme { .. } | Self::Token { .. } => {
                "check the reference, and that this host is a registry"
            }
            Self::Unreachable { .. } => "check the host, the network, proxies and certificates, and try again",
            Self::Interrupted { .. } | Self::Timeout { .. } | Self::Slow { .. } | Self::TooLong { .. } => {
                "try again, or allow more time for requests to registries"
            }
            Self::Anonymous { missing: Missing::File, .. } => "log in with docker login, or name a file of credentials",
            Self::Anonymous { missing: Missing::Entry | Missing::Password, .. } => {
                "add an entry for this registry to the file of credentials"
            }
            Self::Anonymous { missing: Missing::Helper(_), .. } => {
                "write the credentials themselves into \"auths\" of the file, e.g. by kubectl create secret docker-registry"
            }
            Self::Anonymous { missing: Missing::Realm, .. } => {
                "get a token from this site yourself, and write it into the file of credentials as \"registrytoken\""
            }
            Self::Unauthorized { .. } => "correct the credentials for this registry",
            Self::Denied { .. } => "use credentials that allow it",
            Self::NotFound { .. } => "check the reference; some registries also answer this without credentials",
            Self::Busy { .. } => "try again later, or log in, because many registries limit anonymous requests",
            Self::Status { .. } => "read what the registry says, and check the reference",
            Self::TooLarge { .. } | Self::Size { .. } | Self::Digest { .. } => {
                "do not use what the registry sends; push the component again, or use another registry"
            }
            Self::Manifest { source, .. } => source.remedy(),
            Self::OtherDigest { .. } => "push to a tag, without a digest",
            Self::Push { .. } => "build a smaller component",
            Self::Referrers { .. } => "try again",
            Self::Cache(error) => error.remedy(),
        }
    }

    /// Returns whether the registry is away or busy, so that the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Timeout { .. }
            | Self::Slow { .. }
            | Self::TooLong { .. }
            | Self::Busy { .. }
            | Self::Referrers { .. } => true,
            Self::Status { status, .. } => *status >= 500,
            _ => false,
        }
    }

    /// Returns whether a transfer broke off, so that it is worth another attempt at once.
    pub(crate) fn is_interruption(&self) -> bool {
        match self {
            Self::Interrupted { .. } => true,
            Self::Cache(error) => error.is_of_a_deleted_cache(),
            _ => false,
        }
    }
}

fn shown_wait(retry_after: &Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!(", and to try again in {} s", wait.as_secs()),
        None => String::new(),
    }
}
