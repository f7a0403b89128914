//! The hosts that are reached without a proxy, as Go's `net/http`, and so kubectl, reads
//! `NO_PROXY`.

use std::net::IpAddr;

/// Go's `net/http` never reaches these addresses through a proxy that the environment names
/// (`useProxy` in `golang.org/x/net/http/httpproxy`).
const LOCAL: &str = "localhost,127.0.0.0/8,::1";

/// The entries of `NO_PROXY` for this port, as the domains, addresses and networks that curl
/// accepts; `None` if they exempt every host. Go also reads `host:port`, `*.domain`, and addresses
/// in brackets.
pub fn exempted(no_proxy: &str, port: u16) -> Option<String> {
    let mut exempted = LOCAL.to_owned();
    for entry in no_proxy.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        if entry == "*" {
            return None;
        }
        let with_port = entry.parse::<IpAddr>().is_err().then(|| entry.rsplit_once(':')).flatten();
        let host = match with_port.and_then(|(host, of_entry)| Some((host, of_entry.parse::<u16>().ok()?))) {
            Some((_, of_entry)) if of_entry != port => continue,
            Some((host, _)) => host,
            None => entry,
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        exempted.push(',');
        exempted.push_str(host.strip_prefix('*').unwrap_or(host));
    }
    Some(exempted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_another_port_exempt_nothing() {
        assert_eq!(exempted("", 443).as_deref(), Some(LOCAL));
        assert_eq!(exempted("a.example.com, *", 443), None);
        for (entry, expected) in [
            ("a.example.com", ",a.example.com"),
            ("a.example.com:443", ",a.example.com"),
            ("a.example.com:5000", ""),
            ("*.example.com", ",.example.com"),
            ("10.0.0.0/8", ",10.0.0.0/8"),
            ("fd00::1", ",fd00::1"),
            ("[fd00::1]:443", ",fd00::1"),
            ("[fd00::1]:5000", ""),
        ] {
            assert_eq!(exempted(entry, 443), Some(format!("{LOCAL}{expected}")), "{entry}");
        }
    }
}
