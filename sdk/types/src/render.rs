//! Types as Rust.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::doc::comment;
use crate::model::{Choice, Field, Kind, Module, Object, Shape};
use crate::names;

/// Returns a module as Rust: invocations of the macros `kind`, `object` and `choice`, which
/// `macros` prefixes, e.g. `gyre_sdk::`.
pub fn render(module: &Module, macros: &str) -> String {
    let mut text = String::new();
    for kind in &module.kinds {
        let Kind { api_version, object } = kind;
        let head = format!("{name}, {name}View, \"{api_version}\"", name = object.name);
        text.push_str(&block(macros, "kind", &object.description, &head, &rows(object, true)));
    }
    for object in &module.objects {
        let head = format!("{name}{keys}, {name}View", name = object.name, keys = keys(object));
        text.push_str(&block(macros, "object", &object.description, &head, &rows(object, false)));
    }
    for Choice { name, texts } in &module.choices {
        let rows: String = texts.iter().map(|text| format!("        {} = {text:?},\n", names::camel(text))).collect();
        text.push_str(&block(macros, "choice", "", name, &rows));
    }
    text
}

fn block(macros: &str, name: &str, description: &str, head: &str, rows: &str) -> String {
    let comment = comment(description, 4, "A value of a field.");
    format!("\n{macros}{name}! {{\n{comment}    {head} {{\n{rows}    }}\n}}\n")
}

/// Returns the arguments of `new`, with their setters and shapes.
fn keys(object: &Object) -> String {
    let keys: Vec<String> = object.keys().into_iter().map(key).collect();
    if keys.is_empty() { String::new() } else { format!("({})", keys.join(", ")) }
}

fn key(Field { name, shape, .. }: &Field) -> String {
    let (_, set) = identifiers(name, false, &mut BTreeSet::new());
    match shape {
        Shape::Choice(choice) => format!("with_{set}: choice = {choice}"),
        shape => format!("with_{set}: {}", shape_name(shape).trim_end_matches("()")),
    }
}

/// The methods of a view besides those of its fields.
const OF_VIEWS: [&str; 2] = ["exists", "to_owned"];
/// The methods of a kind besides those of its fields.
const OF_KINDS: [&str; 8] = ["as_json", "condition", "name", "named", "namespace", "new", "strategy", "view"];
/// Setters that a kind has for its metadata.
const METADATA: [&str; 3] = ["annotations", "labels", "namespace"];

fn rows(object: &Object, is_kind: bool) -> String {
    let mut rows = String::new();
    let mut taken = BTreeSet::new();
    for Field { name, description, shape } in &object.fields {
        let (get, set) = identifiers(name, is_kind, &mut taken);
        rows.push_str(&comment(description, 8, &format!("The field {name}.")));
        let _ = writeln!(rows, "        {} {get}, with_{set}: {name:?};", shape_name(shape));
    }
    rows
}

/// Returns the identifiers of a getter and, after `with_`, of a setter. A number distinguishes
/// fields whose names differ only in their signs.
fn identifiers(name: &str, is_kind: bool, taken: &mut BTreeSet<String>) -> (String, String) {
    let snake = names::snake(name);
    let numbered = (2..).map(|number| format!("{snake}{number}"));
    let mut candidates = std::iter::once(snake.clone()).chain(numbered);
    let free = candidates.find(|candidate| !taken.contains(candidate)).unwrap_or(snake);
    taken.insert(free.clone());
    let is_method = OF_VIEWS.contains(&free.as_str()) || (is_kind && OF_KINDS.contains(&free.as_str()));
    let get = if is_method || names::is_keyword(&free) { format!("{free}_") } else { free.clone() };
    let set = if is_kind && METADATA.contains(&free.as_str()) { format!("{free}_") } else { free };
    (get, set)
}

fn shape_name(shape: &Shape) -> String {
    let with_view = |word: &str, name: &str| format!("{word}({name}, {name}View)");
    match shape {
        Shape::Text => "text()".to_owned(),
        Shape::Int => "int()".to_owned(),
        Shape::Long => "long()".to_owned(),
        Shape::Number => "number()".to_owned(),
        Shape::Flag => "flag()".to_owned(),
        Shape::Time => "time()".to_owned(),
        Shape::IntOrText => "int_or_text()".to_owned(),
        Shape::Json => "json()".to_owned(),
        Shape::Object(name) => with_view("object", name),
        Shape::Choice(name) => format!("choice({name})"),
        Shape::Texts => "texts()".to_owned(),
        Shape::Longs => "longs()".to_owned(),
        Shape::Objects(name) => with_view("objects", name),
        Shape::Choices(name) => format!("choices({name})"),
        Shape::TextMap => "text_map()".to_owned(),
        Shape::ByteMap => "byte_map()".to_owned(),
        Shape::ObjectMap(name) => with_view("object_map", name),
    }
}
