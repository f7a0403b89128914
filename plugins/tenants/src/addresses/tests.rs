use gyre_sdk::testing::given;
use gyre_sdk::{Group, Object, Time};
use serde_json::json;

use super::*;

fn claim(name: &str) -> AddressClaim {
    Object::new(name, AddressClaimSpec { pool: "edge".to_owned() })
}

fn with_address(name: &str, address: &str, created: &str) -> AddressClaim {
    let mut claim = claim(name).with_status(AddressClaimStatus { address: address.to_owned() });
    claim.metadata.creation_timestamp = created.parse::<Time>().unwrap();
    claim
}

/// The addresses that the plugin returns, by the names of claims.
fn addresses(network: &str, claims: Vec<AddressClaim>) -> Vec<Option<String>> {
    let settings = json!({ "pools": { "edge": network } });
    let group = Group::of(claims).with_value("edge");
    let answer = given::<Addresses>(group).settings(settings).reconcile();
    let address = |member: &Member| {
        let status = member.status.as_ref()?.as_ref().ok()?;
        Some(serde_json::from_slice::<AddressClaimStatus>(status).unwrap().address)
    };
    answer.plan().members.iter().map(address).collect()
}

fn texts(expected: &[&str]) -> Vec<Option<String>> {
    expected.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
}

#[test]
fn each_claim_gets_another_address_until_the_pool_has_no_more() {
    let claims = ["a", "b", "c"].map(claim).into();
    assert_eq!(addresses("192.0.2.0/30", claims), texts(&["192.0.2.1", "192.0.2.2", ""]));
    assert_eq!(addresses("192.0.2.0/31", vec![claim("a")]), texts(&["192.0.2.0"]));
    assert_eq!(addresses("192.0.2.9/32", vec![claim("a"), claim("b")]), texts(&["192.0.2.9", ""]));
}

#[test]
fn a_claim_keeps_its_address() {
    let claims = vec![claim("a"), with_address("b", "192.0.2.1", "2026-01-01T00:00:00Z")];
    assert_eq!(addresses("192.0.2.0/24", claims), texts(&["192.0.2.2", "192.0.2.1"]));
}

#[test]
fn of_two_claims_with_one_address_the_older_one_keeps_it() {
    let young = with_address("a", "192.0.2.7", "2026-02-01T00:00:00Z");
    let old = with_address("b", "192.0.2.7", "2026-01-01T00:00:00Z");
    assert_eq!(addresses("192.0.2.0/24", vec![young, old]), texts(&["192.0.2.1", "192.0.2.7"]));
}

#[test]
fn an_address_of_another_network_is_not_kept() {
    let moved = with_address("a", "198.51.100.1", "2026-01-01T00:00:00Z");
    assert_eq!(addresses("192.0.2.0/24", vec![moved]), texts(&["192.0.2.1"]));
}

#[test]
fn a_claim_to_an_unknown_pool_waits() {
    let group = Group::of([claim("a")]).with_value("edge");
    let answer = given::<Addresses>(group).reconcile();
    assert_eq!(answer.member("a").conditions[0].reason, "NoSuchPool");
}

#[test]
fn settings_with_a_wrong_network_are_rejected() {
    for (network, problem) in [
        ("192.0.2.0", "is no IPv4 network"),
        ("192.0.2.0/33", "is no IPv4 network"),
        ("192.0.2.1/24", "has bits after the first 24"),
    ] {
        let settings = AddressSettings { pools: [("edge".to_owned(), network.to_owned())].into() };
        let error = Addresses::validate_settings(&settings).unwrap_err();
        assert!(error.contains(problem) && error.contains("pools.edge"), "{error}");
    }
}
