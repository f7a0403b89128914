//! `gyre worlds` by its protocol, with kits that misbehave.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::GYRE;

/// A kit that sends and reads lines as a test says.
struct Kit {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Kit {
    fn start() -> Self {
        let mut command = Command::new(GYRE);
        command.args(["worlds", "--code-cache", gyre_artifacts::CODE_CACHE]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gyre runs");
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Self { process, input, output }
    }

    fn greeted() -> Self {
        let mut kit = Self::start();
        assert_eq!(kit.read()["protocol"], 1);
        kit
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn send(&mut self, world: u64, request: &Value) {
        self.write(&json!({"world": world, "do": request}).to_string());
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, world: u64, request: &Value) -> Value {
        self.send(world, request);
        self.read()
    }

    fn load(&mut self, world: u64, source: &Value) -> u64 {
        let loaded = self.ask(world, &json!({"load": source}));
        loaded["ok"]["plugin"].as_u64().unwrap_or_else(|| panic!("{loaded}"))
    }

    /// The largest resident set so far, in MB.
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1000
    }

    /// Closes both pipes, and returns whether the program then ends by itself.
    fn ends(mut self) -> bool {
        drop(self.input.take());
        drop(self.output);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if self.process.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.process.kill().unwrap();
        false
    }
}

/// Returns whether a value is as expected: `…` stands for anything.
fn is_like(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (_, Value::String(any)) if any == "…" => true,
        (Value::String(actual), Value::String(expected)) => match expected.split_once('…') {
            Some((before, after)) => actual.starts_with(before) && actual.ends_with(after),
            None => actual == expected,
        },
        (Value::Array(actual), Value::Array(expected)) => {
            actual.len() == expected.len() && actual.iter().zip(expected).all(|(actual, expected)| is_like(actual, expected))
        }
        (Value::Object(actual), Value::Object(expected)) => {
            let named = expected.iter().filter(|(name, _)| *name != "…");
            let is_open = expected.contains_key("…");
            (is_open || actual.len() == expected.len())
                && named.clone().all(|(name, expected)| actual.get(name).is_some_and(|actual| is_like(actual, expected)))
        }
        _ => actual == expected,
    }
}

#[test]
fn the_session_in_the_document_is_what_happens() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/test-kit-protocol.md");
    let page = std::fs::read_to_string(page).unwrap();
    let session = page.split_once("```jsonl\n").unwrap().1.split_once("\n```").unwrap().0;
    let mut kit = Kit::start();
    for line in session.lines() {
        if let Some(request) = line.strip_prefix("→ ") {
            kit.write(request);
        } else if let Some(expected) = line.strip_prefix("← ") {
            let (expected, actual): (Value, _) = (serde_json::from_str(expected).unwrap(), kit.read());
            assert!(is_like(&actual, &expected), "expected {expected}\nactual   {actual}");
        } else {
            panic!("{line}");
        }
    }
    assert!(kit.ends());
}

#[test]
fn the_program_ends_when_all_is_answered_after_the_input_has_ended() {
    let mut kit = Kit::greeted();
    kit.load(1, &json!({"path": gyre_artifacts::ECHO}));
    kit.send(1, &json!({"start": {"plugins": [{"plugin": 0}]}}));
    kit.send(1, &json!({"settle": {}}));
    kit.send(1, &json!({"now": {}}));
    drop(kit.input.take());
    for field in ["", "plan", "time"] {
        let answer = kit.read();
        assert!(field.is_empty() || answer["ok"].get(field).is_some(), "{field}: {answer}");
    }
    let mut rest = String::new();
    assert_eq!(kit.output.read_line(&mut rest).unwrap(), 0, "{rest}");
    assert!(kit.process.wait().unwrap().success());
}

#[test]
fn a_line_of_100_megabytes_is_refused_and_not_kept() {
    let mut kit = Kit::greeted();
    let before = kit.peak();
    kit.write(&format!("{{\"world\": 1, \"do\": {{\"put\": {{\"object\": \"{}\"}}}}}}", "x".repeat(100_000_000)));
    let answer = kit.read();
    assert_eq!(answer, json!({"error": "line 1 is longer than 64 MiB, the most that a request may have"}));
    assert_eq!(kit.ask(1, &json!({"now": {}}))["error"], "this world has not been started");
    let grown = kit.peak() - before;
    assert!(grown < 250, "{grown} MB");
    assert!(kit.ends());
}

#[test]
fn lines_that_are_no_requests_are_named() {
    let mut kit = Kit::greeted();
    for (line, expected) in [
        ("", json!({"error": "line 1 is no request: write {\"world\": a number, \"do\": a request}"})),
        ("{", json!({"error": "line 2 is no request: …"})),
        ("\u{feff}{}", json!({"error": "line 3 is no request: …"})),
        (r#"{"world": -1, "do": {"now": {}}}"#, json!({"error": "line 4 is no request: …"})),
        (r#"{"world": 7}"#, json!({"world": 7, "error": "the request in line 5 is not understood: missing field `do`…"})),
        (
            r#"{"world": 7, "do": {"fly": {}}}"#,
            json!({"world": 7, "error": "the request in line 6 is not understood: unknown variant `fly`, expected …"}),
        ),
        (
            r#"{"world": 7, "do": {"now": {"zone": 1}}}"#,
            json!({"world": 7, "error": "the request in line 7 is not understood: unknown field `zone`…"}),
        ),
        (
            r#"{"world": 7, "do": {"return": {"panic": "x"}}}"#,
            json!({"world": 7, "error": "there is no call of a plugin in the kit"}),
        ),
        (r#"{"world": 7, "do": {"upgrade": {"plugin": 9}}}"#, json!({"world": 7, "error": "no plugin 9 is loaded"})),
        (
            r#"{"world": 7, "do": {"start": {"time": "noon"}}}"#,
            json!({"world": 7, "error": "\"noon\" is no time such as 2026-01-01T00:00:00Z: …"}),
        ),
    ] {
        kit.write(line);
        let answer = kit.read();
        assert!(is_like(&answer, &expected), "{line}\nexpected {expected}\nactual   {answer}");
    }
    assert!(kit.ends());
}

#[test]
fn a_kit_that_stops_reading_stops_the_program_which_ends_with_it() {
    let mut kit = Kit::greeted();
    let before = kit.peak();
    let text = "x".repeat(100_000);
    let comparison = json!({"actual": text, "expected": {"value": ""}, "how": "equal", "what": "it differs"});
    let line = json!({"world": 1, "do": {"compare": comparison}}).to_string() + "\n";
    let mut input = kit.input.take().unwrap();
    let (sender, written) = mpsc::channel();
    let writer = std::thread::spawn(move || {
        let mut lines = 0;
        while input.write_all(line.as_bytes()).is_ok() {
            lines += 1;
            let _ = sender.send(lines);
        }
    });
    // The program reads no more once it cannot write.
    let mut lines = 0;
    while let Ok(more) = written.recv_timeout(Duration::from_secs(2)) {
        lines = more;
        assert!(lines < 1000, "the program reads on although nobody reads its answers");
    }
    assert!(lines > 1, "{lines}");
    let grown = kit.peak() - before;
    assert!(grown < 100, "{grown} MB");
    assert!(kit.ends());
    writer.join().unwrap();
}

#[test]
fn a_plugin_that_never_returns_reaches_its_deadline_while_other_worlds_go_on() {
    let mut kit = Kit::greeted();
    let plugin = kit.load(1, &json!({"path": gyre_artifacts::guests::ENDLESS_LOOP}));
    let parent =
        json!({"apiVersion": "guests.gyre.dev/v1", "kind": "EndlessLoop", "metadata": {"name": "it", "namespace": "default"}});
    let start = |objects: &[&Value]| json!({"start": {"plugins": [{"plugin": plugin}], "objects": objects}});
    assert_eq!(kit.ask(1, &start(&[&parent])), json!({"world": 1, "ok": {}}));
    assert_eq!(kit.ask(2, &start(&[])), json!({"world": 2, "ok": {}}));
    kit.send(1, &json!({"settle": {}}));
    kit.send(2, &json!({"settle": {}}));
    let (first, second) = (kit.read(), kit.read());
    assert_eq!((&first["world"], &first["ok"]["plan"]), (&json!(2), &json!([])), "{first}");
    let error = second["error"].as_str().unwrap_or_default();
    assert_eq!(error, "about EndlessLoop default/it: the plugin did not answer within 2s");
    assert!(kit.ends());
}

fn kit_plugin(name: &str) -> Value {
    let manifest = json!({
        "name": name, "version": "0.1.0", "description": "",
        "parent": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "children": [], "reads": [], "finalizes": false, "crds": [],
    });
    json!({"kit": {"identity": name, "manifest": manifest}})
}

#[test]
fn worlds_and_their_calls_are_interleaved_without_confusion() {
    let mut kit = Kit::greeted();
    let plugins: Vec<u64> = (1..=2).map(|world| kit.load(world, &kit_plugin(&format!("plugin-{world}")))).collect();
    for (world, plugin) in (1..).zip(&plugins) {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{world}"), "namespace": "default"}});
        let start = json!({"plugins": [{"plugin": plugin}], "objects": [map], "withoutControllers": true});
        assert_eq!(kit.ask(world, &json!({"start": start}))["call"]["function"], "validateSettings");
        assert_eq!(kit.ask(world, &json!({"return": {"settings": null}})), json!({"world": world, "ok": {}}));
        // This world waits for the answer of its plugin, also while the next one begins.
        let call = kit.ask(world, &json!({"settle": {}}));
        assert_eq!(call["call"]["parent"]["metadata"]["name"], format!("map-{world}"), "{call}");
    }
    let response = json!({"children": null, "status": null, "conditions": [], "events": [], "done": false});
    for world in [2, 1, 2] {
        let time = kit.ask(world, &json!({"clock": {}}));
        assert_eq!((&time["world"], time["ok"]["time"].is_string()), (&json!(world), true), "{time}");
    }
    for world in [2, 1] {
        kit.send(world, &json!({"return": {"response": response}}));
        let run = kit.read();
        assert_eq!((&run["world"], run["ok"]["calls"].as_array().map(Vec::len)), (&json!(world), Some(1)), "{run}");
    }
    assert!(kit.ends());
}

#[test]
fn a_kit_that_ends_during_a_call_ends_the_program() {
    let mut kit = Kit::greeted();
    let plugin = kit.load(1, &kit_plugin("plugin"));
    kit.ask(1, &json!({"start": {"plugins": [{"plugin": plugin}], "objects": []}}));
    assert!(kit.ends());
}

#[test]
fn a_world_starts_and_an_idle_day_passes_in_milliseconds() {
    let mut kit = Kit::greeted();
    let plugin = kit.load(1, &json!({"path": gyre_artifacts::ECHO}));
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (mut starts, mut days) = (Vec::new(), Vec::new());
    for world in 1..=9 {
        let began = Instant::now();
        kit.ask(world, &json!({"start": {"plugins": [{"plugin": plugin}]}}));
        starts.push(began.elapsed());
        kit.ask(world, &json!({"settle": {}}));
        let began = Instant::now();
        kit.ask(world, &json!({"advance": {"ms": 24 * 60 * 60 * 1000}}));
        days.push(began.elapsed());
    }
    let (start, day) = (median(starts), median(days));
    println!("a world starts in {start:.1?}, an idle day takes {day:.2?}");
    // `cargo xtask bench` holds a release build to 20 ms for a start. This is a debug build, beside
    // other tests.
    assert!(start < Duration::from_millis(100) && day < Duration::from_millis(50), "{start:?}, {day:?}");
}
