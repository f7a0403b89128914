//! Why children are refused; and the refusals of one reconcile, bounded.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::object::ObjectRef;
use crate::text::cut_owned;

/// Why something desired is not done: a reason of conditions and events, and a label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum RefusalReason {
    /// The manifest does not declare the kind.
    UndeclaredKind,
    /// The child names a stronger strategy than the manifest declares for its kind.
    UndeclaredStrategy,
    /// The operator's configuration does not grant the kind.
    KindNotGranted,
    /// The operator's configuration does not grant the namespace.
    NamespaceNotGranted,
    /// The manifest does not declare that the plugin deletes parents.
    UndeclaredParentDeletion,
    /// The operator's configuration does not grant deletions of parents.
    ParentDeletionNotGranted,
    /// The manifest does not declare that the plugin sets a field of parents.
    UndeclaredParentField,
    /// The operator's configuration does not grant a field of parents.
    ParentFieldNotGranted,
    /// The plugin sets a field of its parent that no plugin may set.
    InvalidParentFields,
    /// The API server does not serve the kind.
    NotServed,
    /// The plugin returned something that is not an object that could be written.
    InvalidChild,
    /// The name is taken by an object that the parent does not own.
    ForeignObject,
    /// Another field manager holds a field. Found when applying.
    Conflict,
    /// A field cannot be changed in place. Found when applying.
    ImmutableField,
    /// The API server does not accept the object. Found when applying.
    Rejected,
    /// The namespace is being deleted, so nothing can be created in it. Found when applying.
    NamespaceTerminating,
    /// A webhook removed the labels or the ownerReference of a child. Found when applying.
    MarksRemoved,
    /// The parent's list of children that no ownerReference can name is full.
    ChildListFull,
    /// Its Namespace or CustomResourceDefinition is among the same children, and is not the
    /// parent's.
    PrerequisiteRefused,
    /// Too many children would be deleted: see [`crate::deletion_guard`]. Found when applying.
    DeletionHeld,
    /// A value of a Secret cannot be made, e.g. because its issuer is missing.
    ValueNotMade,
    /// The plugin returned a status of an object that is no member of its group, or two of one.
    InvalidMemberStatus,
}

impl RefusalReason {
    /// The name in CamelCase.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UndeclaredKind => "UndeclaredKind",
            Self::UndeclaredStrategy => "UndeclaredStrategy",
            Self::KindNotGranted => "KindNotGranted",
            Self::NamespaceNotGranted => "NamespaceNotGranted",
            Self::UndeclaredParentDeletion => "UndeclaredParentDeletion",
            Self::ParentDeletionNotGranted => "ParentDeletionNotGranted",
            Self::UndeclaredParentField => "UndeclaredParentField",
            Self::ParentFieldNotGranted => "ParentFieldNotGranted",
            Self::InvalidParentFields => "InvalidParentFields",
            Self::NotServed => "NotServed",
            Self::InvalidChild => "InvalidChild",
            Self::ForeignObject => "ForeignObject",
            Self::Conflict => "Conflict",
            Self::ImmutableField => "ImmutableField",
            Self::Rejected => "Rejected",
            Self::NamespaceTerminating => "NamespaceTerminating",
            Self::MarksRemoved => "MarksRemoved",
            Self::ChildListFull => "ChildListFull",
            Self::PrerequisiteRefused => "PrerequisiteRefused",
            Self::DeletionHeld => "DeletionHeld",
            Self::ValueNotMade => "ValueNotMade",
            Self::InvalidMemberStatus => "InvalidMemberStatus",
        }
    }
}

/// Something desired that will not be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refusal {
    /// The child, if the plugin named one.
    pub child: Option<ObjectRef>,
    /// The reason, for programs.
    pub reason: RefusalReason,
    /// The reason and the remedy, for people. It names the child.
    pub message: String,
}

/// The refusals for one reason that are reported as an Event each. More are reported as one.
pub const REPORTED_ONE_BY_ONE: usize = 5;

/// The most bytes of a message: the API server's limit for the note of an Event.
const MESSAGE: usize = 1_024;
/// The most bytes of the names of a child.
const NAME: usize = 1_024;

/// The refusals of one reconcile: the first ones for each reason, and the number of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// At most [`REPORTED_ONE_BY_ONE`] for each reason.
    first: Vec<Refusal>,
    counts: BTreeMap<RefusalReason, usize>,
}

impl Refusals {
    /// Adds a refusal.
    pub fn add(&mut self, refusal: Refusal) {
        let count = self.counts.entry(refusal.reason).or_default();
        *count = count.saturating_add(1);
        if *count <= REPORTED_ONE_BY_ONE {
            let Refusal { child, reason, message } = refusal;
            let child = child.filter(|child| name_length(child) <= NAME);
            self.first.push(Refusal { child, reason, message: cut_owned(message, MESSAGE) });
        }
    }

    /// Returns whether there are no refusals.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Removes all refusals for this reason, and returns their number.
    pub fn forget(&mut self, reason: RefusalReason) -> usize {
        self.first.retain(|refusal| refusal.reason != reason);
        self.counts.remove(&reason).unwrap_or_default()
    }

    /// The number of refusals for each reason.
    pub fn counts(&self) -> impl Iterator<Item = (RefusalReason, usize)> {
        self.counts.iter().map(|(reason, count)| (*reason, *count))
    }

    /// The refusals to report: each of a few for one reason, or one with the number of many.
    pub fn reported(&self) -> Vec<Refusal> {
        let mut summed = BTreeSet::new();
        let reported = |refusal: &Refusal| {
            let count = self.counts.get(&refusal.reason).copied().unwrap_or_default();
            if count <= REPORTED_ONE_BY_ONE {
                return Some(refusal.clone());
            }
            // The number comes first, because long messages are cut.
            let message = format!("{count} children are refused for this reason, the first of them: {}", refusal.message);
            summed.insert(refusal.reason).then(|| Refusal { message: cut_owned(message, MESSAGE), ..refusal.clone() })
        };
        self.first.iter().filter_map(reported).collect()
    }
}

impl Extend<Refusal> for Refusals {
    fn extend<T: IntoIterator<Item = Refusal>>(&mut self, refusals: T) {
        refusals.into_iter().for_each(|refusal| self.add(refusal));
    }
}

fn name_length(child: &ObjectRef) -> usize {
    let ObjectRef { kind, key } = child;
    let namespace = key.namespace.as_deref().unwrap_or_default();
    [&kind.group, &kind.version, &kind.kind, namespace, &key.name].iter().map(|text| text.len()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::object::{GroupVersionKind, ObjectKey};

    const REASONS: [RefusalReason; 3] = [RefusalReason::UndeclaredKind, RefusalReason::ForeignObject, RefusalReason::Rejected];

    fn refusal(reason: RefusalReason, message: &str) -> Refusal {
        let kind = GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: message.to_owned() };
        Refusal {
            child: Some(ObjectRef { kind, key: ObjectKey::new(None::<String>, "it") }),
            reason,
            message: message.to_owned(),
        }
    }

    fn messages(refusals: &Refusals) -> Vec<String> {
        refusals.reported().into_iter().map(|refusal| refusal.message).collect()
    }

    #[test]
    fn few_refusals_are_reported_one_by_one_and_many_as_one_with_their_number() {
        let mut refusals = Refusals::default();
        refusals.add(refusal(RefusalReason::ForeignObject, "not ours"));
        refusals.extend((0..5).map(|number| refusal(RefusalReason::UndeclaredKind, &number.to_string())));
        assert_eq!(messages(&refusals), ["not ours", "0", "1", "2", "3", "4"]);
        refusals.extend((5..9_900).map(|number| refusal(RefusalReason::UndeclaredKind, &number.to_string())));
        assert_eq!(messages(&refusals), ["not ours", "9900 children are refused for this reason, the first of them: 0"]);
        assert_eq!(refusals.forget(RefusalReason::UndeclaredKind), 9_900);
        assert_eq!(messages(&refusals), ["not ours"]);
    }

    proptest! {
        #[test]
        fn reported_refusals_are_bounded_and_count_all(
            reasons in prop::collection::vec(prop::sample::select(&REASONS[..]), 0..40), length in 0_usize..5_000,
        ) {
            let mut refusals = Refusals::default();
            refusals.extend(reasons.iter().map(|reason| refusal(*reason, &"ü".repeat(length))));
            let reported = refusals.reported();
            prop_assert!(reported.len() <= REASONS.len() * REPORTED_ONE_BY_ONE);
            prop_assert!(reported.iter().all(|refusal| refusal.message.len() <= MESSAGE));
            let names = reported.iter().filter_map(|refusal| refusal.child.as_ref()).map(name_length);
            prop_assert!(names.max().unwrap_or_default() <= NAME);
            for reason in REASONS {
                let all = reasons.iter().filter(|other| **other == reason).count();
                let reported = reported.iter().filter(|refusal| refusal.reason == reason).count();
                prop_assert_eq!(reported, if all <= REPORTED_ONE_BY_ONE { all } else { 1 });
                prop_assert_eq!(refusals.counts().find(|(other, _)| *other == reason).map_or(0, |(_, count)| count), all);
            }
            prop_assert_eq!(refusals.is_empty(), reasons.is_empty());
        }
    }
}
