//! The state of a host as text: a row for each mount, and notes on what needs attention.
//!
//! Fields that a host of another version does not have are shown as `-`.

use serde_json::Value;

/// The most failing objects that are noted for each mount; all are counted.
const MOST_FAILING: usize = 10;

const ABSENT: &str = "-";

/// The answer of `/debug/state`.
pub(super) struct State<'a>(pub(super) &'a Value);

const HEADER: [&str; 11] =
    ["NAME", "VERSION", "DIGEST", "ARTIFACT", "PHASE", "PARENT", "PARENTS", "QUEUED", "FAILING", "QUARANTINE", "LEADER"];

impl State<'_> {
    /// Returns the header and the mounts, without numbers that change all the time.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let header = HEADER.iter().map(|&heading| heading.to_owned()).collect();
        std::iter::once(header).chain(list(self.0, "/mounts").iter().map(row)).collect()
    }

    /// Returns a sentence for each thing that somebody may have to do something about.
    pub(super) fn notes(&self) -> Vec<String> {
        let mounts = list(self.0, "/mounts");
        let mut notes: Vec<String> = Vec::new();
        if mounts.is_empty() {
            notes.push("the host has no mounts".to_owned());
        }
        for mount in mounts {
            let name = text(mount, "/name");
            notes.extend(of_mount(mount).into_iter().map(|note| format!("{name}: {note}")));
        }
        let leaving = list(self.0, "/leaving").iter().filter_map(Value::as_str);
        notes.extend(leaving.map(|name| format!("{name}: is being unmounted, and its finalizers are removed")));
        for watch in list(self.0, "/watches") {
            if let Some(error) = watch.pointer("/error").and_then(Value::as_str) {
                notes.push(format!("the watch of {} is down: {error}", text(watch, "/kind")));
            }
        }
        notes
    }
}

fn row(mount: &Value) -> Vec<String> {
    let of = |field: &str| text(mount, field);
    let leader = match (mount.pointer("/leader").and_then(Value::as_str), mount.pointer("/leads")) {
        (Some(leader), _) => leader.to_owned(),
        (None, Some(Value::Bool(true))) => "this host".to_owned(),
        (None, _) => ABSENT.to_owned(),
    };
    let quarantine = match (is_there(mount, "/quarantine"), list(mount, "/quarantinedFor").len()) {
        (true, _) => "all".to_owned(),
        (false, 0) => "none".to_owned(),
        (false, scopes) => scopes.to_string(),
    };
    vec![
        of("/name"),
        of("/version"),
        short(&of("/digest")),
        short(&of("/artifact/digest")),
        of("/phase"),
        of("/parent"),
        of("/parents"),
        of("/queue/queued"),
        of("/queue/failing"),
        quarantine,
        leader,
    ]
}

/// The beginning of a digest, without the name of its algorithm.
fn short(digest: &str) -> String {
    digest.strip_prefix("sha256:").unwrap_or(digest).chars().take(12).collect()
}

fn of_mount(mount: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    if is_there(mount, "/reason") {
        notes.push(format!("refused: {}", text(mount, "/reason")));
    }
    for kind in list(mount, "/awaitedKinds").iter().filter_map(Value::as_str) {
        notes.push(format!(
            "the API server does not serve {kind}: apply its CustomResourceDefinition, e.g. as `gyre crds` prints it"
        ));
    }
    for kind in list(mount, "/unprunedKinds") {
        notes.push(format!("children of the former kind {} are not deleted: {}", text(kind, "/kind"), text(kind, "/error")));
    }
    let quarantine = mount.pointer("/quarantine").filter(|quarantine| !quarantine.is_null());
    for quarantine in quarantine.into_iter().chain(list(mount, "/quarantinedFor")) {
        let scope = match ["/object", "/namespace"].map(|field| quarantine.pointer(field).and_then(Value::as_str)) {
            [Some(object), _] => format!(" for {object}"),
            [None, Some(namespace)] => format!(" for the namespace {namespace}"),
            [None, None] => String::new(),
        };
        notes.push(format!("quarantined{scope} after {} faults: {}", text(quarantine, "/faults"), text(quarantine, "/reason")));
    }
    for held in list(mount, "/heldDeletions") {
        let [children, kind, parents] = ["/children", "/kind", "/parents"].map(|field| text(held, field));
        notes.push(format!("{children} deletions of {kind} are held, of {parents} parents"));
    }
    if mount.pointer("/calls/overdueSeconds").and_then(Value::as_u64).unwrap_or(0) > 0 {
        notes.push("a call runs past its deadline".to_owned());
    }
    notes.extend(failing(mount));
    notes
}

fn failing(mount: &Value) -> Vec<String> {
    let failures = |object: &Value| object.pointer("/failures").and_then(Value::as_u64).unwrap_or(0);
    let parked = list(mount, "/queue/parked").iter().map(|object| (object, "waits for a change"));
    let delayed = list(mount, "/queue/delayed").iter().map(|object| (object, "is retried"));
    let all = parked.chain(delayed.filter(|(object, _)| failures(object) > 0));
    let note = |(object, next): (&Value, &str)| {
        let (object, times) = (text(object, "/object"), failures(object));
        format!("{object} has failed {times} {}, and {next}", if times == 1 { "time" } else { "times" })
    };
    let mut notes: Vec<String> = all.map(note).take(MOST_FAILING).collect();
    let count = mount.pointer("/queue/failing").and_then(Value::as_u64).unwrap_or(0);
    if notes.len() == MOST_FAILING && count > MOST_FAILING as u64 {
        notes.push(format!("{} more objects are failing", count - MOST_FAILING as u64));
    }
    notes
}

fn is_there(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).is_some_and(|found| !found.is_null())
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => ABSENT.to_owned(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_that_needs_attention_is_noted() {
        let delayed: Vec<Value> =
            (0..20).map(|number| json!({ "object": format!("a/{number}"), "failures": number, "dueInSeconds": 1 })).collect();
        let mount = json!({
            "name": "it", "phase": "Refused", "reason": "its kind is taken", "awaitedKinds": ["A.v1"], "unprunedKinds": [{"kind": "B.v1", "error": "forbidden"}],
            "quarantine": {"reason": "Trapped", "faults": 5}, "quarantinedFor": [{"namespace": "a", "object": null, "reason": "OutOfMemory", "faults": 7}],
            "calls": {"overdueSeconds": 3}, "queue": {"failing": 40, "parked": [{"object": "a/parked", "failures": 6}], "delayed": delayed},
        });
        let state = json!({ "mounts": [mount], "leaving": ["old"], "watches": [{"kind": "C.v1", "error": "refused"}, {"kind": "D.v1", "error": null}] });
        let expected = "\
it: refused: its kind is taken
it: the API server does not serve A.v1: apply its CustomResourceDefinition, e.g. as `gyre crds` prints it
it: children of the former kind B.v1 are not deleted: forbidden
it: quarantined after 5 faults: Trapped
it: quarantined for the namespace a after 7 faults: OutOfMemory
it: a call runs past its deadline
it: a/parked has failed 6 times, and waits for a change
it: a/1 has failed 1 time, and is retried
it: a/2 has failed 2 times, and is retried
it: a/3 has failed 3 times, and is retried
it: a/4 has failed 4 times, and is retried
it: a/5 has failed 5 times, and is retried
it: a/6 has failed 6 times, and is retried
it: a/7 has failed 7 times, and is retried
it: a/8 has failed 8 times, and is retried
it: a/9 has failed 9 times, and is retried
it: 30 more objects are failing
old: is being unmounted, and its finalizers are removed
the watch of C.v1 is down: refused";
        assert_eq!(State(&state).notes().join("\n"), expected);
        let row = State(&state).rows().remove(1).join(" ");
        assert_eq!(row, "it - - - Refused - - - 40 all -");
        assert_eq!(State(&json!({})).notes(), ["the host has no mounts"]);
    }
}
