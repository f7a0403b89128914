//! Whatever a test starts a host on, `gyre render` foretells what the host does first: to each object of the plan, the first thing that it
//! does is the first of the plan.
//!
//! What comes later is the test's own doing, and so may be that something is not done at all: the host may be stopped before, never lead, or
//! lack the permission. How many objects were compared, and what was not done, is told on standard output, with `--nocapture`.
//!
//! What is absent: hosts beside another one of their test, which would be foretold what that one is doing; objects of other tests, and those
//! in no namespace; bodies and events, which [`crate::foretold`] compares where nobody else acts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use gyre_controlplane::Mark;
use serde_json::{Value, json};

use crate::foretold::Step;
use crate::harness::{Cluster, GYRE};
use crate::plane::Plane;

/// Hosts that nothing is foretold of, by the name of their test, and why.
const UNFORETOLD: [(&str, &str); 1] =
    [("election", "parents change while leaders are killed amid their writes, of which nobody knows then what became")];

/// What `gyre run` takes and `gyre render` takes, too, with a value.
const WITH_VALUE: [&str; 12] = [
    "--config",
    "--plugin",
    "--plugin-dir",
    "--settings",
    "--namespace",
    "--workers",
    "--max-retries",
    "--quarantine-after",
    "--call-deadline",
    "--call-memory",
    "--code-cache",
    "--compiled",
];

/// What hosts call themselves, whoever's they are.
const HOST: &str = "gyre/";

/// What is tried and not done; see [`Step`].
const REFUSED: &str = "refused";

/// An object: its kind, namespace and name.
type Object = (String, String, String);

/// What a host that is about to start will do first. It is compared with what the host did when this is dropped.
pub(crate) struct Foretelling {
    plane: Plane,
    test: String,
    since: Mark,
    first: BTreeMap<Object, String>,
}

impl Foretelling {
    /// Looks at a cluster for a host with those arguments; none if there is nothing to foretell.
    pub(crate) fn of(plane: Plane, test: &str, kubeconfig: &Path, arguments: &[&str]) -> Option<Self> {
        // Time is simulated, but for that of calls, and those of the one plugin end with their deadline.
        if UNFORETOLD.iter().any(|(other, _)| *other == test) || arguments.contains(&gyre_artifacts::guests::ENDLESS_LOOP) {
            return None;
        }
        let since = plane.audit_barrier().ok()?;
        let mut command = Command::new(GYRE);
        command.args(["render", "--from-cluster", "-o", "json", "--kubeconfig"]).arg(kubeconfig);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if WITH_VALUE.contains(argument) {
                command.arg(argument).args(arguments.next());
            } else if *argument == "--adopt" {
                command.arg(argument);
            }
        }
        let output = command.output().expect("gyre runs");
        let Ok(rendered) = serde_json::from_slice::<Value>(&output.stdout) else {
            // Plugins and configurations that cannot be read are the matter of some tests.
            println!("{test}: nothing is foretold: {}", String::from_utf8_lossy(&output.stderr).trim());
            return None;
        };
        let mut first = first(test, rendered["plan"].as_array().expect("a plan").iter().map(Step::foretold));
        first.retain(|_, verb| verb != REFUSED);
        Some(Self { plane, test: test.to_owned(), since, first })
    }

    fn compare(&self) -> Result<(), String> {
        self.plane.audit_barrier().map_err(|error| error.to_string())?;
        let audit = self.plane.audit().map_err(|error| error.to_string())?;
        let events =
            audit.matching(self.since, |event| event.user_agent.starts_with(HOST)).map_err(|error| error.to_string())?;
        // A conflict is made good, or it stands.
        let answered = events.iter().filter(|event| event.code != 409);
        let done = first(&self.test, answered.filter_map(Step::done));
        let mut wrong = Vec::new();
        let mut left = Vec::new();
        for (object, foretold) in &self.first {
            let (resource, namespace, name) = object;
            match done.get(object) {
                Some(verb) if verb == foretold => {}
                // Whether it was to be created or changed is not known of what was refused, or never answered.
                Some(verb) if verb == REFUSED => left.push(format!("{foretold} {resource} {namespace}/{name}")),
                Some(verb) => {
                    wrong.push(format!("{resource} {namespace}/{name}: {foretold} was foretold, and {verb} was done"))
                }
                None => left.push(format!("{foretold} {resource} {namespace}/{name}")),
            }
        }
        let as_foretold = self.first.len() - wrong.len() - left.len();
        println!("{}: {as_foretold} of {} objects as foretold; not done: {left:?}", self.test, self.first.len());
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

/// What is done first to each object in the test's own namespaces, events apart.
fn first(test: &str, steps: impl Iterator<Item = Step>) -> BTreeMap<Object, String> {
    let mut first = BTreeMap::new();
    for step in steps.filter(|step| step.verb != "event" && step.namespace.starts_with(test)) {
        first.entry((step.resource, step.namespace, step.name)).or_insert(step.verb);
    }
    first
}

impl Drop for Foretelling {
    fn drop(&mut self) {
        if self.first.is_empty() || std::thread::panicking() {
            return;
        }
        if let Err(error) = self.compare() {
            panic!("{}: the host did not do what `gyre render` foretold:\n{error}", self.test);
        }
    }
}

#[test]
fn what_a_host_does_otherwise_than_was_foretold_is_noticed() {
    let Some(cluster) = Cluster::for_test("mistold", &["mistold"]) else { return };
    if cluster.audit_mark().is_none() {
        return;
    }
    let metadata = json!({ "name": "it", "namespace": "mistold" });
    let spec = json!({ "message": "hello" });
    cluster.apply_all(&[json!({ "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": metadata, "spec": spec })]);
    let mut host = cluster.host(&[gyre_artifacts::ECHO], &["mistold"]);
    cluster.ready("mistold", "echo", "it");
    let mut foretelling = host.foretelling.take().expect("a foretelling");
    drop(host);
    let object = |kind: &str| (kind.to_owned(), "mistold".to_owned(), "it".to_owned());
    let expected = BTreeMap::from([(object("jobs"), "create".to_owned()), (object("echos"), "status".to_owned())]);
    assert_eq!(foretelling.first, expected);
    assert_eq!(foretelling.compare(), Ok(()));
    foretelling.first.insert(object("jobs"), "update".to_owned());
    let error = foretelling.compare().expect_err("it is wrong");
    assert_eq!(error, "jobs mistold/it: update was foretold, and create was done");
    foretelling.first.clear();
}
