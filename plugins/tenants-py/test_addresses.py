import pytest
from tenants import addresses
from tenants.addresses import AddressClaimSpec, AddressClaimStatus

from gyre import Group, Object
from gyre.testing import given, validate_settings


def claim(name):
    return Object(name, spec=AddressClaimSpec("edge"))


def with_address(name, address, created):
    stored = claim(name)
    stored.status = AddressClaimStatus(address)
    stored.metadata.creation_timestamp = created
    return stored


def given_addresses(network, claims):
    """Returns the addresses that the plugin gives, in the order of the claims."""
    group = Group(claims, value="edge")
    answer = given(group).settings({"pools": {"edge": network}}).reconcile(addresses)
    statuses = [member.new_status for member in answer.plan.statuses_of_members]
    return [status and status["address"] for status in statuses]


def test_each_claim_gets_another_address_until_the_pool_has_no_more():
    three = [claim("a"), claim("b"), claim("c")]
    assert given_addresses("192.0.2.0/30", three) == ["192.0.2.1", "192.0.2.2", None]
    assert given_addresses("192.0.2.0/31", [claim("a")]) == ["192.0.2.0"]
    assert given_addresses("192.0.2.9/32", [claim("a"), claim("b")]) == ["192.0.2.9", None]


def test_a_claim_keeps_its_address():
    claims = [claim("a"), with_address("b", "192.0.2.1", "2026-01-01T00:00:00Z")]
    assert given_addresses("192.0.2.0/24", claims) == ["192.0.2.2", "192.0.2.1"]


def test_of_two_claims_with_one_address_the_older_one_keeps_it():
    young = with_address("a", "192.0.2.7", "2026-02-01T00:00:00Z")
    old = with_address("b", "192.0.2.7", "2026-01-01T00:00:00Z")
    assert given_addresses("192.0.2.0/24", [young, old]) == ["192.0.2.1", "192.0.2.7"]


def test_an_address_of_another_network_is_not_kept():
    moved = with_address("a", "198.51.100.1", "2026-01-01T00:00:00Z")
    assert given_addresses("192.0.2.0/24", [moved]) == ["192.0.2.1"]


def test_a_claim_to_an_unknown_pool_waits():
    answer = given(Group([claim("a")], value="edge")).reconcile(addresses)
    assert answer.member("a").conditions[0].reason == "NoSuchPool"


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        ("192.0.2.0", "is no IPv4 network"),
        ("192.0.2.0/33", "is no IPv4 network"),
        ("192.0.2.1/24", "has bits after the first 24"),
    ],
)
def test_settings_with_a_wrong_network_are_rejected(network, problem):
    with pytest.raises(ValueError, match=problem) as error:
        validate_settings(addresses, {"pools": {"edge": network}})
    assert "pools.edge" in str(error.value)
