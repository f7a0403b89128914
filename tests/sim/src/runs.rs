//! How often a child was created for each parent, as the history of the cluster has it: a Job for each Echo, for example.

use std::collections::{BTreeMap, BTreeSet};

use gyre_devcluster::Cluster;
use gyre_devcluster::store::{Presence, Resource};
use serde_json::Value;

use crate::kinds::{self, Kind};

/// Follows the history: it must be looked at before the cluster forgets.
pub struct Runs {
    cluster: Cluster,
    revision: u64,
    children: Resource,
    parents: Resource,
    /// The children that were created, by the UID of their owner.
    created: BTreeMap<String, u32>,
    /// Parents that are gone.
    gone: BTreeSet<String>,
    after_the_end: u32,
}

impl Runs {
    /// Of the Jobs of Echos, from now on.
    pub fn new(cluster: Cluster) -> Self {
        Self::of(cluster, kinds::JOB, kinds::ECHO)
    }

    /// Of children of one kind whose owners are of another one, from now on.
    pub fn of(cluster: Cluster, children: Kind, parents: Kind) -> Self {
        let [children, parents] = [children, parents].map(|kind| kind.resource());
        let revision = cluster.revision();
        Self { cluster, revision, children, parents, created: BTreeMap::new(), gone: BTreeSet::new(), after_the_end: 0 }
    }

    /// Takes in what has happened since the last time.
    ///
    /// # Panics
    ///
    /// If some of it is forgotten.
    pub fn look(&mut self) {
        let since = self.revision;
        let (children, parents) = (&self.children, &self.parents);
        let mut changes = self.cluster.with_server(|server| {
            let of = |resource| {
                let changes = server.store().changes_since(resource, since).expect("nothing is forgotten yet");
                changes.cloned().map(|change| (resource == children, change)).collect::<Vec<_>>()
            };
            let mut changes = of(children);
            changes.extend(of(parents));
            changes
        });
        changes.sort_by_key(|(_, change)| change.revision);
        for (is_child, change) in changes {
            self.revision = change.revision;
            let metadata = &change.after.value["metadata"];
            match (is_child, change.before.is_none(), change.presence) {
                (true, true, Presence::Present) => {
                    let owner = text(&metadata["ownerReferences"][0]["uid"]);
                    self.after_the_end += u32::from(self.gone.contains(&owner));
                    *self.created.entry(owner).or_default() += 1;
                }
                (false, _, Presence::Deleted) => {
                    self.gone.insert(text(&metadata["uid"]));
                }
                _ => {}
            }
        }
    }

    /// How many children were created.
    pub fn children(&self) -> u32 {
        self.created.values().sum()
    }

    /// How many of them were created when their parent was gone.
    pub fn after_the_end(&self) -> u32 {
        self.after_the_end
    }

    /// Echos that got more than one Job. A Job may only have been deleted after its Echo, or once its Echo says that it has run.
    pub fn wrongs(&self) -> Vec<String> {
        let again = self.created.iter().filter(|(_, created)| **created > 1);
        again.map(|(owner, created)| format!("{created} Jobs were created for the Echo of UID {owner}")).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
