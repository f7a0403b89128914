//! Addresses of pools, each given to one claim.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use gyre_sdk::{Cluster, CustomResource, Group, Manifest, Member, Plan, Reconciler, Result, Schema, Settings};
use serde::{Deserialize, Serialize};

/// A claim to one address of a pool.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "tenants.gyre.dev", version = "v1", kind = "AddressClaim")]
#[resource(status = AddressClaimStatus, column("Pool", ".spec.pool"), column("Address", ".status.address"), condition("Ready"), age)]
pub struct AddressClaimSpec {
    /// The name of the pool, which does not change.
    #[schema(rule("self == oldSelf", "a claim keeps its pool: make another claim"))]
    pub pool: String,
}

/// The status of an AddressClaim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Schema)]
pub struct AddressClaimStatus {
    /// The address, as long as the claim exists.
    pub address: String,
}

/// The reconciler.
pub struct Addresses;

/// The pools.
#[derive(Debug, Default, Deserialize, Settings)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AddressSettings {
    /// The IPv4 networks by the names of pools, e.g. `edge: 192.0.2.0/24`.
    pub pools: BTreeMap<String, String>,
}

impl Reconciler for Addresses {
    type Parent = Group<AddressClaim>;
    type Settings = AddressSettings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent)
            .named("addresses")
            .description("Gives each AddressClaim an address that no other claim of its pool has.")
            .grouped_by("/spec/pool")
    }

    fn reconcile(pool: &Group<AddressClaim>, settings: &AddressSettings, _: &Cluster) -> Result<Plan> {
        let name = pool.value().unwrap_or_default();
        let Some(network) = settings.pools.get(name).and_then(|network| network.parse::<Network>().ok()) else {
            let message = format!("there is no pool {name}: the operator adds it to the settings of the mount");
            let waiting = pool.members.iter().map(|claim| Member::of(claim).not_ready("NoSuchPool", &message));
            return Ok(Plan::no_children().members(waiting).not_ready("NoSuchPool", &message));
        };
        let kept = kept(&pool.members, &network);
        let taken: BTreeSet<Ipv4Addr> = kept.iter().flatten().copied().collect();
        let mut free = network.hosts().filter(|address| !taken.contains(address));
        let mut without = 0;
        let mut plan = Plan::no_children();
        for (claim, kept) in pool.members.iter().zip(kept) {
            let member = Member::of(claim);
            plan = plan.member(match kept.or_else(|| free.next()) {
                Some(address) => member
                    .status(AddressClaimStatus { address: address.to_string() })
                    .ready("Allocated", format!("{address} of the pool {name} belongs to this claim")),
                None => {
                    without += 1;
                    member.not_ready("PoolExhausted", format!("all addresses of {network} have claims"))
                }
            });
        }
        Ok(match without {
            0 => plan.ready("Allocated", format!("{} claims have addresses of {network}", pool.members.len())),
            _ => plan.not_ready("PoolExhausted", format!("{without} claims have no address, because {network} has no more")),
        })
    }

    fn validate_settings(settings: &AddressSettings) -> Result<(), String> {
        for (pool, network) in &settings.pools {
            network.parse::<Network>().map_err(|error| format!("pools.{pool}: {network:?} {error}"))?;
        }
        Ok(())
    }
}

/// Returns the address that each claim keeps: the one in its status, if it is of the pool, and no
/// older claim has it. A restored claim may have the address of another one.
fn kept(claims: &[AddressClaim], network: &Network) -> Vec<Option<Ipv4Addr>> {
    let mut by_age: Vec<(usize, &AddressClaim)> = claims.iter().enumerate().collect();
    by_age.sort_by_key(|(index, claim)| (claim.metadata.creation_timestamp, *index));
    let mut kept = vec![None; claims.len()];
    let mut taken = BTreeSet::new();
    for (index, claim) in by_age {
        let address = claim.status.as_ref().and_then(|status| status.address.parse().ok());
        if let (Some(address), Some(slot)) = (address.filter(|address| network.contains(*address)), kept.get_mut(index))
            && taken.insert(address)
        {
            *slot = Some(address);
        }
    }
    kept
}

/// An IPv4 network, e.g. `192.0.2.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    first: u32,
    bits: u32,
}

impl Network {
    /// The addresses of hosts: without that of the network and the broadcast address, if it has
    /// them.
    fn hosts(self) -> impl Iterator<Item = Ipv4Addr> {
        let last = self.first | self.host_bits();
        let ends = u32::from(self.bits < 31);
        (self.first + ends..=last - ends).map(Ipv4Addr::from_bits)
    }

    fn contains(self, address: Ipv4Addr) -> bool {
        let ends = u32::from(self.bits < 31);
        let last = self.first | self.host_bits();
        (self.first + ends..=last - ends).contains(&address.to_bits())
    }

    fn host_bits(self) -> u32 {
        u32::MAX.checked_shr(self.bits).unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", Ipv4Addr::from_bits(self.first), self.bits)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "is no IPv4 network such as 192.0.2.0/24".to_owned();
        let (address, bits) = text.split_once('/').ok_or_else(expected)?;
        let address: Ipv4Addr = address.parse().map_err(|_| expected())?;
        let bits = bits.parse().ok().filter(|bits| *bits <= 32).ok_or_else(expected)?;
        let network = Self { first: address.to_bits(), bits };
        if network.first & network.host_bits() != 0 {
            return Err(format!("has bits after the first {bits}"));
        }
        Ok(network)
    }
}

#[cfg(test)]
mod tests;
