//! Ports that stay free while nobody holds them.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use anyhow::Context as _;

/// The range of candidates: below the ports that Linux (32768) and macOS (49152) give to outgoing connections. A port from
/// `bind(0)` lies in that range, and could be lost to any client on the machine while the server that owns it restarts.
const RANGE: Range<u16> = 20_000..32_000;

/// The number of candidates that are tried before the kernel is asked for any port.
const CANDIDATES: u64 = 64;

/// A port on 127.0.0.1 that was free a moment ago.
///
/// It is not reserved: whoever starts a server on it must be ready to be told that it is taken, and to ask again.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let width = u64::from(RANGE.end - RANGE.start);
    // Randomly keyed, so that processes that start together do not try the same ports.
    let hasher = RandomState::new();
    let candidates = (0..CANDIDATES).map(|attempt| RANGE.start + (hasher.hash_one(attempt) % width) as u16);
    for port in candidates.chain([0]) {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return Ok(listener.local_addr().context("cannot read the port of a listener")?.port());
        }
    }
    anyhow::bail!("no port is free on 127.0.0.1")
}

/// Returns whether a server's log says that its port was taken by somebody else.
pub(crate) fn says_that_port_is_taken(log: &str) -> bool {
    log.contains("address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_bound_and_a_held_one_is_not_offered() {
        let held: Vec<TcpListener> = (0..20)
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, free_port().unwrap())).expect("the port is free"))
            .collect();
        let taken = held.iter().map(|listener| listener.local_addr().unwrap().port()).collect::<Vec<_>>();
        for _ in 0..200 {
            let port = free_port().unwrap();
            assert!(!taken.contains(&port));
            assert!(RANGE.contains(&port), "{port} is in the range of outgoing connections");
        }
    }
}
