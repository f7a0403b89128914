//! Recorded calls replay byte for byte, despite faults, and contain no value of a Secret.

use std::sync::Arc;
use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_engine::record::format::{Because, CallLine, Line, ProgramLine, Secrets};
use gyre_engine::record::{Bounds, CallRecord, Ending, Reader, Writer};
use gyre_offline::replay::{Verdict, replay};
use gyre_sandbox::{Plugin, Sandbox};
use gyre_sim::kinds::{self, Kind, Name};
use gyre_sim::{Action, Cascade, Plugins, World, simulate};
use parking_lot::Mutex;
use serde_json::{Value, json};

const CALLS: u64 = 1_000;
const PARENTS: u64 = 25;
/// The maximum number of rounds; a plugin that needs more is never called.
const MOST_ROUNDS: u64 = 300;
const PROBABILITY: f64 = 0.03;

struct Shipped {
    path: &'static str,
    kind: Kind,
    spec: fn(u64) -> Value,
}

const SHIPPED: [Shipped; 6] = [
    Shipped {
        path: gyre_artifacts::ECHO, kind: kinds::ECHO, spec: |round| json!({ "message": format!("hello {round} é\n") })
    },
    Shipped {
        path: gyre_artifacts::SCHEDULED_ECHO,
        kind: kinds::SCHEDULED_ECHO,
        spec: |round| json!({ "message": format!("hello {round}"), "schedule": format!("{} 0 1 6 *", round % 60) }),
    },
    Shipped { path: gyre_artifacts::XCA, kind: kinds::XCA, spec: |round| json!({ "foo": format!("bar {round}") }) },
    Shipped {
        path: gyre_artifacts::GATEWAY,
        kind: kinds::GATEWAY,
        spec: |round| json!({ "listeners": [{ "name": "web", "port": 8000 + round }] }),
    },
    Shipped {
        path: gyre_artifacts::POD_LOG,
        kind: kinds::POD,
        spec: |_| json!({ "restartPolicy": "Never", "containers": [{ "name": "c", "image": "busybox" }] }),
    },
    Shipped {
        path: gyre_artifacts::WEBSITE,
        kind: kinds::WEBSITE,
        spec: |round| json!({ "template": format!("tpl-{}", round % 3), "title": format!("{round}"), "host": "example.com" }),
    },
];

fn calls(
    plugins: &Plugins,
    kind: Kind,
    spec: &dyn Fn(u64) -> Value,
    enough: u64,
    (seed, plan): (u64, Plan),
) -> Vec<Arc<CallRecord>> {
    let records: Arc<Mutex<Vec<Arc<CallRecord>>>> = Arc::default();
    let kept = Arc::clone(&records);
    let count = || records.lock().len() as u64;
    simulate(async {
        let world = World::new(plugins, seed, plan).await;
        let _listening = world.recordings.listen(None, move |record| kept.lock().push(Arc::clone(record)));
        let host = world.host(plugins);
        let name = |parent: u64| Name::new(kind, "default", &format!("parent-{parent}"));
        for round in 0..MOST_ROUNDS {
            if count() >= enough {
                break;
            }
            if kind == kinds::WEBSITE {
                let template = Name::new(kinds::CONFIG_MAP, "default", &format!("tpl-{}", round % 2));
                world
                    .people
                    .act(&Action::Put(template, json!({ "data": { "index.html": format!("{round} {{{{title}}}}") } })))
                    .await;
            }
            for parent in 0..PARENTS {
                let is_its_end = (round + parent) % 7 == 6;
                let metadata = json!({ "annotations": { "round": round.to_string() } });
                // A Pod's spec is immutable.
                let put = || Action::Put(name(parent), json!({ "metadata": metadata, "spec": spec(round) }));
                let action = if is_its_end { Action::Delete(name(parent), Cascade::Background) } else { put() };
                world.people.act(&action).await;
            }
            tokio::time::sleep(Duration::from_secs(35)).await;
        }
        host.kill().await;
    });
    std::mem::take(&mut *records.lock())
}

fn written(records: &[Arc<CallRecord>], bounds: Bounds, secrets: Secrets) -> Vec<u8> {
    let mut writer = Writer::new(bounds, secrets);
    let mut file = writer.head("2026-01-01T00:00:00Z".parse().unwrap());
    let mut because = Because::Stopped;
    for record in records {
        match writer.call(record) {
            Ok(lines) => file.extend(lines),
            Err(end) => {
                because = end;
                break;
            }
        }
    }
    file.extend(writer.end(because));
    file
}

fn everything() -> Bounds {
    Bounds { calls: u64::MAX, bytes: u64::MAX }
}

fn read(file: &[u8]) -> Vec<(Arc<ProgramLine>, CallLine)> {
    let mut reader = Reader::open(file).unwrap();
    let calls = std::iter::from_fn(|| reader.call().unwrap()).collect();
    assert!(matches!(reader.ending(), Some(Ending::Whole(_))));
    calls
}

fn plugin(path: &str) -> Plugin {
    let sandbox = Sandbox::new(gyre_sandbox::Options::default()).unwrap();
    sandbox.load(&std::fs::read(path).unwrap()).unwrap()
}

/// Replays a file in a sandbox, and returns the number of identical answers.
fn replayed(plugin: &Plugin, file: &[u8]) -> u64 {
    let mut identical = 0;
    for (program, call) in read(file) {
        let replayed = replay(plugin, &program, &call);
        assert_eq!(replayed.verdict, Verdict::Identical, "{call:#?} became {:#?}", replayed.answer);
        assert!(replayed.unanswered.is_empty(), "{:?}", replayed.unanswered);
        identical += 1;
    }
    identical
}

fn a_thousand_calls_replay(plan: impl Fn() -> Plan + Sync) {
    std::thread::scope(|scope| {
        for (seed, Shipped { path, kind, spec }) in (0..).zip(&SHIPPED) {
            let plan = &plan;
            scope.spawn(move || {
                let records = calls(&Plugins::one(path), *kind, spec, CALLS, (seed, plan()));
                assert!(records.len() as u64 >= CALLS, "{path} was called {} times", records.len());
                let file = written(&records, everything(), Secrets::Redacted);
                assert_eq!(replayed(&plugin(path), &file), records.len() as u64, "{path}");
                for (record, (_, call)) in records.iter().zip(read(&file)) {
                    assert_eq!((&*record.parent, record.now), (&*call.parent.0, call.time.into()));
                }
            });
        }
    });
}

#[test]
fn a_thousand_recorded_calls_of_each_shipped_plugin_replay_to_the_byte() {
    a_thousand_calls_replay(Plan::default);
}

#[test]
fn a_thousand_calls_that_were_recorded_amid_faults_replay_to_the_byte() {
    a_thousand_calls_replay(|| Plan::everything(PROBABILITY));
}

/// The secret values: alone, within other words, short, and of two lines.
const VALUES: [&str; 4] =
    ["correct horse battery staple", "swordfish-1234567", "hunter2", "first line of it\nsecond line of it"];

fn secretive(enough: u64) -> Vec<Arc<CallRecord>> {
    let plugins = Plugins::one(gyre_artifacts::probes::INDISCREET);
    let spec = |round: u64| {
        json!({
            "secret": "sec-0",
            "refuses": round % 5 == 3,
            "panics": round % 5 == 4,
            // A copy of a value made by a person.
            "note": format!("see {} in {round}", VALUES[round as usize % VALUES.len()]),
        })
    };
    let records: Arc<Mutex<Vec<Arc<CallRecord>>>> = Arc::default();
    let kept = Arc::clone(&records);
    simulate(async {
        let world = World::new(&plugins, 1, Plan::default()).await;
        let _listening = world.recordings.listen(Some("indiscreet"), move |record| kept.lock().push(Arc::clone(record)));
        for (number, value) in VALUES.iter().enumerate() {
            let applied = json!({ "kind": "Secret", "stringData": { "key": value } }).to_string();
            let metadata = json!({ "annotations": { "kubectl.kubernetes.io/last-applied-configuration": applied } });
            let secret = json!({ "metadata": metadata, "stringData": { "key": value } });
            world.people.put(&Name::new(kinds::SECRET, "default", &format!("sec-{number}")), &secret).await;
        }
        let host = world.host(&plugins);
        for round in 0..MOST_ROUNDS {
            if records.lock().len() as u64 >= enough {
                break;
            }
            for parent in 0..5 {
                let name = Name::new(kinds::INDISCREET, "default", &format!("parent-{parent}"));
                world.people.put(&name, &json!({ "spec": spec(round + parent) })).await;
            }
            tokio::time::sleep(Duration::from_secs(35)).await;
        }
        host.kill().await;
    });
    std::mem::take(&mut *records.lock())
}

/// Returns the values and their parts that a file contains, raw or escaped.
fn found(file: &[u8]) -> Vec<String> {
    let text = String::from_utf8(file.to_vec()).unwrap();
    let forms = VALUES.iter().flat_map(|value| {
        let escaped = json!(value).to_string().trim_matches('"').to_owned();
        let within = json!(escaped).to_string().trim_matches('"').to_owned();
        let lines = value.lines().map(str::to_owned);
        [(*value).to_owned(), escaped, within, base64(value.as_bytes())].into_iter().chain(lines)
    });
    forms.filter(|form| text.contains(form.as_str())).collect()
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let bits = (0..3).fold(0_u32, |bits, index| bits << 8 | u32::from(chunk.get(index).copied().unwrap_or(0)));
        (0..4).map(move |index| match index <= chunk.len() {
            true => ALPHABET[(bits >> (18 - 6 * index) & 63) as usize] as char,
            false => '=',
        })
    });
    digits.collect()
}

#[test]
fn a_recording_holds_no_value_of_a_secret_unless_it_is_asked_for() {
    let records = secretive(200);
    let reasons: Vec<&str> =
        records.iter().filter_map(|record| record.answer.result.as_ref().err().map(|error| error.reason())).collect();
    assert!(reasons.contains(&"TerminalFailure") && reasons.contains(&"Trapped"), "{reasons:?}");
    let kept = written(&records, everything(), Secrets::Kept);
    assert!(found(&kept).len() >= 3 * VALUES.len(), "what is searched for was there: {:?}", found(&kept));
    let redacted = written(&records, everything(), Secrets::Redacted);
    assert_eq!(found(&redacted), [""; 0]);
    let calls = read(&redacted);
    assert_eq!(calls.len(), records.len());
    assert!(calls.iter().all(|(_, call)| call.redacted.is_some()), "each of them saw values");
    // Redaction cannot find a value that a plugin reversed, so the plugin must not have seen it.
    let backwards: Vec<String> = VALUES.iter().map(|value| value.chars().rev().collect()).collect();
    let tells = |call: &CallLine| backwards.iter().any(|value| format!("{:?}", call.answer).contains(value.as_str()));
    assert!(!calls.iter().any(|(_, call)| tells(call)));
    assert!(read(&kept).iter().any(|(_, call)| tells(call)));
    // Both replay, because the plugin was called with the redacted values too.
    let plugin = plugin(gyre_artifacts::probes::INDISCREET);
    assert_eq!(replayed(&plugin, &redacted), records.len() as u64);
    assert_eq!(replayed(&plugin, &kept), records.len() as u64);
}

#[test]
fn a_recording_is_never_larger_than_its_bounds() {
    let Shipped { path, kind, spec } = &SHIPPED[0];
    let records = calls(&Plugins::one(path), *kind, spec, 100, (1, Plan::default()));
    let whole = written(&records, everything(), Secrets::Redacted);
    let end = whole.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().len() as u64 + 16;
    for calls in [0, 1, 50] {
        let file = written(&records, Bounds { calls, bytes: u64::MAX }, Secrets::Redacted);
        assert_eq!(read(&file).len() as u64, calls);
        assert!(String::from_utf8_lossy(&file).contains(r#""because":"calls""#));
    }
    for bytes in [2_000, 10_000, whole.len() as u64 - end] {
        let file = written(&records, Bounds { calls: u64::MAX, bytes }, Secrets::Redacted);
        assert!(file.len() as u64 <= bytes + end, "{} bytes of {bytes}", file.len());
        assert!(!read(&file).is_empty() && read(&file).len() < records.len());
        assert!(String::from_utf8_lossy(&file).contains(r#""because":"bytes""#));
    }
}

#[test]
fn each_line_survives_a_round_trip() {
    let file = written(&secretive(20), everything(), Secrets::Kept);
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        let parsed: Line = serde_json::from_slice(line).unwrap();
        let mut again = serde_json::to_vec(&parsed).unwrap();
        again.push(b'\n');
        assert_eq!(again, line);
    }
}
