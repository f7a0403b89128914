//! The arguments and output of previews. [`gyre_offline`] has the simulation.

use jiff::Timestamp;

mod diff;
mod fuzz;
mod live;
mod render;
mod test;

pub(crate) use self::diff::{DIFF_EXAMPLES, DiffArguments, diff};
pub(crate) use self::fuzz::{FuzzArguments, fuzz, fuzz_examples};
pub(crate) use self::render::{RENDER_EXAMPLES, RenderArguments, render};
pub(crate) use self::test::{TEST_EXAMPLES, TestArguments, test};

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| "expected a time such as 2026-01-01T09:00:00Z".to_owned())
}
