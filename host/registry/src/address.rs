//! The addresses that a registry may lead gyre to.
//!
//! ```text
//!   public < private < loopback < link-local
//! ```
//!
//! A registry names other places: a redirect to its storage, a realm for tokens. A hostile one
//! could name the services of a cluster or the metadata service of a cloud. So an address may be
//! at most as local as the registry itself: one on the Internet leads nowhere but to the Internet,
//! and one in a private network to private and public addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gyre_core::text::cut;

/// The most bytes of a host in an error. A URL may have a longer one, e.g. before `.localhost`.
pub(crate) const LONGEST_HOST: usize = 255;

/// How far an address reaches, from the Internet to a single link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Reach {
    Public,
    /// A network of an organization, or of a cluster.
    Private,
    /// The same machine, or the same Pod.
    Loopback,
    /// One link, where clouds have their metadata services with credentials of the machine.
    LinkLocal,
}

/// An address that the registry must not lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The host of the URL.
    pub(crate) host: String,
    pub(crate) address: IpAddr,
    pub(crate) reach: Option<Reach>,
    pub(crate) registry: Reach,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, address, reach, registry } = self;
        let host = cut(host, LONGEST_HOST);
        let (of_address, of_registry) = (shown(*reach), shown(Some(*registry)));
        write!(formatter, "{host} leads to {address}, which is {of_address}, while the registry is {of_registry}")
    }
}

impl std::error::Error for Refused {}

fn shown(reach: Option<Reach>) -> &'static str {
    match reach {
        Some(Reach::Public) => "public",
        Some(Reach::Private) => "private",
        Some(Reach::Loopback) => "the machine itself",
        Some(Reach::LinkLocal) => "link-local",
        None => "no address of a host",
    }
}

/// Checks an address that belongs to `host`, for a registry with this reach.
pub(crate) fn check(host: &str, address: IpAddr, registry: Reach) -> Result<(), Refused> {
    let reach = reach(address);
    if reach.is_some_and(|reach| reach <= registry) {
        return Ok(());
    }
    Err(Refused { host: host.to_owned(), address, reach, registry })
}

/// The reach of an address; `None` if it is not the address of one host.
pub(crate) fn reach(address: IpAddr) -> Option<Reach> {
    match address {
        IpAddr::V4(address) => reach_of_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(address) => reach_of_v4(address),
            None => reach_of_v6(address),
        },
    }
}

fn reach_of_v4(address: Ipv4Addr) -> Option<Reach> {
    let [first, second, third, _] = address.octets();
    match (first, second, third) {
        // Linux connects to itself for 0.0.0.0.
        (0 | 127, ..) => Some(Reach::Loopback),
        (169, 254, _) => Some(Reach::LinkLocal),
        // The metadata service of Alibaba Cloud is in the shared address space.
        (100, 100, 100) => Some(Reach::LinkLocal),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) | (198, 18..=19, _) | (192, 0, 0) => {
            Some(Reach::Private)
        }
        // Multicast, reserved, broadcast.
        (224.., ..) => None,
        _ => Some(Reach::Public),
    }
}

fn reach_of_v6(address: Ipv6Addr) -> Option<Reach> {
    // The metadata service of AWS has a unique local address.
    const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    let [first, ..] = address.segments();
    match first {
        _ if address.is_loopback() || address.is_unspecified() => Some(Reach::Loopback),
        _ if address == METADATA => Some(Reach::LinkLocal),
        0xfe80..=0xfebf => Some(Reach::LinkLocal),
        0xfc00..=0xfdff | 0xfec0..=0xfeff => Some(Reach::Private),
        0xff00.. => None,
        _ => Some(Reach::Public),
    }
}

/// The IPv4 address that packets to an IPv6 address arrive at.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        // Mapped addresses.
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(joined(high, low)),
        // Compatible addresses, but neither `::` nor `::1`.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(joined(high, low)),
        // NAT64, with its prefix for everybody and the one for local use.
        [0x64, 0xff9b, 0 | 1, _, _, _, high, low] => Some(joined(high, low)),
        // 6to4.
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_address_has_a_reach() {
        use Reach::{LinkLocal, Loopback, Private, Public};
        for (address, expected) in [
            ("1.1.1.1", Some(Public)),
            ("172.15.0.1", Some(Public)),
            ("172.32.0.1", Some(Public)),
            ("192.0.1.1", Some(Public)),
            ("2606:4700::1111", Some(Public)),
            ("10.1.2.3", Some(Private)),
            ("172.16.0.1", Some(Private)),
            ("172.31.255.255", Some(Private)),
            ("192.168.0.1", Some(Private)),
            ("100.64.0.1", Some(Private)),
            ("198.18.0.1", Some(Private)),
            ("fd00::1", Some(Private)),
            ("fc00::1", Some(Private)),
            ("fec0::1", Some(Private)),
            ("127.0.0.1", Some(Loopback)),
            ("127.9.9.9", Some(Loopback)),
            ("0.0.0.0", Some(Loopback)),
            ("::", Some(Loopback)),
            ("::1", Some(Loopback)),
            ("169.254.169.254", Some(LinkLocal)),
            ("100.100.100.200", Some(LinkLocal)),
            ("fd00:ec2::254", Some(LinkLocal)),
            ("fe80::1", Some(LinkLocal)),
            ("::ffff:169.254.169.254", Some(LinkLocal)),
            ("::ffff:127.0.0.1", Some(Loopback)),
            ("::10.0.0.1", Some(Private)),
            ("64:ff9b::10.0.0.1", Some(Private)),
            ("64:ff9b:1::169.254.169.254", Some(LinkLocal)),
            ("2002:0a00:0001::1", Some(Private)),
            ("224.0.0.1", None),
            ("255.255.255.255", None),
            ("240.0.0.1", None),
            ("ff02::1", None),
        ] {
            assert_eq!(reach(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn a_refusal_says_both_reaches() {
        let refused = check("storage.example.com", IpAddr::from([10, 0, 0, 1]), Reach::Public).unwrap_err();
        let expected = "storage.example.com leads to 10.0.0.1, which is private, while the registry is public";
        assert_eq!(refused.to_string(), expected);
        let refused = check("a", IpAddr::from([255, 255, 255, 255]), Reach::LinkLocal).unwrap_err();
        assert!(refused.to_string().contains("no address of a host"), "{refused}");
        let refused = check(&"a".repeat(1_000), IpAddr::from([127, 0, 0, 1]), Reach::Public).unwrap_err();
        assert!(refused.to_string().len() < 350, "{refused}");
    }

    proptest! {
        #[test]
        fn a_public_registry_leads_only_to_public_addresses(address: IpAddr) {
            let is_public = reach(address) == Some(Reach::Public);
            prop_assert_eq!(check("a", address, Reach::Public).is_ok(), is_public);
        }

        #[test]
        fn an_address_within_another_has_its_reach(address: Ipv4Addr) {
            let reach = reach(IpAddr::V4(address));
            prop_assert_eq!(super::reach(IpAddr::V6(address.to_ipv6_mapped())), reach);
        }
    }
}
