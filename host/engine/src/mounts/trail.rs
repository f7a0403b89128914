//! The inputs of a parent's last reconcile, without the objects that it wrote itself.
//!
//! A plugin that writes something else at each call changes its own inputs. To slow its object down
//! (`gyre_core::pace`), the host must tell these changes from those of others. A child that a
//! reconcile wrote counts again after the next one.

use std::collections::BTreeSet;

use gyre_core::object::GroupVersionKind;
use gyre_core::queue::Time;

use crate::cluster::object::{Object, SharedObject};
use crate::fingerprint::fingerprint;

#[derive(Clone, Debug)]
pub(crate) struct Trail {
    surroundings: u64,
    parent: u64,
    /// Sorted hashes of UIDs, with resource versions.
    children: Box<[(u64, u64)]>,
    pub(crate) reads: ReadPrints,
    /// When a reconcile of the parent last wrote.
    pub(crate) wrote: Time,
}

#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) surroundings: u64,
    pub(crate) parent: &'a Object,
    pub(crate) children: &'a [(GroupVersionKind, SharedObject)],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadPrints {
    pub(crate) all: u64,
    /// The reads without the parent and its children.
    pub(crate) of_others: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Others changed something, or that is unknown.
    Change,
    /// Only time has passed since the writes of the last reconcile.
    Time,
}

impl Trail {
    /// `seen.children` are those from the beginning, `written` the UIDs that were written since.
    pub(crate) fn new(seen: &Seen<'_>, written: &BTreeSet<String>, reads: ReadPrints, wrote: Time) -> Self {
        let untouched = seen.children.iter().filter(|(_, child)| !written.contains(child.uid()));
        let parent = parent_print(seen.parent);
        Self { surroundings: seen.surroundings, parent, children: sorted(untouched).into(), reads, wrote }
    }

    /// `reads_of_others` is called only if all reads differ.
    pub(crate) fn cause(&self, seen: &Seen<'_>, all_reads: u64, reads_of_others: impl FnOnce() -> u64) -> Cause {
        let is_as_it_was = self.surroundings == seen.surroundings && self.parent == parent_print(seen.parent);
        let is_same = is_as_it_was && {
            let children = sorted(seen.children.iter());
            self.children.iter().all(|child| children.binary_search(child).is_ok())
        };
        let has_read_the_same = || self.reads.all == all_reads || self.reads.of_others == reads_of_others();
        if is_same && has_read_the_same() { Cause::Time } else { Cause::Change }
    }
}

fn sorted<'a>(children: impl Iterator<Item = &'a (GroupVersionKind, SharedObject)>) -> Vec<(u64, u64)> {
    let mut sorted: Vec<(u64, u64)> =
        children.map(|(_, child)| (fingerprint(&child.uid()), child.resource_version())).collect();
    sorted.sort_unstable();
    sorted
}

fn parent_print(parent: &Object) -> u64 {
    fingerprint(&parent.around_resource_version())
}
