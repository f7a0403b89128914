//! Answers of plugins become plans and statuses; some pass through a whole host.

mod hosted;
mod plans;
mod statuses;

use std::time::SystemTime;

use gyre_core::response::{Child, Response};
use gyre_devcluster::random::Random;
use gyre_sandbox::native::types;
use gyre_sandbox::{Call, Fault, Input, Limits, Plugin, call};
use serde_json::{Map, Value};

use super::plugin::{self, Answer, Nothing, Script};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

/// The maximum length of one text of an answer.
const TEXT: usize = 4 << 10;
/// The maximum length of the error for an unusable answer.
const PROBLEM: usize = 2 << 10;

/// The number of clusters and parents for each answer.
const WORLDS: usize = 4;

pub(crate) fn run(seed: u64, log: &mut dyn Log) -> Result<Tally, Failure> {
    let mut random = Random::new(seed);
    if random.chance(0.1) {
        return hosted::run(&mut random, log);
    }
    let (answer, limits) = (plugin::answer(&mut random), plugin::limits(&mut random));
    log.step(&|| describe(&answer));
    decide(&mut random, &answer, &limits).map_err(|failure| Failure(format!("{failure}\n  {}", describe(&answer))))
}

fn decide(random: &mut Random, answer: &Answer, limits: &Limits) -> Result<Tally, Failure> {
    let mut tally = Tally::new();
    let wanted = answer.clone();
    let script = Script { answer: Box::new(move |_| wanted.clone()), ..Script::new("thing", plugin::PARENT) };
    let plugin = script.plugin("thing")?;
    let result = ask(&plugin, limits);
    law(result == ask(&plugin, limits), || "the same answer reads in two ways".to_owned())?;
    let response = match (&result, answer) {
        (Ok(response), Ok(raw)) => {
            check_response(response, raw, limits)?;
            response
        }
        (Err(error), _) => {
            check_error(error, answer)?;
            count(&mut tally, error.reason());
            statuses::of_failure(random, error)?;
            return Ok(tally);
        }
        (Ok(_), Err(_)) => return Err(Failure("a failure reads as a response".to_owned())),
    };
    count(&mut tally, "Success");
    for _ in 0..WORLDS {
        let refusals = plans::check(random, response.children.as_deref(), &mut tally)?;
        statuses::of_response(random, response, &refusals, &mut tally)?;
    }
    Ok(tally)
}

fn ask(plugin: &Plugin, limits: &Limits) -> Result<Response, call::Error> {
    let input = Input { parent: b"{}", members: &[], settings: b"{}", seed: "", now: SystemTime::UNIX_EPOCH };
    let Call { result, .. } = plugin.reconcile(&input, limits, Box::new(Nothing));
    result
}

/// Checks that the response equals the plugin's answer, within the limits.
fn check_response(response: &Response, raw: &types::Response, limits: &Limits) -> Result<(), Failure> {
    let count = |children: usize, conditions: usize, events: usize| (children, conditions, events);
    let raw_count = count(raw.children.as_ref().map_or(0, Vec::len), raw.conditions.len(), raw.events.len());
    let read = count(response.children.as_ref().map_or(0, Vec::len), response.conditions.len(), response.events.len());
    law(read == raw_count && raw.children.is_some() == response.children.is_some(), || format!("{read:?} of {raw_count:?}"))?;
    law(read.0 <= limits.children && read.1 <= limits.conditions && read.2 <= limits.events, || {
        format!("{read:?} is more than {limits:?}")
    })?;
    let of_conditions = response.conditions.iter().flat_map(|one| [&one.kind, &one.reason, &one.message]);
    let texts: Vec<&String> = of_conditions.chain(response.events.iter().flat_map(|one| [&one.reason, &one.message])).collect();
    let (bytes, longest) = (texts.iter().map(|text| text.len()).sum::<usize>(), texts.iter().map(|text| text.len()).max());
    law(bytes <= limits.text_bytes && longest.unwrap_or(0) <= TEXT, || format!("{bytes} bytes of text, {longest:?} in one"))?;
    for (child, raw) in response.children.iter().flatten().zip(raw.children.iter().flatten()) {
        let is_same = match (child, raw) {
            (Child::Apply(child), types::Child::Apply(raw)) => {
                child.strategy.map(|strategy| strategy.as_str()) == raw.strategy.map(strategy_name)
                    && reads_as(&child.object, &raw.object, limits)
            }
            (Child::Keep(reference), types::Child::Keep(raw)) => {
                reference.key.name == raw.name
                    && reference.key.namespace == raw.namespace
                    && reference.kind.kind == raw.kind.kind
            }
            _ => false,
        };
        law(is_same, || format!("a child reads as {child:?}"))?;
    }
    let is_same = match (&response.status, &raw.status) {
        (Some(status), Some(text)) => reads_as(status, text, limits),
        (None, None) => true,
        _ => false,
    };
    law(is_same, || format!("the status reads as {:?}", response.status))
}

fn strategy_name(strategy: types::Strategy) -> &'static str {
    match strategy {
        types::Strategy::CreateOnly => "create-only",
        types::Strategy::Apply => "apply",
        types::Strategy::Recreate => "recreate",
    }
}

fn reads_as(object: &Map<String, Value>, text: &[u8], limits: &Limits) -> bool {
    serde_json::from_slice::<Map<String, Value>>(text).is_ok_and(|read| read == *object)
        && depth(object.values()) < limits.output_depth.max(1)
}

fn depth<'a>(values: impl Iterator<Item = &'a Value>) -> usize {
    let of = |value: &'a Value| match value {
        Value::Object(map) => 1 + depth(map.values()),
        Value::Array(items) => 1 + depth(items.iter()),
        _ => 0,
    };
    values.map(of).max().unwrap_or(0)
}

/// Checks that the error is short and attributed to the plugin.
fn check_error(error: &call::Error, answer: &Answer) -> Result<(), Failure> {
    let text = error.to_string();
    let expected = if answer.is_err() { Fault::Neither } else { Fault::Plugin };
    law(error.fault() == expected || matches!(error, call::Error::OutputTooLarge { .. }), || {
        format!("{:?} is to blame: {error:?}", error.fault())
    })?;
    // A failure has the text of the plugin, which may be empty.
    let (least, most) = if answer.is_err() { (0, TEXT) } else { (1, PROBLEM) };
    law((least..=most).contains(&text.len()), || format!("{} bytes are said of an answer: {}", text.len(), shown(&text)))
}

fn describe(answer: &Answer) -> String {
    let lossy = |bytes: &[u8]| shown(&String::from_utf8_lossy(bytes));
    match answer {
        Err(failure) => format!("failure {failure:?}"),
        Ok(response) => {
            let children: Vec<String> = response
                .children
                .iter()
                .flatten()
                .map(|child| match child {
                    types::Child::Apply(child) => format!("apply {:?} {}", child.strategy, lossy(&child.object)),
                    types::Child::Keep(reference) => format!("keep {reference:?}"),
                })
                .collect();
            let status = response.status.as_deref().map(lossy);
            let (conditions, events) = (&response.conditions, &response.events);
            format!("children {children:#?}\n  status {status:?}\n  conditions {conditions:?}\n  events {events:?}")
        }
    }
}
