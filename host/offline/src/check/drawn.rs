//! Parents that are generated from the schema of their kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::bail;
use gyre_devcluster::Controllers;
use gyre_engine::program::Program;
use gyre_engine::record::CallRecord;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::compare::brief;
use super::dice::Dice;
use super::finding::{Flaw, Tried};
use super::setup::{CheckSetup, ExperimentResult, MOST_CALLS, is_about_form, is_of_child};
use super::{calls, draw};
use crate::call_log::{CallLog, parent_of};
use crate::plan::Subject;
use crate::simulation::{Simulation, simulate};

const BATCH: usize = 10;
const MOST_REFUSED: usize = 10;
/// If this many generated specs are all equal, the schema allows only one.
const TRIES: usize = 20;

/// The most specs that are generated until the API server accepts one.
const MOST_TRIED: usize = 100;

/// Returns a parent of each plugin, for a search without files.
///
/// # Errors
/// When a plugin has no schema of its parents, or no spec that is generated from it is valid.
pub fn generated_parents(programs: &[Program], start: Timestamp, seed: u64) -> anyhow::Result<Vec<(String, Value)>> {
    let setup = CheckSetup {
        programs: programs.to_vec(),
        other_builds: Vec::new(),
        start,
        objects: Vec::new(),
        at_most_one: Vec::new(),
    };
    simulate(async {
        let simulation = setup.simulation(Controllers::Absent)?;
        let mut dice = Dice::new(seed);
        programs.iter().map(|program| generated_parent(&setup, program, &simulation, &mut dice)).collect()
    })?
}

fn generated_parent(
    setup: &CheckSetup,
    program: &Program,
    simulation: &Simulation,
    dice: &mut Dice,
) -> anyhow::Result<(String, Value)> {
    let kind = program.manifest().users_kind();
    let schema = definition(setup, program).and_then(|definition| schema_of(definition, &kind.version));
    let Some(schema) = schema else {
        bail!("the plugin {} contains no schema of {kind}: name files with objects, with -f", program.name);
    };
    let sample = json!({ "apiVersion": kind.api_version(), "kind": kind.kind });
    for _ in 0..MOST_TRIED {
        let Some(spec) = spec(schema, &sample, dice) else { continue };
        let parent = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": "generated" }, "spec": spec,
        });
        if simulation.put(parent.clone()).is_ok() {
            return Ok((format!("the schema of {kind}"), parent));
        }
    }
    bail!("found no valid {kind} in {MOST_TRIED} that were generated from its schema: name files with objects, with -f")
}

pub(super) fn definition<'a>(setup: &'a CheckSetup, program: &Program) -> Option<&'a Value> {
    let parent = program.manifest().users_kind();
    let brought = setup.programs.iter().flat_map(|program| &program.manifest().crds);
    let given = setup.objects.iter().map(|(_, object)| object);
    let mut definitions =
        brought.chain(given.filter(|object| object.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition")));
    definitions.find(|definition| {
        is_text(definition, "/spec/group", &parent.group) && is_text(definition, "/spec/names/kind", &parent.kind)
    })
}

/// The schema of a parent, in the version in which its program reads it.
pub(super) fn schema<'a>(setup: &'a CheckSetup, parent: &Value) -> Option<&'a Value> {
    let program = setup.program_of(parent)?;
    schema_of(definition(setup, program)?, &program.manifest().users_kind().version)
}

pub(super) fn schema_of<'a>(definition: &'a Value, version: &str) -> Option<&'a Value> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    versions.iter().find(|known| is_text(known, "/name", version))?.pointer("/schema/openAPIV3Schema")
}

fn is_text(value: &Value, pointer: &str, text: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_str) == Some(text)
}

pub(super) fn spec(schema: &Value, sample: &Value, dice: &mut Dice) -> Option<Value> {
    let known = schema.pointer("/properties/spec");
    // If the schema allows any fields, the spec may have any.
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    draw::value(known.unwrap_or(&open), sample.get("spec"), dice)
}

/// A spec that differs from the parent's, or `None` if the schema allows no other.
pub(super) fn other_spec(schema: &Value, sample: &Value, dice: &mut Dice) -> Option<Value> {
    (0..TRIES).filter_map(|_| spec(schema, sample, dice)).find(|drawn| Some(drawn) != sample.get("spec"))
}

/// Generates parents, grouped by cluster. Counts and replaces those that the API server rejects.
pub(super) fn worlds(
    setup: &CheckSetup,
    parents: &[Value],
    seed: u64,
    cases: usize,
    results: &mut ExperimentResult,
) -> anyhow::Result<Vec<Vec<Value>>> {
    let samples: Vec<(&Value, &Value)> = parents.iter().filter_map(|parent| Some((parent, schema(setup, parent)?))).collect();
    simulate(async {
        let simulation = setup.simulation(Controllers::Absent)?;
        let mut dice = Dice::new(seed);
        let mut drawn = Vec::new();
        for (sample, schema) in samples.iter().cycle().take(cases.saturating_mul(MOST_REFUSED)) {
            let number = drawn.len();
            if number >= cases {
                break;
            }
            let Some(spec) = spec(schema, sample, &mut dice) else {
                results.tally.add(Tried::NotMade, 1);
                continue;
            };
            let parent = parent(sample, &Subject::of(sample).api_version, number, spec);
            // All get the same name, because no host reads them here.
            let mut tried = parent.clone();
            if let Some(name) = tried.pointer_mut("/metadata/name") {
                *name = Value::from("drawn");
            }
            if simulation.put(tried).is_ok() {
                drawn.push(parent);
            } else {
                results.tally.add(Tried::NotDrawn, 1);
            }
        }
        if !samples.is_empty() && drawn.len() < cases {
            results.notes.push(format!(
                "{} of {cases} specs were generated: no more were found that the API server accepts.",
                drawn.len()
            ));
        }
        Ok(drawn.chunks(BATCH).map(<[Value]>::to_vec).collect())
    })?
}

pub(super) fn parent(sample: &Value, api_version: &str, number: usize, spec: Value) -> Value {
    let subject = Subject::of(sample);
    let mut metadata = json!({ "name": format!("drawn-{number}") });
    if let (Some(namespace), Some(fields)) = (subject.namespace, metadata.as_object_mut()) {
        fields.insert("namespace".to_owned(), Value::from(namespace));
    }
    json!({ "apiVersion": api_version, "kind": subject.kind, "metadata": metadata, "spec": spec })
}

impl CheckSetup {
    pub(super) async fn drawn(&self, parents: &[Value]) -> anyhow::Result<ExperimentResult> {
        let mut results = ExperimentResult::default();
        let simulation = self.simulation(Controllers::Absent)?;
        let own: BTreeSet<Subject> = self.parents(&simulation).await?.iter().map(Subject::of).collect();
        let others: Vec<Value> =
            self.objects.iter().filter(|(_, object)| !is_one_of(&own, object)).map(|(_, object)| object.clone()).collect();
        let mut world = World { others, drawn: Vec::new() };
        for parent in parents {
            let tried = if simulation.put(parent.clone()).is_ok() { Tried::Drawn } else { Tried::NotDrawn };
            results.tally.add(tried, 1);
            if tried == Tried::Drawn {
                world.drawn.push(parent);
            }
        }
        let log = CallLog::new(MOST_CALLS);
        let end = simulation.with_host(&self.programs, log.recordings.clone(), simulation.until_converged()).await?;
        let actions = simulation.actions();
        let mut calls: BTreeMap<Subject, Vec<Arc<CallRecord>>> = BTreeMap::new();
        for call in log.calls() {
            calls.entry(parent_of(&call)).or_default().push(call);
        }
        for (Subject { name, .. }, calls) in calls.iter().filter(|(subject, _)| world.parent(&subject.name).is_some()) {
            let remarks = calls::remarks(calls, &self.other_builds, &mut results.tally);
            for remark in remarks {
                results.add(remark.flaw, &world.case(name), remark.what, world.objects(name));
            }
        }
        let all = || world.others.iter().chain(world.drawn.iter().copied()).cloned().collect();
        results.judge_end(end, "specs generated from the schema", &actions, all);
        for action in actions.iter().filter(|action| is_of_child(action)) {
            // A spec may ask for anything, but names and labels are up to the plugin.
            let Some(refusal) = action.refusal.as_ref().filter(|said| is_about_form(said) && is_about_metadata(said)) else {
                continue;
            };
            let owner = action.object.pointer("/metadata/ownerReferences/0/name").and_then(Value::as_str).unwrap_or_default();
            let what = format!("The API server rejects the child {}: {refusal}.", action.subject);
            results.add(Flaw::InvalidChild, &world.case(owner), what, world.objects(owner));
        }
        Ok(results)
    }
}

struct World<'a> {
    others: Vec<Value>,
    drawn: Vec<&'a Value>,
}

impl World<'_> {
    fn parent(&self, name: &str) -> Option<&Value> {
        self.drawn.iter().copied().find(|parent| parent.pointer("/metadata/name").is_some_and(|known| known == name))
    }

    fn objects(&self, name: &str) -> Vec<Value> {
        self.others.iter().chain(self.parent(name)).cloned().collect()
    }

    fn case(&self, name: &str) -> String {
        let spec = self.parent(name).and_then(|parent| parent.get("spec")).map(brief).unwrap_or_default();
        format!("{name}, generated from the schema: {spec}")
    }
}

fn is_one_of(subjects: &BTreeSet<Subject>, object: &Value) -> bool {
    let mut subject = Subject::of(object);
    let is_there = subjects.contains(&subject);
    subject.namespace = Some("default".to_owned());
    is_there || subjects.contains(&subject)
}

fn is_about_metadata(refusal: &str) -> bool {
    refusal.contains(" metadata.name") || refusal.contains(" metadata.labels") || refusal.contains(" metadata.annotations")
}
