//! The findings of a check, and their output.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

macro_rules! flaws {
    ($($(#[$documentation:meta])* $flaw:ident, $name:literal, $remedy:expr;)*) => {
        /// A kind of finding. See [`Flaw::name`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Flaw {
            $(#[doc = concat!("`", $name, "`.")] $(#[$documentation])* $flaw,)*
        }

        impl Flaw {
            /// All flaws.
            pub const ALL: &[Self] = &[$(Self::$flaw),*];

            /// Its name in the output.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$flaw => $name,)*
                }
            }

            const fn remedy(self) -> &'static str {
                match self {
                    $(Self::$flaw => $remedy,)*
                }
            }
        }
    };
}

const BOUND: &str = "Do less in one call, or raise the limits of the mount.";

flaws! {
    Nondeterministic, "nondeterministic",
        "Compute the answer only from the parent, the settings and the objects that the plugin reads: keep nothing in variables \
         between calls, and sort what has no order, e.g. the keys of a HashMap in Rust, a map in Go or a set in Python.";
    KeepsWriting, "restless",
        "Return the same children and status for the same inputs: without a time, counter or random number that differs between calls.";
    HotLoop, "hot-loop",
        "Request a requeue only if something is due at that time, and not earlier: when an object that was read changes, the host calls \
         the plugin anyway.";
    ChangeNotReverted, "does-not-converge",
        "In every call, return every child that should exist, whether or not it exists already: the host creates the missing ones.";
    SpecNotRestored, "spec-not-restored", "Decide by the current spec, not by what was observed of an earlier one.";
    NotResumed, "not-resumed",
        "Compute what is due from the status and the children, not from the time of the call: the host may be down when a run is due, \
         and may end between two writes.";
    MoreThanOne, "more-than-one", "Return a new child only if none of the children that the plugin reads still runs, and keep the one that does.";
    RunsAgain, "runs-again",
        "Record in the status what has run, and keep children that have ended: the cluster removes them after their ttlSecondsAfterFinished.";
    ClaimsRefused, "claims-refused",
        "Return the status in the same answer as the child: the host writes it only if the child is accepted. It writes conditions in any case.";
    InvalidStatus, "invalid-status", "Return a status that the schema of the CRD allows.";
    DroppedStatus, "dropped-status", "Add the field to the schema of the CRD's status, or do not return it.";
    KindNotServed, "kind-not-served",
        "Add the CustomResourceDefinition of the kind to the files, so that such children can be tried, or correct the kind.";
    TeardownDoesNotEnd, "teardown-does-not-end", "Report the teardown as done once nothing is left that it waits for.";
    OldVersion, "old-version",
        "Make fields that another version lacks optional, or give them the same defaults in each version: stored objects are not rewritten.";
    Trap, "trap", "Do not panic or throw: report what cannot be done as a terminal failure, or by a condition.";
    Deadline, "deadline", BOUND;
    Memory, "memory", BOUND;
    Stack, "stack", BOUND;
    LogFlood, "log-flood", BOUND;
    TooManyReads, "too-many-reads", BOUND;
    BadAnswer, "bad-answer", BOUND;
    OutsideManifest, "outside-manifest", "Declare the kind in the manifest.";
    InvalidChild, "invalid-child", "Return the child as its kind requires: the API server names the wrong field. The SDKs have a function that turns any text into a valid name, a DNS label.";
    TooSlow, "too-slow", "Do less in a call, or give the mount a longer deadline.";
    TooLarge, "too-large", "Use less memory in a call, or raise the memory limit of the mount.";
}

impl Flaw {
    pub(super) fn of_fault(reason: &str) -> Self {
        match reason {
            "Trapped" => Self::Trap,
            "DeadlineExceeded" => Self::Deadline,
            "OutOfMemory" => Self::Memory,
            "StackOverflow" => Self::Stack,
            "LogFlood" => Self::LogFlood,
            "TooManyReads" => Self::TooManyReads,
            _ => Self::BadAnswer,
        }
    }

    /// Returns whether a fault of the plugin ended a call.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::Trap
            | Self::Deadline
            | Self::Memory
            | Self::Stack
            | Self::LogFlood
            | Self::TooManyReads
            | Self::BadAnswer => true,
            Self::Nondeterministic
            | Self::KeepsWriting
            | Self::HotLoop
            | Self::ChangeNotReverted
            | Self::SpecNotRestored
            | Self::NotResumed
            | Self::MoreThanOne
            | Self::RunsAgain
            | Self::ClaimsRefused
            | Self::InvalidStatus
            | Self::DroppedStatus
            | Self::KindNotServed
            | Self::TeardownDoesNotEnd
            | Self::OldVersion
            | Self::OutsideManifest
            | Self::InvalidChild
            | Self::TooSlow
            | Self::TooLarge => false,
        }
    }
}

/// Something that a check has found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind of finding.
    pub flaw: Flaw,
    /// The experiment in which it occurred.
    pub case: String,
    /// A description in sentences, followed by lines with details.
    pub what: String,
    /// The initial objects, which reproduce it.
    pub objects: Vec<Value>,
}

impl Finding {
    /// The identity of the finding: of equal ones, only the first is kept.
    pub(super) fn gist(&self) -> (Flaw, &str) {
        match self.flaw {
            // The lines of the difference vary.
            Flaw::Nondeterministic => (self.flaw, self.what.lines().next().unwrap_or_default()),
            _ => (self.flaw, &self.what),
        }
    }

    pub(super) fn json(&self, reproduction: &Value) -> Value {
        json!({
            "finding": self.flaw.name(), "case": self.case, "what": self.what, "remedy": self.flaw.remedy(),
            "reproduce": reproduction,
        })
    }

    pub(super) fn text(&self, reproduction: &str) -> String {
        let mut text = format!("{}: {}\n", self.flaw.name(), self.case);
        self.what.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        text.push_str(&format!("    Remedy: {}\n    {}\n", self.flaw.remedy(), reproduction));
        text
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tally(BTreeMap<Tried, usize>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tried {
    Calls,
    NotCalled,
    Restarts,
    Disturbances,
    NotDisturbed,
    Specs,
    DueTimes,
    Interruptions,
    Refusals,
    Teardowns,
    Stored,
    NotStored,
    Drawn,
    NotDrawn,
    NotMade,
    Unsure,
}

impl Tally {
    pub(super) fn add(&mut self, tried: Tried, count: usize) {
        if count > 0 {
            *self.0.entry(tried).or_default() += count;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(tried, count)| self.add(*tried, *count));
    }

    pub(super) fn json(&self) -> Value {
        self.0.iter().map(|(tried, count)| (tried.key().to_owned(), json!(count))).collect::<serde_json::Map<_, _>>().into()
    }
}

impl Tried {
    const fn key(self) -> &'static str {
        match self {
            Self::Calls => "callsMadeAgain",
            Self::NotCalled => "callsNotMadeAgain",
            Self::Restarts => "restarts",
            Self::Disturbances => "disturbances",
            Self::NotDisturbed => "disturbancesNotMade",
            Self::Specs => "specsChangedAndRestored",
            Self::DueTimes => "dueTimes",
            Self::Interruptions => "interruptions",
            Self::Refusals => "dueTimesWithRefusedChildren",
            Self::Teardowns => "teardowns",
            Self::Stored => "parentsStoredAsOtherVersions",
            Self::NotStored => "parentsThatOtherVersionsRefuse",
            Self::Drawn => "specsDrawn",
            Self::NotDrawn => "specsDrawnInvalid",
            Self::NotMade => "specsNotDrawn",
            Self::Unsure => "undecided",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Calls => "calls repeated",
            Self::NotCalled => "calls not repeated, because enough calls of the same case were",
            Self::Restarts => "restarts of a host that has nothing left to do",
            Self::Disturbances => "children removed, changed or finished by another client",
            Self::NotDisturbed => "changes to children that could not be made",
            Self::Specs => "specs changed and changed back",
            Self::DueTimes => "due times passed",
            Self::Interruptions => "interruptions of the host at a due time",
            Self::Refusals => "due times at which the API server refused the children",
            Self::Teardowns => "parents deleted",
            Self::Stored => "parents stored as another version of their kind",
            Self::NotStored => "parents that another version of their kind rejects",
            Self::Drawn => "specs generated from the schema",
            Self::NotDrawn => "generated specs that the API server rejects",
            Self::NotMade => "specs that could not be generated, because no value is known for a required field",
            Self::Unsure => "changes that the API server does not allow to be undone",
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(tried, count)| writeln!(formatter, "{count:>6} {}", tried.sentence()))
    }
}
