//! Parents that were stored as another version of their kind than the one that the plugin reads.
//!
//! Without a conversion webhook, an API server only changes the name of the version and drops
//! fields that the version lacks. Required fields may be missing, because stored objects are not
//! validated again. So a plugin can get objects that nobody could write now.

use std::collections::BTreeMap;
use std::slice::from_ref;
use std::sync::Arc;

use gyre_devcluster::Controllers;
use gyre_engine::program::Program;
use gyre_engine::record::CallRecord;
use serde_json::{Value, json};

use super::calls::{self, wanted};
use super::compare::{self, brief};
use super::dice::Dice;
use super::drawn;
use super::finding::{Flaw, Tried};
use super::setup::{CheckSetup, ConvergedState, ExperimentResult, MOST_CALLS, MOST_PARENTS, is_named, last};
use crate::call_log::{CallLog, parent_of};
use crate::plan::Subject;
use crate::simulation::Simulation;

const MOST_DRAWN: usize = 10;
const MOST_SHOWN: usize = 10;

pub(super) struct Stored {
    program: Program,
    definition: Value,
    /// The version in which they were stored.
    version: String,
    drawn: Vec<Value>,
    /// The last calls about the unchanged parents of the files.
    calls: BTreeMap<Subject, Arc<CallRecord>>,
}

impl Stored {
    pub(super) fn name(&self) -> String {
        format!("parents stored as {}/{}", self.program.manifest().parent.group, self.version)
    }
}

/// An experiment for each other version in the CRD of the parents.
pub(super) fn all(setup: &CheckSetup, converged: &ConvergedState, seed: u64, cases: usize) -> Vec<Stored> {
    setup.programs.iter().flat_map(|program| all_of(program, setup, converged, seed, cases)).collect()
}

fn all_of(program: &Program, setup: &CheckSetup, converged: &ConvergedState, seed: u64, cases: usize) -> Vec<Stored> {
    let Some(definition) = drawn::definition(setup, program) else { return Vec::new() };
    let strategy = definition.pointer("/spec/conversion/strategy").and_then(Value::as_str);
    if strategy.is_some_and(|strategy| strategy != "None") {
        // The conversion webhook is not available here.
        return Vec::new();
    }
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let versions = versions.filter_map(|version| version.get("name")?.as_str());
    let parent = &program.manifest().parent;
    let samples: Vec<&Value> = converged.parents.iter().filter(|parent| program.reconciles(parent)).collect();
    let mut dice = Dice::new(seed);
    let stored = |version: &str| {
        let drawn = (0..cases.min(MOST_DRAWN)).zip(samples.iter().cycle()).filter_map(|(number, sample)| {
            let spec = drawn::spec(drawn::schema_of(definition, version)?, sample, &mut dice)?;
            Some(drawn::parent(sample, &format!("{}/{version}", parent.group), number, spec))
        });
        Stored {
            program: program.clone(),
            definition: definition.clone(),
            version: version.to_owned(),
            drawn: drawn.collect(),
            calls: converged.calls.clone(),
        }
    };
    versions.filter(|version| *version != parent.version).map(stored).collect()
}

impl CheckSetup {
    pub(super) async fn stored(&self, stored: &Stored) -> anyhow::Result<ExperimentResult> {
        let mut results = ExperimentResult::default();
        let Stored { program, definition, .. } = stored;
        let parent = &program.manifest().parent;
        let simulation = self.simulation(Controllers::Absent)?;
        simulation.put(with_storage_version(definition, &stored.version))?;
        self.write(&simulation, stored, &mut results).await?;
        simulation.put(definition.clone())?;

        let read: BTreeMap<Subject, Value> =
            simulation.parents(from_ref(program)).await?.into_iter().map(|object| (Subject::of(&object), object)).collect();
        let log = CallLog::new(MOST_CALLS);
        let end = simulation.with_host(&self.programs, log.recordings.clone(), simulation.until_converged()).await?;
        results.judge_end(end, &stored.name(), &simulation.actions(), || self.all());
        let all = log.calls();
        for (subject, call) in last(&all) {
            let Some(object) = read.get(&subject) else { continue };
            let of_it: Vec<Arc<CallRecord>> = all.iter().filter(|call| parent_of(call) == subject).map(Arc::clone).collect();
            let case = format!("{subject}, stored as {}/{}, is read as {}", parent.group, stored.version, brief(object));
            // If the object can be written like this today, findings are not about versions.
            let is_old = simulation.put(object.clone()).is_err();
            let objects =
                || self.all().into_iter().chain(stored.drawn.iter().filter(|drawn| is_named(drawn, &subject)).cloned());
            let remarks = calls::remarks(&of_it, &mut results.tally);
            for remark in remarks {
                let flaw = if remark.flaw.is_fault() && is_old { Flaw::OldVersion } else { remark.flaw };
                results.add(flaw, &case, remark.what, objects().collect());
            }
            if let Some(what) = self.other(stored, &subject, object, is_old, call) {
                results.add(Flaw::OldVersion, &case, what, objects().collect());
            }
        }
        Ok(results)
    }

    /// Writes parents in the other version, as a client did before an upgrade.
    async fn write(&self, simulation: &Simulation, stored: &Stored, results: &mut ExperimentResult) -> anyhow::Result<()> {
        let version = format!("{}/{}", stored.program.manifest().parent.group, stored.version);
        let mut objects = Vec::new();
        for mut object in simulation.parents(from_ref(&stored.program)).await?.into_iter().take(MOST_PARENTS) {
            let subject = Subject::of(&object);
            let written = self.written(&subject).and_then(|written| written.get("spec"));
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".to_owned(), json!(version));
                // The spec of the files lacks the defaults of the version in which it is read.
                fields.extend(written.map(|spec| ("spec".to_owned(), spec.clone())));
            }
            objects.push(object);
        }
        for object in objects.into_iter().chain(stored.drawn.iter().cloned()) {
            let is_written = simulation.write(object).await.is_ok();
            results.tally.add(if is_written { Tried::Stored } else { Tried::NotStored }, 1);
        }
        Ok(())
    }

    fn written(&self, subject: &Subject) -> Option<&Value> {
        self.objects.iter().map(|(_, object)| object).find(|object| is_named(object, subject))
    }

    /// Describes how the answer differs from that about the same parent, stored as it is read.
    fn other(&self, stored: &Stored, subject: &Subject, object: &Value, is_old: bool, call: &CallRecord) -> Option<String> {
        let before = stored.calls.get(subject)?;
        if before.answer.result.is_err() {
            return None;
        }
        if let Err(error) = &call.answer.result {
            let is_reported = !is_old || calls::fault(call).is_some();
            return (!is_reported).then(|| format!("The plugin cannot reconcile it: {error}."));
        }
        let spec = self.written(subject)?.get("spec").unwrap_or(&Value::Null);
        let read = object.get("spec").unwrap_or(&Value::Null);
        // If fields were lost, other children are to be expected.
        if !compare::lost(spec, spec, read).is_empty() || wanted(before) == wanted(call) {
            return None;
        }
        let [one, two] = [before, call].map(|call| json!(wanted(call).iter().map(desired).collect::<Vec<_>>()));
        let mut fields = Vec::new();
        compare::differences(&one, &two, "", &mut fields);
        fields.truncate(MOST_SHOWN);
        let version = subject.api_version.as_str();
        Some(format!(
            "No field is lost, but the plugin returns other children than for the same object stored as {version}.\n{}",
            fields.join("\n")
        ))
    }
}

fn desired(child: &gyre_core::response::Child) -> Value {
    match child {
        gyre_core::response::Child::Apply(object) => Value::Object(object.clone()),
        gyre_core::response::Child::Keep(kept) => json!({ "keep": kept.key.to_string() }),
    }
}

/// The CRD with this version as the storage version, and all versions served.
fn with_storage_version(definition: &Value, stored: &str) -> Value {
    let mut definition = definition.clone();
    let versions = definition.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten().filter_map(Value::as_object_mut) {
        let is_stored = version.get("name").is_some_and(|name| name == stored);
        version.insert("storage".to_owned(), Value::from(is_stored));
        version.insert("served".to_owned(), Value::from(true));
    }
    definition
}
