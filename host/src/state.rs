//! What a host is doing at this moment, for people: the dump behind `/debug/state`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::informer::{Extent, Informer};
use crate::mount::{Lead, Mount, Phase};
use crate::mounts::Mounts;
use crate::program::Program;
use crate::work::WorkQueue;

/// So many keys of each sort are listed for a mount; all are counted.
const LISTED: usize = 100;

/// Everything, as JSON.
pub(crate) fn dump(mounts: &Mounts, queue: &WorkQueue, informers: &[Arc<Informer>]) -> Value {
    let all = mounts.all();
    let mounted: Vec<Value> = all.iter().map(|(mount, program)| mount_state(mount, program, queue)).collect();
    let mut watches: Vec<Value> = informers.iter().map(|informer| watch_state(informer)).collect();
    watches.sort_by_key(|watch| (text(watch, "kind"), text(watch, "namespace"), text(watch, "labelSelector")));
    json!({ "mounts": mounted, "leaving": mounts.leaving(), "watches": watches })
}

fn watch_state(informer: &Informer) -> Value {
    let (target, health) = (informer.target(), informer.health());
    let down = health.down();
    json!({
        "kind": target.kind.to_string(),
        "namespace": target.namespace,
        "labelSelector": target.label_selector,
        "metadataOnly": target.extent == Extent::Metadata,
        "objects": informer.store().len(),
        "synced": informer.is_synced(),
        "silentForSeconds": health.silent_for().as_secs(),
        "downForSeconds": down.as_ref().map(|down| down.since.elapsed().as_secs()),
        "error": down.and_then(|down| down.error),
    })
}

fn mount_state(mount: &Mount, wanted: &Program, queue: &WorkQueue) -> Value {
    let phase = mount.phase();
    let reason = match &phase {
        Phase::Refused(reason) => Some(reason.as_str()),
        _ => None,
    };
    let live = mount.live();
    let program = live.as_ref().map_or(wanted, |live| &live.program);
    let (readers, reads) = mount.count_reads();
    let awaited: Vec<String> = live.iter().flat_map(|live| live.awaited_kinds()).map(|kind| kind.to_string()).collect();
    let quarantine = live.as_ref().and_then(|live| live.probation.quarantined()).map(|held| {
        json!({
            "reason": held.reason,
            "faults": held.faults,
            "forSeconds": queue.now().saturating_since(held.since).as_secs(),
            "probeInSeconds": held.until.saturating_since(queue.now()).as_secs(),
        })
    });
    json!({
        "name": &*mount.name,
        "plugin": program.manifest().name,
        "version": program.manifest().version,
        "digest": program.plugin.digest().to_string(),
        "isChangingOver": live.as_ref().is_some_and(|live| !live.program.is_same(wanted)),
        "leads": mount.leads() == Lead::Yes,
        "phase": phase.as_str(),
        "reason": reason,
        "parent": program.manifest().parent.to_string(),
        "parents": live.as_ref().map(|live| live.parents.len()),
        "awaitedKinds": awaited,
        "reads": { "parents": readers, "reads": reads },
        "quarantine": quarantine,
        "queue": queue_state(mount, queue),
    })
}

fn queue_state(mount: &Mount, queue: &WorkQueue) -> Value {
    queue.look(|queue, now| {
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
            "queued": queue.depth_of(&mount.name),
            "inProgress": in_progress.count,
            "longestInProgressSeconds": in_progress.longest.as_secs(),
            "parkedCount": queue.parked_len(&mount.name),
            "parked": parked,
            "delayed": delayed,
        })
    })
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
