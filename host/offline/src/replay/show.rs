//! Describes differences between answers, for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use gyre_core::response::{Child, Response};
use gyre_engine::difference::unified::unified;
use gyre_engine::record::Ask;
use gyre_engine::record::format::{AnswerLine, CallLine, ResultLine, Text};

use crate::plan::Subject;

/// The title of a call, e.g. `reconcile Echo default/hello`.
pub fn title(call: &CallLine) -> String {
    let ask = match call.ask {
        Ask::Reconcile => "reconcile",
        Ask::Finalize => "finalize",
    };
    format!("{ask} {}", name_of(&call.parent).unwrap_or_else(|| "an object without a name".to_owned()))
}

/// The parts in which two answers differ.
pub fn parts(recorded: &AnswerLine, replayed: &AnswerLine) -> Vec<String> {
    let mut parts = children(recorded, replayed);
    match (&recorded.result, &replayed.result) {
        (ResultLine::Response(one), ResultLine::Response(other)) => {
            // The children are named one by one.
            let fields = one.differences(other).into_iter().filter(|field| *field != "children");
            parts.extend(fields.map(str::to_owned));
        }
        (one, other) if recorded.outcome() == replayed.outcome() => parts.extend((one != other).then(|| "message".to_owned())),
        _ => parts.push(format!("{} became {}", recorded.outcome(), replayed.outcome())),
    }
    parts.extend((recorded.log != replayed.log).then(|| "log".to_owned()));
    parts.extend((recorded.read_clock != replayed.read_clock).then(|| "use of the clock".to_owned()));
    parts
}

fn children(recorded: &AnswerLine, replayed: &AnswerLine) -> Vec<String> {
    let (ResultLine::Response(Response { children: before, .. }), ResultLine::Response(Response { children: after, .. })) =
        (&recorded.result, &replayed.result)
    else {
        return Vec::new();
    };
    if before == after {
        return Vec::new();
    }
    let (Some(before), Some(after)) = (before, after) else {
        return vec![
            if after.is_some() { "children are no longer left unchanged" } else { "children are left unchanged" }.to_owned(),
        ];
    };
    let by_name = |children: &[Child<Text>]| -> BTreeMap<String, Child<Text>> {
        children.iter().enumerate().map(|(index, child)| (child_name(index, child), child.clone())).collect()
    };
    let (before_by_name, after_by_name) = (by_name(before), by_name(after));
    let names: BTreeSet<&String> = before_by_name.keys().chain(after_by_name.keys()).collect();
    let differing = names.into_iter().filter_map(|name| match (before_by_name.get(name), after_by_name.get(name)) {
        (Some(_), None) => Some(format!("{name} is no longer returned")),
        (None, Some(_)) => Some(format!("{name} is new")),
        (one, other) => (one != other).then(|| name.clone()),
    });
    let differing: Vec<String> = differing.collect();
    if differing.is_empty() { vec!["order of children".to_owned()] } else { differing }
}

fn child_name(index: usize, child: &Child<Text>) -> String {
    match child {
        Child::Apply(child) => name_of(&child.object).unwrap_or_else(|| format!("children[{index}]")),
        Child::Keep(reference) => format!("{} {}", reference.kind.kind, reference.key),
    }
}

/// The name of an object, e.g. `Echo default/hello`.
fn name_of(object: &Text) -> Option<String> {
    let subject = Subject::of(&serde_json::from_slice(&object.0).ok()?);
    (!subject.kind.is_empty() && !subject.name.is_empty()).then(|| subject.to_string())
}

/// The difference of two named answers, line by line, as YAML or, if that is equal, as written.
pub fn difference((one_name, one): (&str, &AnswerLine), (other_name, other): (&str, &AnswerLine)) -> String {
    let hunks = unified(&yaml(one), &yaml(other));
    if !hunks.is_empty() {
        return format!("--- {one_name}\n+++ {other_name}\n{hunks}");
    }
    let hunks = unified(&written(one), &written(other));
    format!("The values are equal, but written differently:\n--- {one_name}\n+++ {other_name}\n{hunks}")
}

/// An answer as YAML.
pub fn yaml(answer: &AnswerLine) -> String {
    serde_json::to_value(answer).ok().and_then(|value| serde_saphyr::to_string(&value).ok()).unwrap_or_default()
}

fn written(answer: &AnswerLine) -> String {
    let mut output = String::new();
    if let ResultLine::Response(Response { children, status, .. }) = &answer.result {
        let applied = children.iter().flatten().filter_map(Child::applied).map(|child| &child.object);
        for text in applied.chain(status) {
            // Writing to a string does not fail.
            let _ = writeln!(output, "{text:?}");
        }
    }
    output
}
