//! Decides what to do when server-side apply reports that others manage the plugin's fields.
//!
//! Applies are not forced, so that controllers that disagree do not undo each other's work for
//! ever. But `kubectl edit` takes a field over too, and never sets it again, so a person's edit is
//! undone.

mod skip;

use std::time::Duration;

use serde::Serialize;

use crate::queue::{RECHECK, Time};

pub use self::skip::{Skipped, skip};

/// The forced applies to an object within [`WINDOW`]: a person does not edit more often.
pub const FORCED_APPLIES: u32 = 3;

/// The period in which forced applies are counted.
pub const WINDOW: Duration = RECHECK;

/// The treatment of a child if other managers hold some of its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Refuse the child, so that all its fields stay as they are.
    #[default]
    Refuse,
    /// Apply it without the fields of others, with a warning.
    SkipField,
}

/// A field that another manager holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The field, such as `.spec.schedule`.
    pub field: String,
    /// The manager's name.
    pub manager: String,
    /// How it manages the field.
    pub hold: Hold,
}

/// How a manager manages a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// By server-side apply: it will apply the value again.
    Applied,
    /// Through a subresource, such as an autoscaler through `scale`.
    Subresource,
    /// By a plain update: it changed the value once.
    Updated,
}

/// The decision about conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Apply again, forced.
    ForceApply,
    /// Leave the fields to the others, and report them.
    Refuse,
}

impl Conflict {
    /// Parses a cause of the API server's answer. The message is `conflict with "NAME"`, then
    /// `with subresource "NAME"`, or `using VERSION` for an update (`printManager` in
    /// `k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go`).
    pub fn parse(field: &str, message: &str) -> Self {
        let (manager, rest) = message
            .strip_prefix("conflict with ")
            .and_then(quoted)
            // An unknown wording counts as the strongest claim.
            .unwrap_or_else(|| (message.to_owned(), ""));
        let hold = if rest.starts_with(" with subresource ") {
            Hold::Subresource
        } else if rest.starts_with(" using ") {
            Hold::Updated
        } else {
            Hold::Applied
        };
        Self { field: field.to_owned(), manager, hold }
    }
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut unescaped = String::new();
    let mut characters = inner.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((unescaped, inner.get(index + 1..)?)),
            '\\' => unescaped.push(characters.next()?.1),
            other => unescaped.push(other),
        }
    }
    None
}

/// The number of forced applies to one object, and the time of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForceApplyHistory {
    since: Time,
    count: u32,
}

impl ForceApplyHistory {
    /// Decides about these conflicts. Forced applies are counted, and forgotten after [`WINDOW`].
    pub fn resolve(&mut self, conflicts: &[Conflict], now: Time) -> Resolution {
        if self.count == 0 || now.saturating_since(self.since) >= WINDOW {
            *self = Self { since: now, count: 0 };
        }
        let edits_only = conflicts.iter().all(|conflict| conflict.hold == Hold::Updated);
        if !edits_only || conflicts.is_empty() || self.count >= FORCED_APPLIES {
            return Resolution::Refuse;
        }
        self.count += 1;
        Resolution::ForceApply
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_api_servers_words_are_understood() {
        for (message, manager, hold) in [
            (r#"conflict with "helm""#, "helm", Hold::Applied),
            (r#"conflict with "kubectl-edit" using batch/v1 at 2026-01-01T00:00:00Z"#, "kubectl-edit", Hold::Updated),
            (r#"conflict with "kubectl-patch" using batch/v1"#, "kubectl-patch", Hold::Updated),
            (r#"conflict with "hpa" with subresource "scale" using apps/v1"#, "hpa", Hold::Subresource),
            (r#"conflict with "a \"b\"" using v1"#, r#"a "b""#, Hold::Updated),
            ("something else", "something else", Hold::Applied),
            (r#"conflict with "unfinished"#, r#"conflict with "unfinished"#, Hold::Applied),
        ] {
            let expected = Conflict { field: ".spec".to_owned(), manager: manager.to_owned(), hold };
            assert_eq!(Conflict::parse(".spec", message), expected);
        }
    }

    fn conflicts(holds: &[Hold]) -> Vec<Conflict> {
        let conflict = |hold| Conflict { field: ".spec.a".to_owned(), manager: "other".to_owned(), hold };
        holds.iter().copied().map(conflict).collect()
    }

    #[test]
    fn edits_are_undone_and_claims_are_respected() {
        for (holds, expected) in [
            (&[Hold::Updated][..], Resolution::ForceApply),
            (&[Hold::Updated, Hold::Updated], Resolution::ForceApply),
            (&[Hold::Updated, Hold::Applied], Resolution::Refuse),
            (&[Hold::Applied], Resolution::Refuse),
            (&[Hold::Subresource], Resolution::Refuse),
            (&[], Resolution::Refuse),
        ] {
            assert_eq!(ForceApplyHistory::default().resolve(&conflicts(holds), Time::default()), expected, "{holds:?}");
        }
    }

    #[test]
    fn a_manager_that_edits_repeatedly_is_not_a_person() {
        let edit = conflicts(&[Hold::Updated]);
        let mut history = ForceApplyHistory::default();
        let at = |seconds| Time::from_duration(Duration::from_secs(seconds));
        for second in 0..u64::from(FORCED_APPLIES) {
            assert_eq!(history.resolve(&edit, at(second)), Resolution::ForceApply);
        }
        assert_eq!(history.resolve(&edit, at(100)), Resolution::Refuse);
        assert_eq!(history.resolve(&edit, at(WINDOW.as_secs() - 1)), Resolution::Refuse);
        assert_eq!(history.resolve(&edit, at(WINDOW.as_secs())), Resolution::ForceApply);
    }

    fn holds() -> impl Strategy<Value = Vec<Hold>> {
        let hold = prop_oneof![6 => Just(Hold::Updated), 1 => Just(Hold::Applied), 1 => Just(Hold::Subresource)];
        proptest::collection::vec(hold, 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_claim_is_never_overruled_and_an_edit_only_so_often(
            turns in proptest::collection::vec((holds(), 0..200_u64), 1..60),
        ) {
            let mut history = ForceApplyHistory::default();
            let mut now = Time::default();
            let mut moments: Vec<Time> = Vec::new();
            for (holds, pause) in turns {
                now = now + Duration::from_secs(pause);
                if history.resolve(&conflicts(&holds), now) == Resolution::ForceApply {
                    prop_assert!(!holds.is_empty() && holds.iter().all(|hold| *hold == Hold::Updated));
                    moments.push(now);
                }
            }
            for (index, first) in moments.iter().enumerate() {
                let near = moments.iter().skip(index).take_while(|moment| moment.saturating_since(*first) < WINDOW);
                prop_assert!(near.count() <= 2 * FORCED_APPLIES as usize);
            }
        }

        #[test]
        fn any_words_are_read_and_names_come_back(manager in "\\PC{0,20}", words in "\\PC{0,40}") {
            let quoted = manager.replace('\\', "\\\\").replace('"', "\\\"");
            let parsed = Conflict::parse(".spec", &format!("conflict with \"{quoted}\" using v1"));
            prop_assert_eq!((parsed.manager, parsed.hold), (manager, Hold::Updated));
            prop_assert_eq!(Conflict::parse(&words, &words).field, words);
        }
    }
}
