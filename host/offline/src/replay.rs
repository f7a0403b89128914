//! Makes recorded calls again, and compares the answers.
//!
//! ```text
//!   file ──▶ record::Reader ──▶ call ──▶ CallInputs ──▶ the plugin ──▶ answer ──▶ Verdict
//!                                 └────────────── recorded answer ─────────────────┘
//! ```
//!
//! The sandbox and the calling function are those of a host. The recorded plugin gives the same
//! answers, byte for byte, if it is a pure function. Another version shows what it does
//! differently.

pub mod show;

use std::collections::BTreeSet;

use gyre_engine::record::Question;
use gyre_engine::record::format::{AnswerLine, CallLine, ProgramLine};
use gyre_sandbox::Plugin;

/// A call that was made again.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// How the answers compare.
    pub verdict: Verdict,
    /// The new answer.
    pub answer: AnswerLine,
    /// Reads that the recording does not contain. They were answered as for a kind that does not
    /// exist, so a real cluster may get another answer.
    pub unanswered: BTreeSet<Question>,
}

/// How an answer compares with the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal, byte for byte.
    Identical,
    /// Not equal.
    Differs,
    /// The recording has no answer, because of a fault of the host.
    NotRecorded,
}

/// Makes a call again. Blocks while the plugin runs.
pub fn replay(plugin: &Plugin, program: &ProgramLine, call: &CallLine) -> Replayed {
    let made = call.inputs(program).make(plugin);
    let answer = AnswerLine::of(&made.answer, made.usage.clock);
    let verdict = if !call.answer.is_of_the_plugin() {
        Verdict::NotRecorded
    } else if is_identical(&call.answer, &answer) {
        Verdict::Identical
    } else {
        Verdict::Differs
    };
    Replayed { verdict, answer, unanswered: made.unanswered }
}

fn is_identical(recorded: &AnswerLine, replayed: &AnswerLine) -> bool {
    match (serde_json::to_vec(recorded), serde_json::to_vec(replayed)) {
        (Ok(recorded), Ok(replayed)) => recorded == replayed,
        _ => false,
    }
}
