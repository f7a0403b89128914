//! Runs the golden cases of `gyre test` in `cargo test`.

use std::path::Path;

use gyre_offline::cases::{Case, EXPECTED, cases_in};

use crate::error::Result;
use crate::plugin::Plugin;
use crate::world::World;
use crate::yaml;

/// Asserts that the cases in a directory, relative to the package, have the expected results, like
/// `gyre test`. `GYRE_BLESS=1` writes the actual results as the expected ones.
///
/// # Panics
///
/// If results differ, or there are no cases.
#[track_caller]
#[expect(clippy::panic, reason = "an assertion fails the test")]
pub fn assert_cases(plugin: &Plugin, folder: impl AsRef<Path>) {
    let folder = folder.as_ref();
    let cases = match cases_in(folder) {
        Ok(cases) => cases,
        Err(error) => panic!("{error:#}"),
    };
    if cases.is_empty() {
        panic!(
            "there is no case in {}: create a directory with objects in it, and use GYRE_BLESS=1 to write its {EXPECTED}",
            folder.display()
        );
    }
    let failure = |case: &Case| check(plugin, case).unwrap_or_else(|error| Some(error.to_string()));
    let failed: Vec<String> = cases.iter().filter_map(|case| Some(format!("{}: {}", case.name, failure(case)?))).collect();
    if !failed.is_empty() {
        panic!("{} of {} cases are not as expected\n\n{}", failed.len(), cases.len(), failed.join("\n"));
    }
}

fn check(plugin: &Plugin, case: &Case) -> Result<Option<String>> {
    let run = World::of(plugin.clone()).case(&case.folder)?.start()?.wait()?;
    Ok(yaml::differs_from_golden(&run.summary(), &case.folder.join(EXPECTED)).err())
}
