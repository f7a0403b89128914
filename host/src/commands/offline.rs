//! Previews of what plugins would do with objects from files, or with copies of objects of a live cluster.
//!
//! ```text
//! files, live ──▶ scene: embedded API server ◀── journal ◀── host::run, with a simulated clock
//!                                                  └──▶ plan: what the host wrote, in order ──▶ render, test, diff, check
//! ```
//!
//! Previews run the real host until it stops writing. There is no second implementation of it. No other client acts: there are no
//! controllers, so a Job does not start, and no garbage is collected. Files with a later state show what a plugin does next.
//! Only `check` does more: it changes objects like another client, and collects garbage when a parent is deleted.

pub(crate) mod cases;
pub(crate) mod check;
mod diff;
mod foretold;
mod journal;
mod live;
mod parallel;
pub(crate) mod plan;
pub(crate) mod render;
pub(crate) mod rendered;
pub(crate) mod scene;
mod selection;
mod shown;

pub(crate) use cases::{TEST_EXAMPLES, TestArguments, test};
pub(crate) use check::{CheckArguments, check, check_examples};
pub(crate) use diff::{DIFF_EXAMPLES, DiffArguments, diff};
pub(crate) use render::{RENDER_EXAMPLES, RenderArguments, render};

use jiff::Timestamp;

/// A time of day, for clap.
fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| "expected a time such as 2026-01-01T09:00:00Z".to_owned())
}
