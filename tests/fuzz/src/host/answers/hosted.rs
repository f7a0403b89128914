//! A whole host on devcluster calls the plugin.

use gyre_core::grants::{Adoption, Grants, Kinds, Namespaces, WriteNamespaces};
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::{OWNER_UID_LABEL, PLUGIN_LABEL};
use gyre_devcluster::Controllers;
use gyre_devcluster::random::Random;
use gyre_engine::program::{Policy, Program, fixed};
use gyre_engine::record::Recordings;
use gyre_offline::host_run::End;
use gyre_offline::plan::{Action, Verb};
use gyre_offline::simulation::{Simulation, simulated};
use serde_json::{Value, json};

use super::describe;
use crate::host::plugin::{self, CHILDREN, Script};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

/// The API server's limits for texts of an event.
const NOTE: usize = 1_024;
const REASON: usize = 128;
const MESSAGE: usize = 1_024;

/// Runs a host until it rests, and then a second host.
pub(super) fn run(random: &mut Random, log: &mut dyn Log) -> Result<Tally, Failure> {
    let mut answer = plugin::answer(random);
    if let Ok(response) = &mut answer {
        // With a requeue every second, the host would retry rejected children every second.
        response.requeue_after_ms = response.requeue_after_ms.filter(|delay| *delay >= 60_000);
    }
    log.step(&|| format!("host, {}", describe(&answer)));
    let shown = describe(&answer);
    let is_namespaced = random.chance(0.8);
    let script = Script {
        crds: vec![plugin::definition(random, is_namespaced)],
        answer: Box::new(move |_| answer.clone()),
        ..Script::new("thing", plugin::PARENT)
    };
    let plugin = script.plugin("thing")?;
    let namespaces =
        if is_namespaced && random.chance(0.3) { Namespaces::Only(["default".to_owned()].into()) } else { Namespaces::All };
    let write_namespaces = if random.chance(0.5) { WriteNamespaces::OfParent } else { WriteNamespaces::All };
    let kinds = if random.chance(0.7) {
        Kinds::Declared
    } else {
        Kinds::Only(CHILDREN.iter().filter(|_| random.chance(0.5)).map(|child| plugin::kind(child.kind)).collect())
    };
    let adoption = if random.chance(0.5) { Adoption::Allowed } else { Adoption::Refused };
    let grants = Grants::new(plugin.manifest(), namespaces.clone()).with_write_namespaces(write_namespaces);
    let grants = grants.with_kinds(kinds).with_adoption(adoption);
    // A new host forgets quarantines, and would write other statuses.
    let policy = Policy { limits: plugin::limits(random), quarantine_after: None, ..Policy::default() };
    let program = Program { grants, policy, ..Program::new(plugin, namespaces) };
    let objects = objects(random, is_namespaced);
    let runtime = simulated().map_err(wrong)?;
    runtime.block_on(work(program, is_namespaced, objects)).map_err(|failure| Failure(format!("{failure}\n  {shown}")))
}

fn wrong(error: anyhow::Error) -> Failure {
    Failure(format!("{error:#}"))
}

fn objects(random: &mut Random, is_namespaced: bool) -> Vec<Value> {
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "default" } }),
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other" } }),
    ];
    for name in ["one", "two"].into_iter().take(1 + random.size(2)) {
        let mut parent = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": name }, "spec": {} });
        if is_namespaced {
            parent["metadata"]["namespace"] = json!("default");
        }
        parent["spec"] = json!({ "text": mutate::text(random) });
        objects.push(parent);
    }
    if random.chance(0.5) {
        objects.push(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "default" } }));
    }
    objects
}

async fn work(program: Program, is_namespaced: bool, objects: Vec<Value>) -> Result<Tally, Failure> {
    let programs = [program];
    let start = "2026-01-02T03:04:05Z".parse().map_err(|error| Failure(format!("{error}")))?;
    let simulation = Simulation::with(&programs, start, Controllers::Absent, None).map_err(wrong)?;
    for object in objects {
        let is_namespace = object["kind"] == "Namespace";
        if let (Err(error), false) = (simulation.put(object), is_namespace) {
            return Err(wrong(error));
        }
    }
    let mut tally = Tally::new();
    let (end, actions) = host(&simulation, &programs).await?;
    let [program] = &programs;
    for action in &actions {
        check(program, is_namespaced, action).map_err(|failure| Failure(format!("{failure}: {action:?}")))?;
        let outcome = if action.refusal.is_some() { "refused" } else { action.verb.name() };
        count(&mut tally, &format!("host-{outcome}"));
    }
    law(end == End::Converged, || format!("the host does not converge: {}", list(&actions)))?;
    for parent in simulation.parents(&programs).await.map_err(wrong)? {
        let mut conditions = parent["status"]["conditions"].as_array().into_iter().flatten();
        let is_short = |condition: &Value| condition["message"].as_str().is_none_or(|message| message.len() <= MESSAGE);
        law(conditions.all(is_short), || format!("a long message in {parent}"))?;
    }
    // A new host changes nothing, except to learn what the API server changes in an object.
    let (_, again) = host(&simulation, &programs).await?;
    let is_change = |action: &Action| {
        let [before, after] = action.states.each_ref().map(without_bookkeeping);
        action.refusal.is_none() && action.verb != Verb::Event && before != after
    };
    let changes: Vec<Action> = again.into_iter().filter(is_change).collect();
    law(changes.is_empty(), || format!("a host that starts again changes: {}", list(&changes)))?;
    Ok(tally)
}

fn without_bookkeeping(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| !matches!(field.as_str(), "managedFields" | "resourceVersion"));
    }
    object
}

fn list(actions: &[Action]) -> String {
    let lines: Vec<String> =
        actions.iter().map(|action| format!("\n    {action} {}", shown(&action.object.to_string()))).collect();
    lines.concat()
}

async fn host(simulation: &Simulation, programs: &[Program; 1]) -> Result<(End, Vec<Action>), Failure> {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async {
        drop(stopped.await);
    };
    let running = tokio::spawn(simulation.host(fixed(programs.to_vec()), Recordings::default(), stopped));
    let end = simulation.until_converged().await;
    let actions = simulation.actions();
    drop(stop);
    match running.await {
        Ok(ended) => ended.map_err(wrong)?,
        Err(error) => return Err(Failure(format!("the host: {error}"))),
    }
    Ok((end, actions))
}

/// Checks that the action is granted, and within the limits of the API server.
fn check(program: &Program, is_namespaced: bool, action: &Action) -> Result<(), Failure> {
    let subject = &action.subject;
    let kind = GroupVersionKind::from_api_version(&subject.api_version, &subject.kind);
    let (grants, parent) = (&program.grants, &program.manifest().parent);
    let is_of_parent = kind == *parent;
    let parent_namespace = is_namespaced.then_some("default");
    match action.verb {
        Verb::Create | Verb::Update if !is_of_parent => {
            law(grants.child(&kind).is_some(), || "a kind that is not granted".to_owned())?;
            let is_granted = grants.check_namespace(parent_namespace, subject.namespace.as_deref(), |_| false).is_ok();
            law(is_granted, || "a namespace that is not granted".to_owned())?;
            let labels = &action.object["metadata"]["labels"];
            law(labels[PLUGIN_LABEL] == "thing" && labels[OWNER_UID_LABEL].is_string(), || "no labels of the host".to_owned())
        }
        Verb::Event => {
            let length = |field: &str| action.object[field].as_str().unwrap_or_default().len();
            law(is_of_parent, || "an event about something else".to_owned())?;
            law(length("note") <= NOTE && length("reason") <= REASON, || "a long event".to_owned())
        }
        Verb::Status | Verb::Finalizers => law(is_of_parent, || "something of another kind".to_owned()),
        Verb::Delete if !is_of_parent => {
            let is_granted = grants.allows_kind(&kind) && grants.allows_deletion_in(subject.namespace.as_deref());
            let labels = &action.states[0]["metadata"]["labels"];
            law(is_granted && labels[PLUGIN_LABEL] == "thing", || "a deletion that is not granted".to_owned())
        }
        _ => Ok(()),
    }
}
