//! What the inputs of a reconcile were when the last one of the same parent ended, as far as it did not write them itself.
//!
//! A plugin that writes something else each time it is called changes its own inputs: the status, the children, what it reads of them. So
//! that its object can be slowed down (`gyre_core::pace`), a change by others has to be told from that. What the last reconcile wrote is
//! left out here: a child that it created, changed or deleted counts again once another reconcile has ended.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher as _};

use gyre_core::object::GroupVersionKind;
use gyre_core::queue::Time;

use crate::cluster::object::{Object, SharedObject};

/// See the module's documentation. It has 16 bytes for each child.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    /// Of the program, and of the kinds that are served.
    surroundings: u64,
    parent: u64,
    /// Hashes of UIDs, and resource versions, in order.
    children: Box<[(u64, u64)]>,
    /// Of what its call read, or the last one before it.
    pub(crate) reads: ReadPrints,
    /// When a reconcile of the parent last wrote.
    pub(crate) wrote: Time,
}

/// The state at the beginning or the end of a reconcile.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// A fingerprint of the program, and of the kinds that are served.
    pub(crate) surroundings: u64,
    pub(crate) parent: &'a Object,
    pub(crate) children: &'a [(GroupVersionKind, SharedObject)],
}

/// Fingerprints of what was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadPrints {
    /// Of all of it.
    pub(crate) all: u64,
    /// Without the parent and its children.
    pub(crate) of_others: u64,
}

/// The cause of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Others changed something, or it is not known.
    Change,
    /// Time has passed, and nothing else has changed but by what the last reconcile wrote.
    Time,
}

impl Trail {
    /// After a reconcile that began with the children that it saw, of which it wrote those with these UIDs; the parent is as it left it.
    pub(crate) fn new(seen: &Seen<'_>, written: &BTreeSet<String>, reads: ReadPrints, wrote: Time) -> Self {
        let untouched = seen.children.iter().filter(|(_, child)| !written.contains(child.uid()));
        let parent = parent_print(seen.parent);
        Self { surroundings: seen.surroundings, parent, children: sorted(untouched).into(), reads, wrote }
    }

    /// Why there is a reconcile that begins with this. The fingerprint without its own objects is asked for only
    /// if the other one differs.
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
    let mut sorted: Vec<(u64, u64)> = children.map(|(_, child)| (hash(&child.uid()), child.resource_version())).collect();
    sorted.sort_unstable();
    sorted
}

fn parent_print(parent: &Object) -> u64 {
    hash(&parent.around_resource_version())
}

/// A fingerprint.
pub(crate) fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
