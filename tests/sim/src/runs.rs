//! Counts how often a child was created for each parent, by the history of the cluster.

use std::collections::{BTreeMap, BTreeSet};

use gyre_devcluster::Cluster;
use gyre_devcluster::store::{Presence, Resource};
use serde_json::Value;

use crate::kinds::{self, Kind};

/// Follows the history. Call [`Self::read_history`] before the cluster forgets.
pub struct Runs {
    cluster: Cluster,
    revision: u64,
    children: Resource,
    parents: Resource,
    created: BTreeMap<String, u32>,
    gone: BTreeSet<String>,
    after_the_end: u32,
}

impl Runs {
    /// Counts the Jobs of Echos, from now on.
    pub fn new(cluster: Cluster) -> Self {
        Self::of(cluster, kinds::JOB, kinds::ECHO)
    }

    /// Counts children of a kind whose owners are of another kind, from now on.
    pub fn of(cluster: Cluster, children: Kind, parents: Kind) -> Self {
        let [children, parents] = [children, parents].map(|kind| kind.resource());
        let revision = cluster.revision();
        Self { cluster, revision, children, parents, created: BTreeMap::new(), gone: BTreeSet::new(), after_the_end: 0 }
    }

    /// Reads the history since the last call.
    ///
    /// # Panics
    ///
    /// If the cluster has forgotten a part.
    pub fn read_history(&mut self) {
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

    /// Returns the number of created children.
    pub fn children(&self) -> u32 {
        self.created.values().sum()
    }

    /// Returns the number of children created after their parent was gone.
    pub fn after_the_end(&self) -> u32 {
        self.after_the_end
    }

    /// Returns the Echos with more than one Job. A Job is deleted only after its Echo or its run.
    pub fn wrongs(&self) -> Vec<String> {
        let again = self.created.iter().filter(|(_, created)| **created > 1);
        again.map(|(owner, created)| format!("{created} Jobs were created for the Echo of UID {owner}")).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
