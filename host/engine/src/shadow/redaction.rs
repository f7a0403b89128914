//! Redacts changes.

use std::sync::Arc;

use gyre_sandbox::Bytes;

use crate::difference::{self, Change};
use crate::mounts::active_program::ActiveProgram;
use crate::program::Program;

pub(super) fn redacted<'a>(
    changes: Vec<Change>,
    lives: impl IntoIterator<Item = &'a Arc<ActiveProgram>>,
) -> (Vec<Change>, bool) {
    let lives: Vec<&Arc<ActiveProgram>> = lives.into_iter().collect();
    let seen: Vec<Bytes> = lives.iter().flat_map(|live| live.secrets()).collect();
    let seen: Vec<&[u8]> = seen.iter().map(|secret| &**secret).collect();
    let programs: Vec<&Program> = lives.iter().map(|live| &*live.program).collect();
    difference::redacted(changes, &seen, &programs)
}
