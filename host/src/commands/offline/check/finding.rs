//! What a check found, and how it is told.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

/// Lists what can be wrong, in the order in which it is told: each flaw with its name, for people and programs, and what the author can do.
macro_rules! flaws {
    ($($(#[$documentation:meta])* $flaw:ident, $name:literal, $remedy:expr;)*) => {
        /// What is wrong, in a word. See [`Flaw::name`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Flaw {
            $($(#[$documentation])* $flaw,)*
        }

        impl Flaw {
            /// All that there are.
            pub(super) const ALL: &[Self] = &[$(Self::$flaw),*];

            /// Short, for people and programs.
            pub(super) const fn name(self) -> &'static str {
                match self {
                    $(Self::$flaw => $name,)*
                }
            }

            /// What the author can do about it.
            const fn remedy(self) -> &'static str {
                match self {
                    $(Self::$flaw => $remedy,)*
                }
            }
        }
    };
}

const BOUND: &str = "Bound what one call does, or give the mount other limits.";

flaws! {
    Nondeterministic, "nondeterministic",
        "Let the answer follow from the parent, the settings and what is read alone: keep nothing in statics \
         between calls, and let no HashMap or HashSet decide an order: BTreeMap and BTreeSet have one.";
    Restless, "restless",
        "Let what is written follow from what is wanted: no time, counter or random number that differs from call to call.";
    HotLoop, "hot-loop",
        "Ask for another call only when something is due by then, and not sooner than it takes to happen: a change of anything that was read calls \
         the plugin by itself.";
    DoesNotConverge, "does-not-converge",
        "Return every child that should exist in every call, whether or not it is there: the host creates what is missing.";
    SpecNotRestored, "spec-not-restored", "Decide from the spec as it is, not from what was observed of an earlier one.";
    TeardownDoesNotEnd, "teardown-does-not-end", "Answer that the teardown is done once nothing that it waits for is left.";
    OldVersion, "old-version",
        "Let fields that another version lacks be optional, or have defaults, and the same ones in each version: what was stored is not made anew.";
    Trap, "trap", "Answer what cannot be done with Failure::terminal, or a condition: do not panic.";
    Deadline, "deadline", BOUND;
    Memory, "memory", BOUND;
    Stack, "stack", BOUND;
    LogFlood, "log-flood", BOUND;
    TooManyReads, "too-many-reads", BOUND;
    /// Whatever else a call can end in by the plugin's own fault.
    BadAnswer, "bad-answer", BOUND;
    OutsideManifest, "outside-manifest", "Declare the kind in the manifest.";
    InvalidChild, "invalid-child", "Make the child as its kind wants it, field by field: the API server says which one is wrong. `names::dns_label` makes names of any text.";
    TooSlow, "too-slow", "Do less in a call, or give the mount a longer deadline.";
    TooLarge, "too-large", "Hold less at once, or give the mount more memory.";
}

impl Flaw {
    /// What the plugin's own fault is called, by the sandbox's [`reason`](gyre_sandbox::call::Error::reason).
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

    /// Whether a call ended in it.
    pub(super) const fn is_fault(self) -> bool {
        match self {
            Self::Trap
            | Self::Deadline
            | Self::Memory
            | Self::Stack
            | Self::LogFlood
            | Self::TooManyReads
            | Self::BadAnswer => true,
            Self::Nondeterministic
            | Self::Restless
            | Self::HotLoop
            | Self::DoesNotConverge
            | Self::SpecNotRestored
            | Self::TeardownDoesNotEnd
            | Self::OldVersion
            | Self::OutsideManifest
            | Self::InvalidChild
            | Self::TooSlow
            | Self::TooLarge => false,
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) flaw: Flaw,
    /// What was done when it showed.
    pub(super) case: String,
    /// In sentences; lines of details.
    pub(super) what: String,
    /// What was there from the start, to see it again.
    pub(super) objects: Vec<Value>,
}

impl Finding {
    /// What it says: findings that say the same are one.
    pub(super) fn gist(&self) -> (Flaw, &str) {
        match self.flaw {
            // The lines that differ are others each time.
            Flaw::Nondeterministic => (self.flaw, self.what.lines().next().unwrap_or_default()),
            _ => (self.flaw, &self.what),
        }
    }

    /// For programs, with what shows it again.
    pub(super) fn json(&self, reproduction: &Value) -> Value {
        json!({
            "finding": self.flaw.name(), "case": self.case, "what": self.what, "remedy": self.flaw.remedy(),
            "reproduce": reproduction,
        })
    }

    /// For people, with what shows it again.
    pub(super) fn text(&self, reproduction: &str) -> String {
        let mut text = format!("{}: {}\n", self.flaw.name(), self.case);
        self.what.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        text.push_str(&format!("    To do: {}\n    {}\n", self.flaw.remedy(), reproduction));
        text
    }
}

/// How much was tried, by what was checked: in the order in which they are told.
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
            Self::Calls => "calls made again",
            Self::NotCalled => "calls that were not made again, as enough of the same case were",
            Self::Restarts => "restarts of a host at rest",
            Self::Disturbances => "children removed, changed or finished by somebody else",
            Self::NotDisturbed => "disturbances that could not be made",
            Self::Specs => "specs changed and changed back",
            Self::Teardowns => "parents deleted",
            Self::Stored => "parents stored as another version of their kind",
            Self::NotStored => "parents that another version of their kind refuses",
            Self::Drawn => "specs drawn from the schema",
            Self::NotDrawn => "specs drawn that the API server refuses",
            Self::NotMade => "specs that could not be drawn, as no value is known for a field that is required",
            Self::Unsure => "disturbances that the API server does not let anybody undo",
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(tried, count)| writeln!(formatter, "{count:>6} {}", tried.sentence()))
    }
}
