//! Lists the mounts of a configuration, for people.

use std::collections::BTreeSet;
use std::fmt;

use gyre_core::grants::{Namespaces, WriteNamespaces};
use gyre_engine::program::Program;

use super::quantity::Bytes;

const HEADINGS: [&str; 10] =
    ["NAME", "PLUGIN", "VERSION", "DIGEST", "PARENT", "NAMESPACES", "WRITES", "WORKERS", "DEADLINE", "MEMORY"];

pub(crate) struct Table<'a>(pub(crate) &'a [Program]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<[String; 10]> = self.0.iter().flat_map(rows).collect();
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

fn rows(program: &Program) -> impl Iterator<Item = [String; 10]> {
    let shadow = program.shadow.as_deref().map(|shadow| row(shadow, &format!("{} (shadow)", program.name)));
    std::iter::once(row(program, &program.name)).chain(shadow)
}

fn row(program: &Program, name: &str) -> [String; 10] {
    let manifest = program.manifest();
    let digest = program.plugin.digest().to_string();
    [
        name.to_owned(),
        manifest.name.clone(),
        manifest.version.clone(),
        digest.get(..12).unwrap_or_default().to_owned(),
        manifest.parent.to_string(),
        match &program.namespaces {
            Namespaces::All => "all".to_owned(),
            Namespaces::Only(names) => list(names),
        },
        match program.grants.write_namespaces() {
            WriteNamespaces::OfParent => "parent".to_owned(),
            WriteNamespaces::Named(names) => format!("parent,{}", list(names)),
            WriteNamespaces::All => "all".to_owned(),
        },
        program.workers.to_string(),
        format!("{:?}", program.limits.deadline),
        Bytes(program.limits.memory_bytes as u64).to_string(),
    ]
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}
