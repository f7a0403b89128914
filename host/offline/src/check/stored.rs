//! Parents that were stored as another version of their kind than the one that the plugin reads.
//!
//! Without a conversion webhook, an API server only changes the name of the version and drops
//! fields that the version lacks. Required fields may be missing, because stored objects are not
//! validated again. So a plugin can get objects that nobody could write now.

use std::collections::BTreeMap;
use std::slice::from_ref;
use std::sync::Arc;

use gyre_core::response::{Child, DesiredChild};
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

/// An experiment: parents are stored as another version, and then the plugin reads them.
pub(super) struct Stored {
    program: Program,
    /// The CRD of the parents.
    definition: Value,
    /// The other version.
    version: String,
    /// Parents of this version that are generated from its schema.
    drawn: Vec<Value>,
    /// The last calls about the unchanged parents of the files.
    calls: BTreeMap<Subject, Arc<CallRecord>>,
}

impl Stored {
    pub(super) fn name(&self) -> String {
        format!("parents stored as {}/{}", self.program.manifest().users_kind().group, self.version)
    }
}

/// Returns an experiment for each version in the CRD of the parents that the plugin does not read.
pub(super) fn experiments(setup: &CheckSetup, converged: &ConvergedState, seed: u64, cases: usize) -> Vec<Stored> {
    setup.programs.iter().flat_map(|program| experiments_of(program, setup, converged, seed, cases)).collect()
}

fn experiments_of(program: &Program, setup: &CheckSetup, converged: &ConvergedState, seed: u64, cases: usize) -> Vec<Stored> {
    let Some(definition) = drawn::definition(setup, program) else { return Vec::new() };
    let strategy = definition.pointer("/spec/conversion/strategy").and_then(Value::as_str);
    if strategy.is_some_and(|strategy| strategy != "None") {
        // The conversion webhook is not available here.
        return Vec::new();
    }
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let versions = versions.filter_map(|version| version.get("name")?.as_str());
    let parent = program.manifest().users_kind();
    let samples: Vec<&Value> = converged.parents.iter().filter(|parent| program.reconciles(parent)).collect();
    let mut dice = Dice::new(seed);
    let experiment = |version: &str| {
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
    versions.filter(|version| *version != parent.version).map(experiment).collect()
}

impl CheckSetup {
    pub(super) async fn stored(&self, stored: &Stored) -> anyhow::Result<ExperimentResult> {
        let mut results = ExperimentResult::default();
        let Stored { program, definition, .. } = stored;
        let parent = program.manifest().users_kind();
        let simulation = self.simulation(Controllers::Absent)?;
        simulation.put(with_storage_version(definition, &stored.version))?;
        self.write(&simulation, stored, &mut results).await?;
        simulation.put(definition.clone())?;

        let read_objects: BTreeMap<Subject, Value> =
            simulation.parents(from_ref(program)).await?.into_iter().map(|object| (Subject::of(&object), object)).collect();
        let log = CallLog::new(MOST_CALLS);
        let end = simulation.with_host(&self.programs, log.recordings.clone(), simulation.until_converged()).await?;
        results.judge_end(end, &stored.name(), &simulation.actions(), || self.all());
        let all = log.calls();
        for (subject, call) in last(&all) {
            let Some(object) = read_objects.get(&subject) else { continue };
            let calls_about_it: Vec<Arc<CallRecord>> =
                all.iter().filter(|call| parent_of(call) == subject).map(Arc::clone).collect();
            let case = format!("{subject}, stored as {}/{}, is read as {}", parent.group, stored.version, brief(object));
            // If the object can still be written like this, findings are not about versions.
            let is_invalid_now = simulation.put(object.clone()).is_err();
            let objects =
                || self.all().into_iter().chain(stored.drawn.iter().filter(|drawn| is_named(drawn, &subject)).cloned());
            let remarks = calls::remarks(&calls_about_it, &self.other_builds, &mut results.tally);
            for remark in remarks {
                let flaw = if remark.flaw.is_fault() && is_invalid_now { Flaw::OldVersion } else { remark.flaw };
                results.add(flaw, &case, remark.what, objects().collect());
            }
            if let Some(what) = self.different_answer(stored, &subject, object, is_invalid_now, call) {
                results.add(Flaw::OldVersion, &case, what, objects().collect());
            }
        }
        Ok(results)
    }

    /// Writes parents in the other version, as a client did before an upgrade.
    async fn write(&self, simulation: &Simulation, stored: &Stored, results: &mut ExperimentResult) -> anyhow::Result<()> {
        let version = format!("{}/{}", stored.program.manifest().users_kind().group, stored.version);
        let mut objects = Vec::new();
        for mut object in simulation.parents(from_ref(&stored.program)).await?.into_iter().take(MOST_PARENTS) {
            let subject = Subject::of(&object);
            let written = self.object_of_files(&subject).and_then(|written| written.get("spec"));
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".to_owned(), json!(version));
                // Not the spec as it was read, which has the defaults of the plugin's version.
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

    fn object_of_files(&self, subject: &Subject) -> Option<&Value> {
        self.objects.iter().map(|(_, object)| object).find(|object| is_named(object, subject))
    }

    /// Describes how the answer differs from the one about the same parent, when it was stored as
    /// the version that the plugin reads; `None` if a difference is to be expected.
    fn different_answer(
        &self,
        stored: &Stored,
        subject: &Subject,
        object: &Value,
        is_invalid_now: bool,
        call: &CallRecord,
    ) -> Option<String> {
        let before = stored.calls.get(subject)?;
        if before.answer.result.is_err() {
            return None;
        }
        if let Err(error) = &call.answer.result {
            // A fault is already a remark about the call.
            let is_of_version = is_invalid_now && calls::fault(call).is_none();
            return is_of_version.then(|| format!("The plugin cannot reconcile it: {error}."));
        }
        let spec = self.object_of_files(subject)?.get("spec").unwrap_or(&Value::Null);
        let read = object.get("spec").unwrap_or(&Value::Null);
        // If fields were lost, other children are to be expected.
        if !compare::lost(spec, spec, read).is_empty() || wanted(before) == wanted(call) {
            return None;
        }
        let [children_before, children_now] =
            [before, call].map(|call| json!(wanted(call).iter().map(child_json).collect::<Vec<_>>()));
        let mut fields = Vec::new();
        compare::differences(&children_before, &children_now, "", &mut fields);
        fields.truncate(MOST_SHOWN);
        let version = subject.api_version.as_str();
        Some(format!(
            "No field is lost, but the plugin returns other children than for the same object stored as {version}.\n{}",
            fields.join("\n")
        ))
    }
}

fn child_json(child: &Child) -> Value {
    match child {
        Child::Apply(DesiredChild { object, strategy: None }) => Value::Object(object.clone()),
        Child::Apply(DesiredChild { object, strategy }) => json!({ "object": object, "strategy": strategy }),
        Child::Keep(kept) => json!({ "keep": kept.key.to_string() }),
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
