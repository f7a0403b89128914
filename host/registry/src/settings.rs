//! The settings of the clients of registries.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::bounds;

/// The default of [`Settings::timeout`].
const TIMEOUT: Duration = Duration::from_secs(30);

/// The settings of the clients of registries.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A docker `config.json`. `None` means the file in `$DOCKER_CONFIG`, or else in `~/.docker`,
    /// which need not exist.
    ///
    /// The file is read for each login, so a new one counts without a restart.
    pub credentials: Option<PathBuf>,
    /// Certificates of authorities in PEM, which are trusted beside the ones of the system.
    pub ca_bundle: Option<PathBuf>,
    /// The registries, each as `HOST[:PORT]`, that are used over plain HTTP.
    pub insecure: BTreeSet<String>,
    /// The time that a request may take without any progress.
    pub timeout: Duration,
    /// The longest time of a question, with all requests that it takes.
    #[doc(hidden)]
    pub question: Duration,
    /// The longest time of a pull.
    #[doc(hidden)]
    pub transfer: Duration,
    /// The environment of the process.
    pub environment: Environment,
    /// The length of a second of `Retry-After`, of backoff, and of the validity of tokens.
    #[doc(hidden)]
    pub second: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            credentials: None,
            ca_bundle: None,
            insecure: BTreeSet::new(),
            timeout: TIMEOUT,
            question: bounds::QUESTION,
            transfer: bounds::TRANSFER,
            environment: Environment::of_process(),
            second: Duration::from_secs(1),
        }
    }
}

impl Settings {
    /// The file of credentials that may be absent.
    pub(crate) fn default_credentials(&self) -> Option<PathBuf> {
        let Environment { docker_config, home, .. } = &self.environment;
        let folder = docker_config.clone().or_else(|| home.as_ref().map(|home| home.join(".docker")));
        folder.map(|folder| folder.join("config.json"))
    }
}

/// The environment variables that concern registries.
#[derive(Clone, Default)]
pub struct Environment {
    /// `HTTPS_PROXY`, or `https_proxy`.
    pub https_proxy: String,
    /// `HTTP_PROXY`, or `http_proxy`: for registries over plain HTTP.
    pub http_proxy: String,
    /// `NO_PROXY`, or `no_proxy`.
    pub no_proxy: String,
    /// `DOCKER_CONFIG`: the folder of docker's configuration.
    pub docker_config: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
}

/// Without the proxies, whose URLs may have passwords.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { no_proxy, docker_config, home, .. } = self;
        let mut shown = formatter.debug_struct("Environment");
        shown.field("no_proxy", no_proxy).field("docker_config", docker_config).field("home", home);
        shown.finish_non_exhaustive()
    }
}

impl Environment {
    /// The variables of this process.
    pub fn of_process() -> Self {
        let first = |names: [&str; 2]| {
            let mut values = names.into_iter().filter_map(|name| std::env::var(name).ok());
            values.find(|value| !value.is_empty()).unwrap_or_default()
        };
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            https_proxy: first(["HTTPS_PROXY", "https_proxy"]),
            http_proxy: first(["HTTP_PROXY", "http_proxy"]),
            no_proxy: first(["NO_PROXY", "no_proxy"]),
            docker_config: path("DOCKER_CONFIG"),
            home: path("HOME"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docker_config_comes_before_home() {
        let credentials = |docker_config: Option<&str>, home: Option<&str>| {
            let environment = Environment {
                docker_config: docker_config.map(PathBuf::from),
                home: home.map(PathBuf::from),
                ..Environment::default()
            };
            Settings { environment, ..Settings::default() }.default_credentials()
        };
        assert_eq!(credentials(Some("/a"), Some("/b")), Some(PathBuf::from("/a/config.json")));
        assert_eq!(credentials(None, Some("/b")), Some(PathBuf::from("/b/.docker/config.json")));
        assert_eq!(credentials(None, None), None);
    }
}
