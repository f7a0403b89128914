//! What plugins would do to objects: those in files, or copies of those in a live cluster.
//!
//! ```text
//! files, live ──▶ scene: embedded API server ◀── journal ◀── host::run, with a simulated clock
//!                                                  └──▶ plan: what the host wrote, in order ──▶ render, test, diff, check
//! ```
//!
//! There is no second implementation of what the host does: it is the host that runs here, until it rests. Nobody else acts: there are no
//! controllers, so a Job does not start and nothing is collected. What a plugin does next is asked with files that say how far things are.
//! `check` alone has more than that happen: it is somebody else who disturbs the world, and has garbage collected when a parent goes.

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
