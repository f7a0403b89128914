//! Lists the mounts of a configuration, for people.

use std::collections::BTreeSet;
use std::fmt;

use gyre_core::grants::{Namespaces, ReadNamespaces, Scope, WriteNamespaces, match_any};
use gyre_engine::program::Program;
use serde_json::{Value, json};

use super::quantity::Bytes;
use crate::known_kinds::{parent_scope, writes_namespaces};

const COLUMNS: usize = 11;
const HEADINGS: [&str; COLUMNS] =
    ["NAME", "PLUGIN", "VERSION", "DIGEST", "PARENT", "NAMESPACES", "WRITES", "READS", "WORKERS", "DEADLINE", "MEMORY"];

pub(crate) struct Table<'a>(pub(crate) &'a [Program]);

impl Table<'_> {
    /// The same as data: each cell under its heading.
    pub(crate) fn json(&self) -> Value {
        let row = |cells: [String; COLUMNS]| -> Value {
            HEADINGS.iter().zip(cells).map(|(heading, cell)| (heading.to_ascii_lowercase(), Value::from(cell))).collect()
        };
        json!({ "mounts": self.0.iter().flat_map(rows).map(row).collect::<Vec<_>>() })
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<[String; COLUMNS]> = self.0.iter().flat_map(rows).collect();
        let headings = HEADINGS.map(str::to_owned);
        let lines = || std::iter::once(&headings).chain(&rows);
        for line in lines() {
            let mut text = String::new();
            for (column, cell) in line.iter().enumerate() {
                let width =
                    lines().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default();
                text.push_str(&format!("{cell:width$}   "));
            }
            writeln!(formatter, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

fn rows(program: &Program) -> impl Iterator<Item = [String; COLUMNS]> {
    let shadow = program.shadow.as_deref().map(|shadow| row(shadow, &format!("{} (shadow)", program.name)));
    std::iter::once(row(program, &program.name)).chain(shadow)
}

fn row(program: &Program, name: &str) -> [String; COLUMNS] {
    let manifest = program.manifest();
    [
        name.to_owned(),
        manifest.name.clone(),
        manifest.version.clone(),
        program.plugin.digest().short(),
        parent(program),
        all(program),
        writes(program),
        reads(program),
        program.policy.workers.to_string(),
        format!("{:?}", program.policy.limits.deadline),
        Bytes(program.policy.limits.memory_bytes as u64).to_string(),
    ]
}

/// The kind of the parents, and what the plugin may do to them.
fn parent(program: &Program) -> String {
    let sets = program.grants.allows_parent_fields().then_some("sets fields");
    let deletes = program.grants.allows_parent_deletions().then_some("deletes");
    let may: Vec<&str> = sets.into_iter().chain(deletes).collect();
    let kind = program.manifest().reconciled();
    if may.is_empty() { kind } else { format!("{kind} ({})", may.join(", ")) }
}

/// The namespaces in which namespaced children may be.
fn writes(program: &Program) -> String {
    // Nothing is known of kinds that the plugin does not contain; most have namespaces.
    let scope = parent_scope(program.manifest());
    let of_parent = match scope {
        Some(Scope::Cluster) if !writes_namespaces(program) => None,
        Some(Scope::Cluster) => Some("own"),
        Some(Scope::Namespaced) | None => Some("parent"),
    };
    let named = match program.grants.write_namespaces() {
        WriteNamespaces::All => return all(program),
        WriteNamespaces::OfParent => None,
        WriteNamespaces::Named(patterns) => Some(matching(program, patterns)),
    };
    joined(of_parent, named)
}

/// The namespaces in which namespaced objects may be read, beside those that the manifest names.
fn reads(program: &Program) -> String {
    let reads = &program.manifest().reads;
    if !reads.iter().any(|read| program.reads.kinds.allow(&read.kind)) {
        return NONE.to_owned();
    }
    let scope = parent_scope(program.manifest());
    let of_parent = (scope != Some(Scope::Cluster)).then_some("parent");
    match &program.reads.namespaces {
        ReadNamespaces::All => all(program),
        ReadNamespaces::OfParent => joined(of_parent, None),
        ReadNamespaces::Named(patterns) => joined(of_parent, Some(matching(program, patterns))),
    }
}

const NONE: &str = "none";

fn joined(of_parent: Option<&str>, named: Option<String>) -> String {
    let all: Vec<String> = of_parent.map(str::to_owned).into_iter().chain(named).collect();
    if all.is_empty() { NONE.to_owned() } else { all.join(",") }
}

/// The granted namespaces of the mount; the patterns, if it is mounted for all.
fn matching(program: &Program, patterns: &BTreeSet<String>) -> String {
    match &program.namespaces {
        Namespaces::All => list(patterns),
        Namespaces::Only(names) => list(names.iter().filter(|name| match_any(patterns, name))),
    }
}

fn all(program: &Program) -> String {
    match &program.namespaces {
        Namespaces::All => "all".to_owned(),
        Namespaces::Only(names) => list(names),
    }
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(String::as_str).collect::<Vec<_>>().join(",")
}
