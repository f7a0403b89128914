//! Recordings read back unchanged, and damaged ones are rejected with a clear error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_core::grants::Namespaces;
use gyre_devcluster::random::Random;
use gyre_engine::program::Program;
use gyre_engine::record::format::{AnswerLine, Because, Line, Secrets};
use gyre_engine::record::{Ask, Bounds, CallInputs, CallRecord, Error, Question, Reader, Writer};
use gyre_offline::replay::{Verdict, replay};
use gyre_sandbox::{Bytes, Plugin, ReadError};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::plugin::{self, CHILDREN, Script};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

const PROBLEM: usize = 2 << 10;
/// A Secret value that is long enough to be redacted.
const SECRET: &str = "a value that nobody may see";

/// Records the case of this seed, and reads it intact and damaged.
pub(crate) fn run(seed: u64, log: &mut dyn Log) -> Result<Tally, Failure> {
    let mut random = Random::new(seed);
    let mut tally = Tally::new();
    let answers: Vec<plugin::Answer> = (0..3).map(|_| plugin::answer(&mut random)).collect();
    let answer = move |parent: &[u8]| answers[parent.len() % answers.len()].clone();
    let plugin = Script { answer: Box::new(answer), ..Script::new("thing", plugin::PARENT) }.plugin("thing")?;
    let secrets = *random.pick(&[Secrets::Kept, Secrets::Redacted]);
    log.step(&|| format!("record, secrets {secrets:?}"));
    let (recording, given) = record(&mut random, &plugin, secrets)?;
    log.step(&|| format!("read {}", shown(&String::from_utf8_lossy(&recording))));
    check_round_trip(&plugin, &recording, &given, secrets, &mut tally)
        .map_err(|failure| Failure(format!("{failure}\n  {}", shown(&String::from_utf8_lossy(&recording)))))?;
    for _ in 0..4 {
        let damaged = damage(&mut random, &recording);
        log.step(&|| format!("read what is damaged {}", shown(&String::from_utf8_lossy(&damaged))));
        read(&plugin, &damaged, &mut tally)
            .map_err(|failure| Failure(format!("{failure}\n  {}", shown(&String::from_utf8_lossy(&damaged)))))?;
    }
    Ok(tally)
}

fn record(random: &mut Random, plugin: &Plugin, secrets: Secrets) -> Result<(Vec<u8>, Vec<CallInputs>), Failure> {
    let mut writer = Writer::new(Bounds { calls: 100, bytes: 64 << 20 }, secrets);
    let mut recording = writer.head(Timestamp::UNIX_EPOCH);
    let mut programs = Vec::new();
    for _ in 0..2 {
        let mut program = Program::new(plugin.clone(), Namespaces::All);
        program.policy.limits = plugin::limits(random);
        program.settings = Arc::from(json!({ "text": mutate::text(random) }).to_string().into_bytes());
        programs.push(Arc::new(program));
    }
    let mut recorded = Vec::new();
    for _ in 0..random.size(5) {
        let program = Arc::clone(random.pick(&programs));
        let given = given(random, &program);
        let made = given.make(plugin);
        let record = CallRecord {
            program,
            ask: given.ask,
            parent: Arc::clone(&given.parent),
            members: given.members.clone(),
            seed: Arc::clone(&given.seed),
            now: given.now,
            children: given.children.clone(),
            reads: given.reads.clone(),
            answer: made.answer,
            usage: made.usage,
        };
        let lines = writer.call(&record).map_err(|because| Failure(format!("the recording ends because of {because:?}")))?;
        if !lines.is_empty() {
            recorded.push(given);
        }
        recording.extend(lines);
    }
    if random.chance(0.9) {
        recording.extend(writer.end(*random.pick(&[Because::Calls, Because::Time, Because::Stopped])));
    }
    Ok((recording, recorded))
}

fn given(random: &mut Random, program: &Program) -> CallInputs {
    let mut children = BTreeMap::new();
    for kind in CHILDREN.iter().filter(|child| child.scope.is_some()) {
        if random.chance(0.5) {
            children.insert(plugin::kind(kind.kind), objects(random));
        }
    }
    let mut reads = BTreeMap::new();
    for _ in 0..random.size(3) {
        let kind = plugin::kind(random.pick(CHILDREN).kind);
        let question = match random.below(3) {
            0 => Question::Children { kind },
            1 => Question::Get { kind, namespace: plugin::namespace(random), name: plugin::name(random) },
            _ => {
                let label_selector = random.chance(0.5).then(|| mutate::text(random));
                Question::List { kind, namespace: plugin::namespace(random), label_selector }
            }
        };
        let reply = match random.below(4) {
            0 => Err(random
                .pick(&[
                    ReadError::NotDeclared,
                    ReadError::NotGranted,
                    ReadError::NotServed,
                    ReadError::InvalidSelector("=".to_owned()),
                ])
                .clone()),
            _ => Ok(objects(random)),
        };
        reads.insert(question, reply);
    }
    let parent = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": plugin::name(random) },
        "spec": { "text": mutate::text(random), "number": random.below(9) } });
    CallInputs {
        ask: *random.pick(&[Ask::Reconcile, Ask::Finalize]),
        parent: bytes(random, &parent),
        members: if random.chance(0.2) { objects(random) } else { Vec::new() },
        settings: Arc::clone(&program.settings),
        limits: program.policy.limits.clone(),
        seed: mutate::text(random).into(),
        now: SystemTime::UNIX_EPOCH + Duration::from_nanos(random.below(1 << 60)),
        children,
        reads,
    }
}

fn objects(random: &mut Random) -> Vec<Bytes> {
    let mut objects = Vec::new();
    for _ in 0..random.size(3) {
        let mut object = plugin::object(random);
        if random.chance(0.3) {
            object = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" },
                "data": { "a": STANDARD.encode(SECRET), "b": mutate::value(random) } });
        }
        objects.push(bytes(random, &object));
    }
    objects
}

fn bytes(random: &mut Random, value: &Value) -> Bytes {
    Arc::from(mutate::spelled(random, value, false).into_bytes())
}

/// Checks that each line reads back unchanged, and each call can be replayed.
fn check_round_trip(
    plugin: &Plugin,
    recording: &[u8],
    given: &[CallInputs],
    secrets: Secrets,
    tally: &mut Tally,
) -> Result<(), Failure> {
    for line in lines(recording) {
        let read: Line = serde_json::from_slice(line).map_err(|error| Failure(format!("a line that was written: {error}")))?;
        let again = serde_json::to_vec(&read).map_err(|error| Failure(error.to_string()))?;
        law(again == line, || format!("a line reads as another: {}", shown(&String::from_utf8_lossy(&again))))?;
    }
    if secrets == Secrets::Redacted {
        let text = String::from_utf8_lossy(recording);
        let kept = text.find(SECRET).or_else(|| text.find(&STANDARD.encode(SECRET)));
        law(kept.is_none(), || {
            let around = text.get(kept.unwrap_or(0).saturating_sub(500)..).unwrap_or_default();
            format!("the value of a Secret is in the recording, after {}", shown(around))
        })?;
    }
    let mut reader = Reader::open(recording).map_err(|error| Failure(format!("what was written: {error}")))?;
    let mut calls = 0;
    while let Some((program, call)) = reader.call().map_err(|error| Failure(format!("what was written: {error}")))? {
        let read = call.inputs(&program);
        if let (Secrets::Kept, Some(given)) = (secrets, given.get(calls)) {
            let mut expected = given.clone();
            expected.limits.reuse = read.limits.reuse;
            law(read == expected, || format!("call {calls} reads as given {read:?}"))?;
        }
        let replayed = replay(plugin, &program, &call);
        law(replayed.verdict == Verdict::Identical, || {
            format!("call {calls} is answered otherwise: {:?}, not {:?}", replayed.answer, call.answer)
        })?;
        calls += 1;
        count(tally, "replayed");
    }
    law(calls == given.len(), || format!("{calls} calls of {}", given.len()))
}

fn lines(recording: &[u8]) -> impl Iterator<Item = &[u8]> {
    recording.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn damage(random: &mut Random, recording: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = lines(recording).map(<[u8]>::to_vec).collect();
    for _ in 0..=random.below(3) {
        let index = random.size(lines.len());
        match random.below(8) {
            0 => drop(lines.get(index).is_some().then(|| lines.remove(index))),
            1 => lines.push(lines.get(index).cloned().unwrap_or_default()),
            2 => lines.reverse(),
            3 => lines.insert(index, mutate::value(random).to_string().into_bytes()),
            4..7 => {
                let Some(line) = lines.get_mut(index) else { continue };
                let Ok(mut value) = serde_json::from_slice::<Value>(line) else { continue };
                for _ in 0..=random.below(3) {
                    mutate::structure(random, &mut value);
                }
                let odd = random.chance(0.2);
                *line = if random.chance(0.7) {
                    mutate::spelled(random, &value, odd).into_bytes()
                } else {
                    mutate::json_text(random, &value)
                };
            }
            _ => {
                if let Some(line) = lines.get_mut(index) {
                    mutate::bytes(random, line);
                }
            }
        }
    }
    let mut damaged = lines.join(&b'\n');
    if random.chance(0.8) {
        damaged.push(b'\n');
    }
    if random.chance(0.2) {
        mutate::bytes(random, &mut damaged);
    }
    damaged
}

/// Reads to the end, past unreadable lines, and replays readable calls.
fn read(plugin: &Plugin, recording: &[u8], tally: &mut Tally) -> Result<(), Failure> {
    let most = recording.split(|byte| *byte == b'\n').count() as u64 + 1;
    let mut reader = match Reader::open(recording) {
        Ok(reader) => reader,
        Err(error) => {
            count(tally, "no-recording");
            return check_message(&error, most);
        }
    };
    let mut told = BTreeSet::new();
    for _ in 0..=most {
        match reader.call() {
            Ok(Some((program, call))) => {
                let replayed = replay(plugin, &program, &call);
                count(tally, if replayed.verdict == Verdict::Identical { "identical" } else { "differs" });
                answers_read_back(&call.answer)?;
                answers_read_back(&replayed.answer)?;
            }
            Ok(None) => {
                count(tally, "read");
                return law(reader.ending().is_some(), || "it has no ending".to_owned());
            }
            Err(error) => {
                check_message(&error, most)?;
                count(tally, "wrong-line");
                law(told.insert(error.to_string()), || format!("told twice: {error}"))?;
            }
        }
    }
    Err(Failure(format!("{most} lines have no end")))
}

fn answers_read_back(answer: &AnswerLine) -> Result<(), Failure> {
    let text = serde_json::to_vec(answer).map_err(|error| Failure(error.to_string()))?;
    let read: AnswerLine =
        serde_json::from_slice(&text).map_err(|error| Failure(format!("an answer that was read: {error}")))?;
    law(read == *answer, || format!("{answer:?} reads as {read:?}"))
}

fn check_message(error: &Error, most: u64) -> Result<(), Failure> {
    let text = error.to_string();
    law(text.len() <= PROBLEM, || format!("{} bytes are said of a line: {}", text.len(), shown(&text)))?;
    law(!text.contains(char::is_control), || format!("control characters are said of a line: {text:?}"))?;
    match error {
        Error::Line { line, message } => {
            law((1..=most).contains(line) && !message.is_empty() && text.contains(&format!("line {line} ")), || {
                format!("line {line} of {most}: {text}")
            })
        }
        Error::NoRecording | Error::Format(_) => Ok(()),
        other => Err(Failure(format!("a text in memory: {other}"))),
    }
}
