//! Decides which hosts get the credentials of a registry.
//!
//! A registry may send its clients to another host for tokens: `registry-1.docker.io` to
//! `auth.docker.io`, `registry.gitlab.com` to `gitlab.com`. It could also ask for the password
//! itself, so a registry learns nothing by this that it could not learn anyway. But a header that
//! somebody else put into its answer, or a proxy in front of it, must not send the password to a
//! stranger. So a realm gets it if it is of the same site.

use std::net::IpAddr;

/// Second labels under which the domains of a country are registered, e.g. `co.uk`. Two hosts that
/// have only this in common are of different people.
const SECOND: [&str; 9] = ["ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"];

/// Domains under which clouds give hosts to their customers. Two hosts that have only this in
/// common are of different people, too.
const SHARED: [&str; 10] = [
    "amazonaws.com",
    "appspot.com",
    "azurecr.io",
    "azurewebsites.net",
    "cloudfront.net",
    "github.io",
    "gitlab.io",
    "herokuapp.com",
    "pkg.dev",
    "run.app",
];

/// Returns whether two hosts, without ports, are of the same site: they are equal, or their
/// registered domains are.
pub(crate) fn is_same_site(registry: &str, realm: &str) -> bool {
    if registry == realm {
        return true;
    }
    matches!((site(registry), site(realm)), (Some(one), Some(other)) if one == other)
}

/// The registered domain of a host; `None` for addresses, names without a dot, and those of a local
/// network or a cluster.
fn site(host: &str) -> Option<&str> {
    if host.starts_with('[') || host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let labels: Vec<&str> = host.rsplit('.').collect();
    let is_shared = || matches!(labels.as_slice(), [top, second, ..] if SHARED.contains(&format!("{second}.{top}").as_str()));
    let length = match labels.as_slice() {
        ["local", ..] => return None,
        [country, second, ..] if country.len() == 2 && SECOND.contains(second) => 3,
        _ if is_shared() => 3,
        _ => 2,
    };
    let dot = host.rmatch_indices('.').nth(length - 1);
    let site = dot.map_or(Some(host), |(at, _)| host.get(at + 1..));
    site.filter(|_| labels.len() >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_is_of_the_same_site_if_the_registered_domain_is_the_same() {
        for (registry, realm, expected) in [
            ("registry-1.docker.io", "auth.docker.io", true),
            ("registry.gitlab.com", "gitlab.com", true),
            ("gitlab.com", "registry.gitlab.com", true),
            ("a.b.example.com", "c.example.com", true),
            ("a.example.co.uk", "b.example.co.uk", true),
            ("ghcr.io", "ghcr.io", true),
            ("registry", "registry", true),
            ("10.0.0.1", "10.0.0.1", true),
            ("registry.example.com", "auth.example.org", false),
            ("registry.example.com", "example.com.evil.org", false),
            ("registry.example.com", "notexample.com", false),
            ("a.co.uk", "b.co.uk", false),
            ("co.uk", "a.co.uk", false),
            ("registry", "auth", false),
            ("registry.cluster", "auth", false),
            ("registry.a.svc.cluster.local", "auth.b.svc.cluster.local", false),
            ("registry.a.svc", "auth.b.svc", false),
            ("registry.a.svc", "auth.a.svc", true),
            ("10.0.0.1", "10.1.0.1", false),
            ("[fd00::1]", "[fd00::2]", false),
            ("ghcr.io", "quay.io", false),
            ("team.azurecr.io", "team.azurecr.io", true),
            ("team.azurecr.io", "other.azurecr.io", false),
            ("europe-docker.pkg.dev", "evil.pkg.dev", false),
            ("a.team.azurecr.io", "b.team.azurecr.io", true),
        ] {
            assert_eq!(is_same_site(registry, realm), expected, "{registry} {realm}");
        }
    }
}
