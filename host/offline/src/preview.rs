//! Previews what a host would do in a live cluster: runs it on a copy of the objects.

use std::collections::BTreeSet;

use anyhow::bail;
use gyre_core::grants::Namespaces;
use gyre_devcluster::Controllers;
use gyre_devcluster::server::Origin;
use gyre_engine::program::Program;
use gyre_engine::telemetry::progress::Progress;
use gyre_sandbox::Plugin;
use jiff::Timestamp;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::host_run::HostRun;
use crate::live::{self, Copies, LiveCluster, PreviousChildKinds, unread};
use crate::plan::{Subject, Verb};
use crate::selection::is_child_of;
use crate::simulation::{Simulation, simulate};

/// The most copies. A created child may exist in the cluster without having been copied. If it
/// does, the host runs again on a copy with it, and the plugin may choose another name.
const MOST_COPIES: usize = 10;

/// The actions of a host on a copy of a live cluster.
pub struct Preview {
    /// The objects of the live cluster that the programs read.
    pub copied: Vec<(String, Value)>,
    /// The run of the host.
    pub host_run: HostRun,
    /// The namespace of objects in files that have none.
    pub namespace: String,
    /// The URL of the live cluster.
    pub url: String,
    /// The parts that the programs need and the cluster lacks, each as part of a sentence.
    pub remarks: Vec<String>,
    /// Whether the parents of a program could not be read.
    pub lacks_parents: bool,
}

/// The Secrets among some objects, as JSON.
pub fn texts_of_secrets<'a>(objects: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let is_secret = |object: &&Value| object.get("kind").and_then(Value::as_str) == Some("Secret");
    objects.filter(is_secret).map(Value::to_string).collect()
}

/// Copies the objects of a live cluster that the programs use, applies the files to the copy, and
/// runs a host on it. Children of kinds that previous versions declared are copied, too.
///
/// # Guarantees
/// The live cluster is only read.
///
/// # Errors
/// When the cluster cannot be read; or an error about an object, after the name of its file.
pub fn preview(
    threads: &Runtime,
    cluster: LiveCluster,
    programs: &[Program],
    previous_versions: &[Plugin],
    files: &[(String, Value)],
    time: Timestamp,
) -> anyhow::Result<Preview> {
    let entries = threads.block_on(cluster.inventories()).map_err(|error| unread(error, &cluster.url))?;
    let previous_child_kinds = live::previous_child_kinds(entries, programs, previous_versions);
    let LiveCluster { client, mut namespace, url, .. } = cluster;
    if let Some(only) = only_namespace(programs) {
        namespace = only;
    }
    let named = named_namespaces(programs, files, &namespace);
    let copies = threads
        .block_on(live::copies(&client, programs, &previous_child_kinds, &named))
        .map_err(|error| unread(error, &url))?;
    let Copies { objects: mut copied, absent, mut remarks, lacks_parents } = copies;
    let generated: Vec<&Value> =
        copied.iter().map(|(_, object)| object).filter(|object| live::record(object).is_some()).collect();
    // Several deployments in a cluster have keys of their own.
    let own: Vec<&Value> = generated.iter().copied().filter(|secret| is_child_of(programs, secret)).collect();
    let with_key = if own.is_empty() { &generated } else { &own };
    let digest_key = if generated.is_empty() { None } else { threads.block_on(live::digest_key(&client, with_key))? };
    if digest_key.is_none() && !generated.is_empty() {
        remarks.push(
            "digests of generated values are others than in the cluster, because the Secret with their key could not be read"
                .to_owned(),
        );
    }
    let (mut looked_for, progress) = (BTreeSet::new(), Progress::default());
    for _ in 0..MOST_COPIES {
        progress.say(format_args!("{} objects read; running the host on the copy", copied.len()));
        let host_run = simulate(run_on_copy(
            programs,
            &previous_child_kinds,
            digest_key.as_ref(),
            &copied,
            Files { objects: files, namespace: &namespace, absent: &absent },
            time,
        ))??;
        let known: BTreeSet<Subject> = copied.iter().map(|(_, object)| Subject::of(object)).collect();
        let is_new = |subject: &Subject| !known.contains(subject) && !looked_for.contains(subject);
        let created = host_run.actions.iter().filter(|action| action.verb == Verb::Create).map(|action| action.subject.clone());
        let created: BTreeSet<Subject> = created.filter(is_new).collect();
        let taken = threads.block_on(live::named(&client, &created))?;
        if taken.is_empty() {
            return Ok(Preview { copied, host_run, namespace, url, remarks, lacks_parents });
        }
        looked_for.extend(created);
        copied.extend(taken);
    }
    bail!("no stable preview after {MOST_COPIES} attempts: all names that the plugin chooses are taken in the cluster")
}

#[derive(Clone, Copy)]
struct Files<'a> {
    objects: &'a [(String, Value)],
    namespace: &'a str,
    absent: &'a BTreeSet<String>,
}

fn named_namespaces(programs: &[Program], files: &[(String, Value)], default: &str) -> BTreeSet<String> {
    let of_mounts = programs.iter().filter_map(|program| match &program.namespaces {
        Namespaces::Only(names) => Some(names.iter().map(ToString::to_string)),
        Namespaces::All => None,
    });
    let subjects: Vec<Subject> = files.iter().map(|(_, object)| Subject::of(object)).collect();
    let mut named: BTreeSet<String> = of_mounts.flatten().collect();
    named.extend(subjects.iter().filter_map(|subject| subject.namespace.clone()));
    named.insert(default.to_owned());
    for brought in subjects.iter().filter(|subject| subject.kind == "Namespace" && subject.api_version == "v1") {
        named.remove(&brought.name);
    }
    named
}

async fn run_on_copy(
    programs: &[Program],
    previous_child_kinds: &PreviousChildKinds,
    digest_key: Option<&Value>,
    copied: &[(String, Value)],
    files: Files<'_>,
    time: Timestamp,
) -> anyhow::Result<HostRun> {
    let mut simulation = Simulation::new(programs, time, Controllers::Absent)?;
    simulation.put_all(Origin::Stored, copied.to_vec())?;
    simulation.put_inventory(programs, previous_child_kinds)?;
    if let Some(data) = digest_key {
        simulation.put_digest_key(data)?;
    }
    simulation.apply_all(files.objects.to_vec(), files.namespace, files.absent).await?;
    simulation.run(programs).await
}

fn only_namespace(programs: &[Program]) -> Option<String> {
    let mut namespaces = programs.iter().map(|program| match &program.namespaces {
        Namespaces::Only(names) if names.len() == 1 => names.iter().next(),
        _ => None,
    });
    let first = namespaces.next()??;
    namespaces.all(|other| other == Some(first)).then(|| first.to_string())
}
