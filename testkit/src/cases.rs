//! Runs the golden cases of `gyre test` in `cargo test`.

use std::path::Path;

use serde_json::json;

use crate::plugin::Plugin;
use crate::session::Session;
use crate::yaml;

/// Asserts that the cases in a directory, relative to the package, have the expected results, like
/// `gyre test`. `GYRE_BLESS=1` writes the actual results as the expected ones.
///
/// # Panics
///
/// If results differ, or there are no cases.
#[track_caller]
pub fn assert_cases(plugin: &Plugin, folder: impl AsRef<Path>) {
    let cases = json!({"plugin": plugin.number(), "folder": folder.as_ref(), "write": yaml::bless()});
    yaml::assert_same_by(|| {
        let session = Session::open()?;
        session.add(plugin);
        session.ask(&json!({"cases": cases}))
    });
}
