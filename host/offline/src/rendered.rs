//! Runs a host on objects of files.

use std::collections::BTreeSet;

use anyhow::bail;
use gyre_core::text::list;
use gyre_devcluster::Controllers;
use gyre_devcluster::server::Origin;
use gyre_engine::program::Program;
use jiff::Timestamp;
use serde_json::Value;

use crate::host_run::HostRun;
use crate::simulation::{Simulation, simulate};

/// Runs a host with the programs on the objects, in a new simulated cluster.
///
/// # Errors
/// An error about an object, after the name of its file.
pub fn rendered(programs: &[Program], objects: Vec<(String, Value)>, time: Timestamp) -> anyhow::Result<HostRun> {
    check_parents(programs, &objects)?;
    simulate(async {
        let simulation = Simulation::new(programs, time, Controllers::Absent)?;
        simulation.put_all(Origin::Written, objects)?;
        simulation.run(programs).await
    })?
}

/// Checks that the objects contain a parent.
///
/// # Errors
/// When there is none, or its apiVersion or kind is wrong.
pub fn check_parents(programs: &[Program], objects: &[(String, Value)]) -> anyhow::Result<()> {
    let is_parent = |object: &Value| programs.iter().any(|program| program.reconciles(object));
    if objects.iter().any(|(_, object)| is_parent(object)) {
        return Ok(());
    }
    let wanted = list(programs.iter().map(|program| program.manifest().users_kind()));
    let kinds: BTreeSet<&str> = objects.iter().filter_map(|(_, object)| object.get("kind")?.as_str()).collect();
    if kinds.is_empty() {
        bail!("the files contain no {wanted} for the plugin to reconcile: add one");
    }
    bail!(
        "the files contain no {wanted} for the plugin to reconcile, only {}: add one, or correct its apiVersion and kind",
        list(kinds)
    )
}
