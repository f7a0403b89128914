//! Decides for one registry to which addresses it may lead, when a connection is made.
//!
//! A name is checked when it is resolved for a connection, and the connection gets the addresses
//! that were checked. So a name cannot have one address for the check and another for the
//! connection. Through a proxy, which resolves names itself, only hosts that are addresses are
//! checked.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::{self, Reach, Refused};

/// The reach of a registry, and with it the addresses that it may lead to.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The host of the registry as in URLs, without the port.
    host: String,
    /// The reach of the registry, once it is known. It only becomes more public, so a name that
    /// changes its addresses gains nothing. A registry that moves gets another guard, after the
    /// request that is refused.
    reach: Mutex<Option<Reach>>,
}

impl Guard {
    pub(crate) fn new(base: &Url) -> Arc<Self> {
        let reach = literal(base).and_then(address::reach);
        let host = base.host_str().unwrap_or_default().to_owned();
        Arc::new(Self { host, reach: Mutex::new(reach) })
    }

    /// Checks the host of a URL, if it is an address or the name of the machine itself.
    pub(crate) fn check_host(&self, url: &Url) -> Result<(), Refused> {
        let host = url.host_str().unwrap_or_default();
        // The registry itself is where the user wants to go.
        if host == self.host {
            return Ok(());
        }
        let name = host.trim_end_matches('.');
        let is_local = name == "localhost" || name.ends_with(".localhost");
        let address = if is_local { Some(IpAddr::from([127, 0, 0, 1])) } else { literal(url) };
        address.map_or(Ok(()), |address| address::check(host, address, self.known()))
    }

    /// The reach of the registry; as long as it is not known, the least one.
    fn known(&self) -> Reach {
        self.reach.lock().unwrap_or(Reach::Public)
    }

    /// Returns those of the addresses of a host that the registry may lead to.
    ///
    /// # Errors
    ///
    /// If there are addresses, but none of them is allowed.
    fn allowed(&self, host: &str, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refused> {
        if host == self.host {
            let most_public = addresses.iter().filter_map(|address| address::reach(address.ip())).min();
            let mut reach = self.reach.lock();
            *reach = match (*reach, most_public) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        let known = self.known();
        let mut refused = None;
        let mut allowed = Vec::new();
        for address in addresses {
            match address::check(host, address.ip(), known) {
                Ok(()) => allowed.push(address),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if allowed.is_empty() => Err(error),
            _ => Ok(allowed),
        }
    }
}

/// The host of a URL, if it is an address.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.parse().ok()
}

/// The resolver of a registry's connections.
pub(crate) struct Resolver(pub(crate) Arc<Guard>);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            let host = name.as_str();
            // The port is that of the URL, which the connection adds.
            let addresses = tokio::net::lookup_host((host, 0)).await?.collect();
            let allowed: Addrs = Box::new(guard.allowed(host, addresses)?.into_iter());
            Ok(allowed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(registry: &str) -> Arc<Guard> {
        Guard::new(&format!("https://{registry}/").parse().unwrap())
    }

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
    }

    /// The number of addresses of a host that are allowed, if some are.
    fn allowed(guard: &Guard, host: &str, texts: &[&str]) -> Option<usize> {
        guard.allowed(host, addresses(texts)).ok().map(|allowed| allowed.len())
    }

    #[test]
    fn a_registry_leads_to_addresses_that_are_no_more_local_than_its_own() {
        for (of_registry, of_storage, expected) in [
            ("1.1.1.1", "8.8.8.8", Some(1)),
            ("1.1.1.1", "10.0.0.1", None),
            ("1.1.1.1", "127.0.0.1", None),
            ("10.0.0.1", "10.0.0.2", Some(1)),
            ("10.0.0.1", "8.8.8.8", Some(1)),
            ("10.0.0.1", "127.0.0.1", None),
            ("10.0.0.1", "169.254.169.254", None),
            ("127.0.0.1", "10.0.0.2", Some(1)),
            ("127.0.0.1", "169.254.169.254", None),
        ] {
            let guard = guard("registry.example.com:5000");
            assert_eq!(allowed(&guard, "registry.example.com", &[of_registry]), Some(1));
            assert_eq!(allowed(&guard, "storage.example.com", &[of_storage]), expected, "{of_registry} {of_storage}");
        }
    }

    #[test]
    fn of_several_addresses_those_that_are_allowed_are_used() {
        let guard = guard("registry.example.com");
        assert_eq!(allowed(&guard, "registry.example.com", &["10.0.0.1", "1.1.1.1"]), Some(1));
        assert_eq!(allowed(&guard, "storage.example.com", &["10.0.0.1", "1.1.1.1", "8.8.8.8"]), Some(2));
        assert_eq!(allowed(&guard, "storage.example.com", &[]), Some(0));
    }

    #[test]
    fn a_registry_that_changes_its_addresses_gains_nothing() {
        let guard = guard("registry.example.com");
        assert_eq!(allowed(&guard, "registry.example.com", &["1.1.1.1"]), Some(1));
        assert_eq!(allowed(&guard, "registry.example.com", &["10.0.0.1"]), None);
        assert_eq!(allowed(&guard, "storage.example.com", &["10.0.0.1"]), None);
        let guard = self::guard("registry.example.com");
        assert_eq!(allowed(&guard, "registry.example.com", &["10.0.0.1"]), Some(1));
        assert_eq!(allowed(&guard, "registry.example.com", &["1.1.1.1"]), Some(1));
        assert_eq!(allowed(&guard, "storage.example.com", &["10.0.0.1"]), None);
    }

    #[test]
    fn a_host_that_is_an_address_is_checked_without_a_lookup() {
        for (registry, url, is_allowed) in [
            ("registry.example.com", "https://10.0.0.1/", false),
            ("registry.example.com", "https://[::ffff:10.0.0.1]/", false),
            ("registry.example.com", "https://0x7f.1/", false),
            ("registry.example.com", "https://2130706433/", false),
            ("registry.example.com", "https://localhost/", false),
            ("registry.example.com", "https://a.localhost/", false),
            ("registry.example.com", "https://1.1.1.1/", true),
            ("registry.example.com", "https://name/", true),
            ("10.0.0.1:5000", "https://10.0.0.2/", true),
            ("10.0.0.1:5000", "https://127.0.0.1/", false),
            ("127.0.0.1:5000", "https://localhost/", true),
            ("127.0.0.1:5000", "https://169.254.169.254/", false),
            ("[::1]:5000", "https://[::1]:6000/", true),
            ("[fd00::1]:5000", "https://[::1]/", false),
            ("localhost:5000", "https://localhost:6000/", true),
        ] {
            let found = guard(registry).check_host(&url.parse().unwrap());
            assert_eq!(found.is_ok(), is_allowed, "{registry} {url}: {found:?}");
        }
    }

    #[tokio::test]
    async fn a_name_is_checked_when_it_is_resolved() {
        let registry = "registry.example.com";
        let guard = guard(registry);
        assert_eq!(allowed(&guard, registry, &["1.1.1.1"]), Some(1));
        let resolved = Resolver(Arc::clone(&guard)).resolve("localhost".parse().unwrap()).await;
        let Err(error) = resolved else { panic!("localhost is allowed") };
        assert!(error.is::<Refused>(), "{error}");
        let local = Resolver(self::guard("localhost:5000"));
        assert!(local.resolve("localhost".parse().unwrap()).await.is_ok());
    }
}
