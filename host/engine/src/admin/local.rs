//! Access for clients on the host's own machine, and the mount of a request.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::connect_info::Connected;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::serve::IncomingStream;
use tokio::net::TcpListener;

use super::tls::Secure;
use crate::leadership::election::Leaders;
use crate::mounts::mount::Mount;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    peer: IpAddr,
    own: Option<IpAddr>,
}

impl Connected<IncomingStream<'_, Secure>> for Ends {
    fn connect_info(stream: IncomingStream<'_, Secure>) -> Self {
        let own = stream.io().get_ref().0.local_addr().ok();
        Self { peer: stream.remote_addr().ip(), own: own.map(|address| address.ip()) }
    }
}

impl Connected<IncomingStream<'_, TcpListener>> for Ends {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        let own = stream.io().local_addr().ok();
        Self { peer: stream.remote_addr().ip(), own: own.map(|address: SocketAddr| address.ip()) }
    }
}

impl Ends {
    /// Both must be loopback addresses, because a local proxy may forward remote requests from one.
    fn are_local(self) -> bool {
        let is_local = |address: IpAddr| address.to_canonical().is_loopback();
        is_local(self.peer) && self.own.is_some_and(is_local)
    }
}

/// Requires an address: a web page could point its own name at the host (DNS rebinding).
fn is_by_address(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    host.is_some_and(|host| {
        let name = host.host().trim_matches(['[', ']']);
        name == "localhost" || name.parse::<IpAddr>().is_ok()
    })
}

pub(crate) fn is_local(ends: Ends, headers: &HeaderMap) -> bool {
    ends.are_local() && is_by_address(headers)
}

/// Returns the mount of that name, or the only mount. `none` and `verb` are parts of errors.
pub(crate) fn find(name: Option<&str>, mounts: Vec<Arc<Mount>>, none: &str, verb: &str) -> Result<Arc<Mount>, String> {
    let names = || mounts.iter().map(|mount| &*mount.name).collect::<Vec<_>>().join(", ");
    match (name, mounts.as_slice()) {
        (None, [only]) => Ok(Arc::clone(only)),
        (_, []) => Err(none.to_owned()),
        (None, _) => Err(format!("name the mount to {verb}; the mounts are: {}", names())),
        (Some(name), _) => {
            let found = mounts.iter().find(|mount| *mount.name == *name);
            found.cloned().ok_or_else(|| format!("there is no mount {name}; the mounts are: {}", names()))
        }
    }
}

pub(crate) fn follows(mount: &Mount, leaders: Option<&Leaders>, command: &str) -> String {
    let name = &mount.name;
    match leaders.and_then(|leaders| Some((leaders.namespace(), leaders.of(name)?))) {
        Some((namespace, leader)) => format!(
            "this replica does not lead {name}; the leader is {leader}. In a cluster, run: kubectl exec -n {namespace} {leader} -- /gyre {command} {name}"
        ),
        None => format!("this replica does not lead {name}, and no Lease names another leader; try again in a few seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_connections_within_the_machine_are_local() {
        let ends =
            |peer: &str, own: Option<&str>| Ends { peer: peer.parse().unwrap(), own: own.map(|own| own.parse().unwrap()) };
        for (peer, own) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::ffff:127.0.0.1", "::ffff:127.0.0.1")] {
            assert!(ends(peer, Some(own)).are_local(), "{peer} {own}");
        }
        for (peer, own) in [("10.0.0.7", "10.0.0.8"), ("127.0.0.6", "10.0.0.8"), ("::ffff:10.0.0.7", "::1")] {
            assert!(!ends(peer, Some(own)).are_local(), "{peer} {own}");
        }
        assert!(!ends("127.0.0.1", None).are_local());
    }

    #[test]
    fn requests_by_another_host_name_are_not_local() {
        for (host, expected) in [
            ("127.0.0.1:2112", true),
            ("[::1]:2112", true),
            ("localhost:8080", true),
            ("localhost", true),
            ("evil.example:2112", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            assert_eq!(is_by_address(&HeaderMap::from_iter([(HOST, host.parse().unwrap())])), expected, "{host}");
        }
        assert!(!is_by_address(&HeaderMap::new()));
    }
}
