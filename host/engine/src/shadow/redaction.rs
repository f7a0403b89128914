//! Redacts changes.

use gyre_sandbox::Bytes;

use crate::cluster::view::ViewSnapshot;
use crate::difference::{self, Change};
use crate::mounts::active_program::secrets;
use crate::program::Program;

/// Redacts the Secrets that the programs can see.
pub(super) fn redacted<'a>(
    changes: Vec<Change>,
    seen: impl IntoIterator<Item = (&'a Program, &'a [ViewSnapshot])>,
) -> (Vec<Change>, bool) {
    let (programs, views): (Vec<&Program>, Vec<&[ViewSnapshot]>) = seen.into_iter().unzip();
    let seen: Vec<Bytes> = secrets(views.into_iter().flatten());
    let seen: Vec<&[u8]> = seen.iter().map(|secret| &**secret).collect();
    difference::redacted(changes, &seen, &programs)
}
