//! Free ports outside the range of outgoing connections.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use anyhow::Context as _;

/// Below the ports of outgoing connections on Linux (from 32768) and macOS (from 49152). Any client
/// could take a port of that range while the server that owns it restarts.
const RANGE: Range<u16> = 20_000..32_000;

/// The number of candidates before the kernel is asked for any port.
const CANDIDATES: u64 = 64;

/// Returns a free port on 127.0.0.1. Another process may take it before the caller binds it.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let width = u64::from(RANGE.end - RANGE.start);
    // Random keys, so that processes that start together do not try the same ports.
    let hasher = RandomState::new();
    let candidates = (0..CANDIDATES).map(|attempt| RANGE.start + (hasher.hash_one(attempt) % width) as u16);
    for port in candidates.chain([0]) {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return Ok(listener.local_addr().context("cannot read the port of a listener")?.port());
        }
    }
    anyhow::bail!("no port is free on 127.0.0.1")
}

pub(crate) fn reports_port_taken(log: &str) -> bool {
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
