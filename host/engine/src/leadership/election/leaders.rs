//! The leaders according to the Leases, for clients that ask another replica.

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};

/// The holders of the Leases of one election.
#[derive(Debug)]
pub struct Leaders {
    namespace: String,
    identity: String,
    holders: Mutex<Holders>,
}

#[derive(Debug, Default)]
struct Holders {
    all: Option<String>,
    mounts: BTreeMap<String, String>,
}

impl Leaders {
    /// The leaders of an election with Leases in `namespace`, seen by the replica `identity`.
    pub fn new(namespace: &str, identity: &str) -> Self {
        Self { namespace: namespace.to_owned(), identity: identity.to_owned(), holders: Mutex::default() }
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the Pod of the replica that leads a mount; `None` if no Lease names another replica.
    pub(crate) fn of(&self, mount: &str) -> Option<String> {
        self.holder(mount).filter(|holder| *holder != self.identity).map(|holder| pod(&holder).to_owned())
    }

    /// Returns the Pod of the replica that leads a mount, also if it is this one.
    pub(crate) fn leader(&self, mount: &str) -> Option<String> {
        self.holder(mount).map(|holder| pod(&holder).to_owned())
    }

    fn holder(&self, mount: &str) -> Option<String> {
        let holders = self.holders();
        holders.mounts.get(mount).or(holders.all.as_ref()).cloned()
    }

    pub(super) fn set_all(&self, holder: Option<&str>) {
        self.holders().all = holder.map(str::to_owned);
    }

    pub(super) fn set(&self, mount: &str, holder: Option<&str>) {
        let mut holders = self.holders();
        match holder {
            Some(holder) => _ = holders.mounts.insert(mount.to_owned(), holder.to_owned()),
            None => _ = holders.mounts.remove(mount),
        }
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock()
    }
}

fn pod(holder: &str) -> &str {
    holder.rsplit_once('_').map_or(holder, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_of_a_mount_takes_precedence_and_this_replica_is_never_another_leader() {
        let leaders = Leaders::new("gyre-system", "gyre-1_00ff");
        assert_eq!(leaders.of("echo"), None);
        leaders.set_all(Some("gyre-2_0a0b"));
        assert_eq!(leaders.of("echo").as_deref(), Some("gyre-2"));
        leaders.set("echo", Some("gyre_3_0c0d"));
        assert_eq!(leaders.of("echo").as_deref(), Some("gyre_3"));
        leaders.set("echo", Some("gyre-1_00ff"));
        assert_eq!((leaders.of("echo"), leaders.leader("echo").as_deref()), (None, Some("gyre-1")));
        leaders.set("echo", None);
        leaders.set_all(None);
        assert_eq!((leaders.of("echo"), leaders.leader("echo")), (None, None));
    }
}
