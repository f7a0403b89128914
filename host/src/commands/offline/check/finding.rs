//! What a check found, and how it is told.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

/// What is wrong, in a word. See [`Flaw::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Flaw {
    Nondeterministic,
    Restless,
    DoesNotConverge,
    SpecNotRestored,
    TeardownDoesNotEnd,
    /// A fault of the plugin, by the sandbox's reason.
    Fault(&'static str),
    OutsideManifest,
    InvalidChild,
    TooSlow,
    TooLarge,
}

impl Flaw {
    /// Short, for people and programs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nondeterministic => "nondeterministic",
            Self::Restless => "restless",
            Self::DoesNotConverge => "does-not-converge",
            Self::SpecNotRestored => "spec-not-restored",
            Self::TeardownDoesNotEnd => "teardown-does-not-end",
            Self::Fault("Trapped") => "trap",
            Self::Fault("DeadlineExceeded") => "deadline",
            Self::Fault("OutOfMemory") => "memory",
            Self::Fault("StackOverflow") => "stack",
            Self::Fault("LogFlood") => "log-flood",
            Self::Fault("TooManyReads") => "too-many-reads",
            Self::Fault(_) => "bad-answer",
            Self::OutsideManifest => "outside-manifest",
            Self::InvalidChild => "invalid-child",
            Self::TooSlow => "too-slow",
            Self::TooLarge => "too-large",
        }
    }

    /// What the author can do about it.
    fn remedy(self) -> &'static str {
        match self {
            Self::Nondeterministic => {
                "Let the answer follow from the parent, the settings and what is read alone: keep nothing in statics between calls."
            }
            Self::Restless => {
                "Let what is written follow from what is wanted: no time, counter or random number that differs from call to call."
            }
            Self::DoesNotConverge => {
                "Return every child that should exist in every call, whether or not it is there: the host creates what is missing."
            }
            Self::SpecNotRestored => "Decide from the spec as it is, not from what was observed of an earlier one.",
            Self::TeardownDoesNotEnd => "Answer that the teardown is done once nothing that it waits for is left.",
            Self::Fault("Trapped") => "Answer what cannot be done with Failure::terminal, or a condition: do not panic.",
            Self::Fault(_) => "Bound what one call does, or give the mount other limits.",
            Self::OutsideManifest => "Declare the kind in the manifest.",
            Self::InvalidChild => "Make the child as its kind wants it; `names::dns_label` makes names of any text.",
            Self::TooSlow => "Do less in a call, or give the mount a longer deadline.",
            Self::TooLarge => "Hold less at once, or give the mount more memory.",
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
    /// For programs.
    pub(super) fn json(&self, reproduce: &str) -> Value {
        json!({
            "finding": self.flaw.name(), "case": self.case, "what": self.what, "remedy": self.flaw.remedy(), "reproduce": reproduce,
        })
    }

    /// For people.
    pub(super) fn text(&self, reproduce: &str) -> String {
        let mut text = format!("{}: {}\n", self.flaw.name(), self.case);
        self.what.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        text.push_str(&format!("    To do: {}\n    To see it: {reproduce}\n", self.flaw.remedy()));
        text
    }
}

/// How much was tried, by what was checked: in the order in which they are told.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(BTreeMap<Tried, usize>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tried {
    Calls,
    Restarts,
    Disturbances,
    Specs,
    Teardowns,
    Drawn,
    NotDrawn,
    Unsure,
}

impl Tally {
    pub(super) fn add(&mut self, tried: Tried, count: usize) {
        *self.0.entry(tried).or_default() += count;
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
            Self::Restarts => "restarts",
            Self::Disturbances => "disturbances",
            Self::Specs => "specsChangedAndRestored",
            Self::Teardowns => "teardowns",
            Self::Drawn => "specsDrawn",
            Self::NotDrawn => "specsDrawnInvalid",
            Self::Unsure => "undecided",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Calls => "calls made again",
            Self::Restarts => "restarts of a host at rest",
            Self::Disturbances => "children removed, changed or finished by somebody else",
            Self::Specs => "specs changed and changed back",
            Self::Teardowns => "parents deleted",
            Self::Drawn => "specs drawn from the schema",
            Self::NotDrawn => "specs drawn that the API server refuses",
            Self::Unsure => "disturbances that the API server does not let anybody undo",
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(tried, count)| writeln!(formatter, "{count:>6} {}", tried.sentence()))
    }
}
