//! Redacts changes.

use std::sync::Arc;

use gyre_sandbox::Bytes;

use crate::difference::{self, Change};
use crate::mounts::active_program::ActiveProgram;
use crate::program::Program;

pub(super) fn redacted<'a>(
    changes: Vec<Change>,
    active_programs: impl IntoIterator<Item = &'a Arc<ActiveProgram>>,
) -> (Vec<Change>, bool) {
    let active_programs: Vec<&Arc<ActiveProgram>> = active_programs.into_iter().collect();
    let seen: Vec<Bytes> = active_programs.iter().flat_map(|active| active.secrets()).collect();
    let seen: Vec<&[u8]> = seen.iter().map(|secret| &**secret).collect();
    let programs: Vec<&Program> = active_programs.iter().map(|active| &*active.program).collect();
    difference::redacted(changes, &seen, &programs)
}
