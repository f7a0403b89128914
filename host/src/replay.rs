//! Making recorded calls again, and comparing what is answered.
//!
//! ```text
//!   file ──▶ record::Reader ──▶ call ──▶ Given ──▶ the plugin ──▶ answer ──▶ Verdict
//!                                 └──────────── recorded answer ─────────────┘
//! ```
//!
//! The plugin runs in the same sandbox and through the same function as in a host (`call::make`). With the plugin that was recorded each
//! answer is the same, byte for byte, or the plugin is not a pure function. With another version it shows what that would do otherwise.

pub(crate) mod show;

use std::collections::BTreeSet;

use gyre_engine::record::Question;
use gyre_engine::record::format::{AnswerLine, CallLine, ProgramLine};
use gyre_sandbox::Plugin;

/// A call that was made again.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// How it compares.
    pub verdict: Verdict,
    /// What is answered now.
    pub answer: AnswerLine,
    /// What was asked that the recording has no answer to: the plugin was told that there is no such kind, so what it answered then is
    /// not what it would have.
    pub unanswered: BTreeSet<Question>,
}

/// How an answer compares with the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same, byte for byte.
    Identical,
    /// Another one.
    Differs,
    /// The plugin was not asked when it was recorded, for a fault of the host.
    NotAsked,
}

/// Makes a call again. Blocks as long as the plugin runs.
pub fn replay(plugin: &Plugin, program: &ProgramLine, call: &CallLine) -> Replayed {
    let made = call.inputs(program).make(plugin);
    let answer = AnswerLine::of(&made.answer, made.usage.clock);
    let verdict = if !call.answer.is_of_the_plugin() {
        Verdict::NotAsked
    } else if is_identical(&call.answer, &answer) {
        Verdict::Identical
    } else {
        Verdict::Differs
    };
    Replayed { verdict, answer, unanswered: made.unanswered }
}

/// As they are written: what serializes alike is alike to the byte.
fn is_identical(recorded: &AnswerLine, replayed: &AnswerLine) -> bool {
    match (serde_json::to_vec(recorded), serde_json::to_vec(replayed)) {
        (Ok(recorded), Ok(replayed)) => recorded == replayed,
        _ => false,
    }
}
