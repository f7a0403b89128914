//! The proxy between this program and the API server, chosen as kubectl does: by `proxy-url` in the
//! kubeconfig, or by the environment, whose `NO_PROXY` then applies.

use gyre_core::no_proxy::exempted;
use http::Uri;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use kube::Config;

/// The environment variables about proxies.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `HTTPS_PROXY`, or `https_proxy`.
    pub https_proxy: String,
    /// `NO_PROXY`, or `no_proxy`.
    pub no_proxy: String,
}

impl Environment {
    /// The variables of this process.
    pub fn of_process() -> Self {
        let first = |names: [&str; 2]| {
            let mut values = names.into_iter().filter_map(|name| std::env::var(name).ok());
            values.find(|value| !value.is_empty()).unwrap_or_default()
        };
        Self { https_proxy: first(["HTTPS_PROXY", "https_proxy"]), no_proxy: first(["NO_PROXY", "no_proxy"]) }
    }
}

/// Removes the proxy from a configuration if the environment named it, but not for this API server.
///
/// kube reads `HTTPS_PROXY`, but not `NO_PROXY`; with its feature `http-proxy` it compares
/// `NO_PROXY` with the address of the proxy instead of the API server's.
pub fn without_exempted_proxy(mut config: Config, environment: &Environment) -> Config {
    let is_of_environment = config.proxy_url.is_some() && config.proxy_url == environment.https_proxy.parse().ok();
    if is_of_environment && !is_used_for(&config.cluster_url, environment) {
        config.proxy_url = None;
    }
    config
}

fn is_used_for(api_server: &Uri, environment: &Environment) -> bool {
    if api_server.scheme_str() != Some("https") {
        return false;
    }
    let Some(exempted) = exempted(&environment.no_proxy, api_server.port_u16().unwrap_or(443)) else { return false };
    let matcher = Matcher::builder().https(environment.https_proxy.as_str()).no(exempted).build();
    matcher.intercept(api_server).is_some()
}

/// The proxy of a configuration, without and with its credentials.
///
/// # Errors
///
/// [`kube::Error::ProxyProtocolUnsupported`], whose URL has no credentials.
pub(super) fn proxy(config: &Config) -> Result<Option<Intercept>, kube::Error> {
    let Some(url) = &config.proxy_url else { return Ok(None) };
    let intercept = Matcher::builder().all(url.to_string()).build().intercept(&config.cluster_url);
    match intercept {
        Some(proxy) if matches!(proxy.uri().scheme_str(), Some("http" | "https" | "socks5" | "socks5h")) => Ok(Some(proxy)),
        _ => {
            let scheme = url.scheme_str().unwrap_or_default();
            let without_credentials = format!("{scheme}://{}", url.host().unwrap_or_default());
            let proxy_url = Box::new(without_credentials.parse().unwrap_or_default());
            Err(kube::Error::ProxyProtocolUnsupported { proxy_url })
        }
    }
}

/// Connects through a proxy with CONNECT.
pub(super) fn tunnel<C>(proxy: &Intercept, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri().clone(), connector);
    match proxy.basic_auth() {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "http://proxy.example.com:3128";

    fn check(api_server: &str, no_proxy: &str, is_used: bool) {
        let environment = Environment { https_proxy: PROXY.to_owned(), no_proxy: no_proxy.to_owned() };
        let mut config = Config::new(api_server.parse().unwrap());
        config.proxy_url = Some(PROXY.parse().unwrap());
        let config = without_exempted_proxy(config, &environment);
        assert_eq!(config.proxy_url.is_some(), is_used, "{api_server}, NO_PROXY={no_proxy}");
    }

    #[test]
    fn no_proxy_exempts_the_api_server_as_for_kubectl() {
        let name = "https://api.example.com:6443";
        for (no_proxy, is_used) in [
            ("", true),
            ("*", false),
            ("other.com, *", false),
            ("api.example.com", false),
            ("API.example.com", false),
            ("example.com", false),
            (".example.com", false),
            ("*.example.com", false),
            ("ample.com", true),
            ("other.com,, example.com", false),
            ("example.com:6443", false),
            ("example.com:443", true),
            ("proxy.example.com", true),
        ] {
            check(name, no_proxy, is_used);
        }
        let address = "https://10.1.2.3:6443";
        for (no_proxy, is_used) in [
            ("10.1.2.3", false),
            ("10.1.2.3:6443", false),
            ("10.1.2.3:443", true),
            ("10.0.0.0/8", false),
            ("10.2.0.0/16", true),
            ("*", false),
        ] {
            check(address, no_proxy, is_used);
        }
        for (no_proxy, is_used) in [("fd00::1", false), ("[fd00::1]", false), ("[fd00::1]:443", true), ("fd00::/8", false)] {
            check("https://[fd00::1]:6443", no_proxy, is_used);
        }
        for local in ["https://localhost:6443", "https://127.0.0.1:6443", "https://[::1]:6443", "http://api.example.com"] {
            check(local, "", false);
        }
    }

    #[test]
    fn no_proxy_does_not_concern_the_proxy_of_a_kubeconfig() {
        let environment = Environment { https_proxy: "http://other:3128".to_owned(), no_proxy: "*".to_owned() };
        let mut config = Config::new("https://api.example.com".parse().unwrap());
        config.proxy_url = Some(PROXY.parse().unwrap());
        assert!(without_exempted_proxy(config, &environment).proxy_url.is_some());
    }

    #[test]
    fn credentials_are_sent_to_the_proxy_and_are_in_no_error() {
        let mut config = Config::new("https://api.example.com".parse().unwrap());
        config.proxy_url = Some("http://me:pass%20word@proxy:3128".parse().unwrap());
        let found = proxy(&config).unwrap().unwrap();
        assert_eq!(found.uri(), "http://proxy:3128/");
        // `me:pass word` in base64.
        assert_eq!(found.basic_auth().unwrap(), "Basic bWU6cGFzcyB3b3Jk");
        config.proxy_url = Some("ftp://me:secret@proxy:21".parse().unwrap());
        let error = proxy(&config).err().unwrap().to_string();
        assert_eq!(error, "configured proxy ftp://proxy/ uses an unsupported protocol");
    }
}
