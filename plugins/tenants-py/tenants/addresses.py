"""Addresses of pools, each given to one claim."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated

from gyre import Column, Group, Member, Object, Plan, Rules, no_children, plugin


@dataclass
class AddressClaimSpec:
    """A claim to one address of a pool."""

    pool: Annotated[
        str,
        "The name of the pool, which does not change.",
        Rules(rule=("self == oldSelf", "a claim keeps its pool: make another claim")),
    ]


@dataclass
class AddressClaimStatus:
    """The status of an AddressClaim."""

    address: Annotated[str, "The address, as long as the claim exists."]


@dataclass
class AddressSettings:
    """The pools."""

    pools: Annotated[
        dict[str, str], "The IPv4 networks by the names of pools, e.g. `edge: 192.0.2.0/24`."
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for pool, network in self.pools.items():
            try:
                parse_network(network)
            except ValueError as problem:
                raise ValueError(f'pools.{pool}: "{network}" {problem}') from None


Claim = Object[AddressClaimSpec, AddressClaimStatus]


@plugin(
    group="tenants.gyre.dev",
    version="v1",
    kind="AddressClaim",
    group_by="/spec/pool",
    columns=[
        Column("Pool", ".spec.pool"),
        Column("Address", ".status.address"),
        Column.condition("Ready"),
        Column.age(),
    ],
)
def addresses(pool: Group[Claim], settings: AddressSettings) -> Plan:
    """Gives each AddressClaim an address that no other claim of its pool has."""
    plan = no_children()
    if pool.value not in settings.pools:
        message = (
            f"there is no pool {pool.value}: the operator adds it to the settings of the mount"
        )
        waiting = [Member(claim).not_ready("NoSuchPool", message) for claim in pool.members]
        return plan.members(waiting).not_ready("NoSuchPool", message)
    network = parse_network(settings.pools[pool.value])
    kept = kept_addresses(pool.members, network)
    taken = set(kept.values())
    free = (address for address in hosts(network) if address not in taken)
    without = 0
    for index, claim in enumerate(pool.members):
        address = kept.get(index) or next(free, None)
        if address is None:
            without += 1
            plan.member(
                Member(claim).not_ready("PoolExhausted", f"all addresses of {network} have claims")
            )
            continue
        message = f"{address} of the pool {pool.value} belongs to this claim"
        plan.member(
            Member(claim).status(AddressClaimStatus(str(address))).ready("Allocated", message)
        )
    if without:
        message = f"{without} claims have no address, because {network} has no more"
        return plan.not_ready("PoolExhausted", message)
    return plan.ready("Allocated", f"{len(pool.members)} claims have addresses of {network}")


def kept_addresses(claims: list[Claim], network: IPv4Network) -> dict[int, IPv4Address]:
    """Returns the addresses that claims keep, by their indices.

    It is the one in the status of a claim, if it is of the pool, and no older claim has it. A
    restored claim may have the address of another one.
    """
    kept: dict[int, IPv4Address] = {}
    taken: set[IPv4Address] = set()
    for index, claim in sorted(enumerate(claims), key=lambda entry: (age_key(entry[1]), entry[0])):
        address = parse_address(claim.status.address) if claim.status else None
        if address is not None and is_host(network, address) and address not in taken:
            kept[index] = address
            taken.add(address)
    return kept


def age_key(claim: Claim) -> float:
    """Returns the time of creation; 0 for a claim that is not stored."""
    created = claim.metadata.creation_timestamp
    return created.timestamp() if created else 0


def parse_address(text: str) -> IPv4Address | None:
    """Returns an address, or ``None`` if the text is none."""
    try:
        return IPv4Address(text)
    except ValueError:
        return None


def parse_network(text: str) -> IPv4Network:
    """Returns a network such as 192.0.2.0/24.

    Raises:
        ValueError: With the rest of a sentence that begins with the text.
    """
    address, slash, bits = text.partition("/")
    if (
        not slash
        or not bits.isascii()
        or not bits.isdigit()
        or int(bits) > 32
        or parse_address(address) is None
    ):
        raise ValueError("is no IPv4 network such as 192.0.2.0/24")
    try:
        return IPv4Network((address, int(bits)))
    except ValueError:
        raise ValueError(f"has bits after the first {int(bits)}") from None


def hosts(network: IPv4Network):
    """Returns the addresses of hosts: without that of the network and the broadcast address, if it
    has them."""
    # Not a list: a network may have millions.
    return network.hosts() if network.prefixlen < 32 else iter([network.network_address])


def is_host(network: IPv4Network, address: IPv4Address) -> bool:
    """Returns whether the address is one of :func:`hosts`."""
    ends = (network.network_address, network.broadcast_address)
    return address in network and (network.prefixlen >= 31 or address not in ends)
