//! The way to a host: directly, or through a proxy that the environment names.

use gyre_core::no_proxy::exempted;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Proxy, Url};

use crate::error::Error;
use crate::settings::Environment;

/// The decision which hosts are reached through a proxy.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    environment: Environment,
}

/// The way to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Direct,
    Proxy,
}

impl Routes {
    pub(crate) fn new(environment: Environment) -> Self {
        Self { environment }
    }

    /// The proxies of the environment, for a client that uses them for every host.
    ///
    /// # Errors
    ///
    /// If a variable is not the URL of a proxy.
    pub(crate) fn proxies(&self) -> Result<Vec<Proxy>, Error> {
        let Environment { https_proxy, http_proxy, .. } = &self.environment;
        let mut proxies = Vec::new();
        if !https_proxy.is_empty() {
            proxies.push(Proxy::https(https_proxy.as_str()).map_err(|_| Error::Proxy("HTTPS_PROXY"))?);
        }
        if !http_proxy.is_empty() {
            proxies.push(Proxy::http(http_proxy.as_str()).map_err(|_| Error::Proxy("HTTP_PROXY"))?);
        }
        Ok(proxies)
    }

    /// The way to the host of a URL, as curl and Go choose it.
    pub(crate) fn route(&self, url: &Url) -> Route {
        let Environment { https_proxy, http_proxy, no_proxy, .. } = &self.environment;
        let Some(exempted) = exempted(no_proxy, url.port_or_known_default().unwrap_or_default()) else {
            return Route::Direct;
        };
        let matcher = Matcher::builder().https(https_proxy.as_str()).http(http_proxy.as_str()).no(exempted).build();
        let is_intercepted = url.as_str().parse::<Uri>().is_ok_and(|uri| matcher.intercept(&uri).is_some());
        if is_intercepted { Route::Proxy } else { Route::Direct }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(https_proxy: &str, http_proxy: &str, no_proxy: &str, url: &str, expected: Route) {
        let environment = Environment {
            https_proxy: https_proxy.to_owned(),
            http_proxy: http_proxy.to_owned(),
            no_proxy: no_proxy.to_owned(),
            ..Environment::default()
        };
        let routes = Routes::new(environment);
        assert!(routes.proxies().is_ok());
        assert_eq!(routes.route(&url.parse().unwrap()), expected, "{https_proxy} {http_proxy} {no_proxy} {url}");
    }

    #[test]
    fn an_invalid_proxy_is_named_without_its_password() {
        let https_proxy = "http://me:secret@[".to_owned();
        let routes = Routes::new(Environment { https_proxy, ..Environment::default() });
        let error = routes.proxies().unwrap_err().to_string();
        assert_eq!(error, "HTTPS_PROXY is not the URL of a proxy");
        assert!(!format!("{routes:?}").contains("secret"));
    }

    #[test]
    fn the_environment_decides_by_scheme_host_and_port() {
        use Route::{Direct, Proxy};
        let proxy = "http://proxy.example.com:3128";
        let (https, http) = ("https://registry.example.com/v2/", "http://registry.example.com:5000/v2/");
        check("", "", "", https, Direct);
        check(proxy, "", "", https, Proxy);
        check("proxy.example.com:3128", "", "", https, Proxy);
        check(proxy, "", "", http, Direct);
        check("", proxy, "", http, Proxy);
        check("", proxy, "", https, Direct);
        check(proxy, proxy, "example.com", https, Direct);
        check(proxy, proxy, "other.com", https, Proxy);
        check(proxy, proxy, "*", http, Direct);
        check(proxy, proxy, "registry.example.com:5000", https, Proxy);
        check(proxy, proxy, "registry.example.com:5000", http, Direct);
        check(proxy, proxy, "10.0.0.0/8", "https://10.1.2.3/v2/", Direct);
        check(proxy, proxy, "", "https://10.1.2.3/v2/", Proxy);
        for local in ["https://localhost:5000/", "http://127.0.0.1:5000/", "https://[::1]:5000/"] {
            check(proxy, proxy, "", local, Direct);
        }
    }
}
