//! The current state of a host, for people: the dump of `/debug/state`.

use std::sync::Arc;

use gyre_core::deletion_guard::HeldDeletions;
use gyre_core::milliseconds;
use gyre_core::object::GroupVersionKind;
use gyre_core::quarantine::{Held, QuarantineScope};
use gyre_core::queue::Priority;
use serde_json::{Value, json};

use crate::cluster::informer::Informer;
use crate::leadership::Claims;
use crate::leadership::election::Leaders;
use crate::mounts::Mounts;
use crate::mounts::mount::{Lead, Mount, Phase};
use crate::program::Program;
use crate::shadow::Shadow;
use crate::target::Projection;
use crate::work::WorkQueue;

/// The maximum number of keys that are listed per state and mount; all are counted.
const LISTED: usize = 100;

/// Who leads the mounts.
#[derive(Clone, Copy)]
pub(crate) struct Leading<'a> {
    /// `None` if the API server has not answered yet.
    pub(crate) claims: Option<&'a Claims>,
    /// `None` without leader election.
    pub(crate) leaders: Option<&'a Leaders>,
}

/// Returns the state as JSON.
pub(crate) fn dump(mounts: &Mounts, queue: &WorkQueue, informers: &[Arc<Informer>], leading: Leading<'_>) -> Value {
    let all = mounts.all();
    let mounted: Vec<Value> = all.iter().map(|(mount, program)| mount_state(mount, program, queue, leading)).collect();
    let mut watches: Vec<Value> = informers.iter().map(|informer| watch_state(informer)).collect();
    watches.sort_by_key(|watch| (text(watch, "kind"), text(watch, "namespace"), text(watch, "labelSelector")));
    json!({ "version": env!("CARGO_PKG_VERSION"), "mounts": mounted, "leaving": mounts.unmounting(), "watches": watches })
}

fn watch_state(informer: &Informer) -> Value {
    let (target, health) = (informer.target(), informer.health());
    let down = health.down();
    json!({
        "kind": target.kind.to_string(),
        "namespace": target.namespace,
        "labelSelector": target.label_selector,
        "metadataOnly": target.projection == Projection::Metadata,
        "objects": informer.store().len(),
        "synced": informer.is_synced(),
        "silentForSeconds": health.silent_for().as_secs(),
        "downForSeconds": down.as_ref().map(|down| down.since.elapsed().as_secs()),
        "error": down.and_then(|down| down.error),
    })
}

fn claim_state(claims: &Claims, mount: &Mount) -> Value {
    let held_for = claims.of(&mount.name).held_for();
    json!({
        "isOf": match (claims, held_for) {
            (_, None) => "a host without leader election",
            (Claims::Host(_), _) => "the host",
            (Claims::Mounts(_), _) => "the mount",
        },
        "isHeld": held_for.is_none_or(|held_for| !held_for.is_zero()),
        "heldForMilliseconds": held_for.map(milliseconds::of),
    })
}

fn mount_state(mount: &Mount, wanted: &Program, queue: &WorkQueue, leading: Leading<'_>) -> Value {
    let phase = mount.phase();
    let reason = match &phase {
        Phase::Refused(reason) => Some(reason.as_str()),
        _ => None,
    };
    let active = mount.active();
    let program = active.as_ref().map_or(wanted, |active| &active.program);
    let (readers, reads) = mount.count_reads();
    let awaited: Vec<String> = mount.awaited_kinds().iter().map(ToString::to_string).collect();
    let unpruned = active.iter().flat_map(|active| active.unpruned_kinds());
    let unpruned: Vec<Value> =
        unpruned.map(|kind| json!({ "kind": kind.resource.kind().to_string(), "error": kind.error })).collect();
    let quarantine = active.as_ref().and_then(|active| active.call_guard.quarantined()).map(|held| {
        json!({
            "reason": held.reason,
            "faults": held.faults,
            "forSeconds": queue.now().saturating_since(held.since).as_secs(),
            "probeInSeconds": held.until.saturating_since(queue.now()).as_secs(),
        })
    });
    let scopes = active.as_ref().map(|active| active.call_guard.quarantined_scopes(LISTED)).unwrap_or_default();
    let scopes: Vec<Value> = scopes.1.iter().map(|(scope, held)| quarantined_scope(scope, held, queue)).collect();
    json!({
        "name": &*mount.name,
        "plugin": program.manifest().name,
        "version": program.manifest().version,
        "digest": program.plugin.digest().to_string(),
        "artifact": artifact_state(program),
        "isChangingOver": active.as_ref().is_some_and(|active| !active.program.same_except_shadow(wanted)),
        "leads": mount.leads() == Lead::Yes,
        "leader": leading.leaders.and_then(|leaders| leaders.leader(&mount.name)),
        "claim": leading.claims.map(|claims| claim_state(claims, mount)),
        "calls": { "running": mount.running.count(), "overdueSeconds": mount.running.overdue().as_secs() },
        "phase": phase.as_str(),
        "reason": reason,
        "parent": program.manifest().users_kind().to_string(),
        "parents": active.as_ref().map(|active| active.users_objects().len()),
        "awaitedKinds": awaited,
        "unprunedKinds": unpruned,
        "remembered": mount.remembered(),
        "reads": { "parents": readers, "reads": reads },
        "quarantine": quarantine,
        "quarantinedFor": scopes,
        "heldDeletions": held_deletions(mount),
        "shadow": Shadow::of(mount).map(|shadow| shadow.state()),
        "queue": queue_state(mount, queue),
    })
}

/// The plugin in its registry, or `null`.
fn artifact_state(program: &Program) -> Value {
    let artifact = program.artifact.as_ref();
    json!(artifact.map(|artifact| json!({ "reference": &*artifact.reference, "digest": &*artifact.digest })))
}

fn held_deletions(mount: &Mount) -> Vec<Value> {
    let held = |(kind, held): &(GroupVersionKind, HeldDeletions)| {
        let HeldDeletions { children, parents } = held;
        json!({ "kind": kind.to_string(), "children": children, "parents": parents })
    };
    mount.held_deletions().iter().map(held).collect()
}

fn quarantined_scope(scope: &QuarantineScope, held: &Held, queue: &WorkQueue) -> Value {
    let (namespace, object) = match scope {
        QuarantineScope::Namespace(namespace) => (Some(namespace), None),
        QuarantineScope::Object(object) => (None, Some(object)),
    };
    json!({
        "namespace": namespace,
        "object": object,
        "reason": held.reason,
        "faults": held.faults,
        "probeInSeconds": held.until.saturating_since(queue.now()).as_secs(),
    })
}

fn queue_state(mount: &Mount, queue: &WorkQueue) -> Value {
    queue.inspect(|queue, now| {
        let in_progress = queue.in_progress_of(&mount.name, now);
        let parked: Vec<Value> = queue
            .parked(&mount.name)
            .take(LISTED)
            .map(|(key, failures)| json!({ "object": key.to_string(), "failures": failures }))
            .collect();
        let delayed: Vec<Value> = queue
            .delayed_keys(&mount.name, LISTED)
            .map(|(key, delayed)| {
                json!({
                    "object": key.to_string(),
                    "failures": delayed.failures,
                    "dueInSeconds": delayed.until.saturating_since(now).as_secs(),
                })
            })
            .collect();
        json!({
            "entries": queue.entries_of(&mount.name),
            "queued": queue.depth_of(&mount.name),
            "queuedAtLowPriority": queue.depth_at(&mount.name, Priority::Low),
            "inProgress": in_progress.count,
            "longestInProgressSeconds": in_progress.longest.as_secs(),
            "failing": queue.retries_of(&mount.name) + queue.parked_len(&mount.name),
            "parkedCount": queue.parked_len(&mount.name),
            "parked": parked,
            "delayed": delayed,
        })
    })
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use gyre_core::object::ObjectKey;
    use gyre_core::queue::{MountOptions, Options, Retry};

    use super::*;
    use crate::telemetry::metrics::Metrics;

    #[tokio::test]
    async fn listed_keys_are_limited_and_all_keys_are_counted() {
        let queue = WorkQueue::new(Options::default(), Arc::new(Metrics::default()));
        let (full, other) = (Mount::new("full".into()), Mount::new("other".into()));
        for mount in [&full, &other] {
            queue.add_mount(&mount.name, MountOptions { max_retries: Some(0), ..MountOptions::workers(4) });
        }
        let add = |number: usize| {
            let key = ObjectKey::new(Some("default"), format!("object-{number}"));
            queue.add(&full.name, key, if number.is_multiple_of(2) { Priority::Normal } else { Priority::Low });
        };
        for number in 0..3 * LISTED {
            add(number);
            let taken = queue.take().await;
            queue.done(&taken.mount, &taken.key, Retry::Backoff);
        }
        for number in 3 * LISTED..6 * LISTED {
            add(number);
            let taken = queue.take().await;
            queue.done(&taken.mount, &taken.key, Retry::After(std::time::Duration::from_secs(60)));
        }
        for number in 6 * LISTED..6 * LISTED + 4 {
            add(number);
        }
        let _taken = queue.take().await;
        let state = queue_state(&full, &queue);
        let count = |field: &str| state[field].as_array().map(Vec::len);
        assert_eq!((state["parkedCount"].as_u64(), count("parked")), (Some(300), Some(LISTED)));
        assert_eq!(state["failing"], 300, "those that wait for a requested time have not failed");
        assert_eq!(count("delayed"), Some(LISTED));
        assert_eq!((&state["queued"], &state["queuedAtLowPriority"], &state["inProgress"]), (&json!(3), &json!(2), &json!(1)));
        assert!(state.to_string().len() < 40_000);
        let state = queue_state(&other, &queue);
        assert_eq!((&state["queued"], &state["parkedCount"]), (&json!(0), &json!(0)));
    }
}
