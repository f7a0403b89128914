//! The packages of Cargo in a program: `cargo tree` knows the features, `cargo metadata` the
//! licenses and edges, and `Cargo.lock` the digests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Context as _;
use serde_json::Value;

use super::{Bill, Component, Scope};
use crate::build;
use crate::steps;

/// A program, and how it is compiled.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// The name of the program.
    pub(super) of: &'a str,
    /// The packages that it is compiled from.
    pub(super) packages: Vec<String>,
    /// The options of Cargo that choose features.
    pub(super) options: &'a [&'a str],
    pub(super) targets: &'a [&'a str],
}

/// The edges to what is in a program.
const IN_THE_PROGRAM: &str = "normal,no-proc-macro";

/// The edges to this, and to what is needed to compile it.
const ALL: &str = "normal,build";

/// A name and a version.
type Package = (String, String);

/// Lists the packages of a program, on any of its targets.
pub(super) fn read(source: &Source<'_>) -> anyhow::Result<Bill> {
    let (mut required, mut all) = (BTreeSet::new(), BTreeSet::new());
    for target in source.targets {
        required.extend(packages_of_tree(&tree(source, target, IN_THE_PROGRAM)?));
        all.extend(packages_of_tree(&tree(source, target, ALL)?));
    }
    let lock = fs::read_to_string(build::root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    Ok(Facts::of(&metadata(source.targets)?).bill(source, &required, &all, &digests(&lock)))
}

fn tree(source: &Source<'_>, target: &str, edges: &str) -> anyhow::Result<String> {
    let mut command =
        build::cargo(&["tree", "--locked", "--prefix", "none", "--format", "{p}", "--target", target, "--edges", edges]);
    command.args(source.options);
    for package in &source.packages {
        command.args(["--package", package.as_str()]);
    }
    steps::stdout_of(&mut command)
}

/// Returns what `cargo metadata` says about all packages of these targets.
fn metadata(targets: &[&str]) -> anyhow::Result<Value> {
    let mut command = build::cargo(&["metadata", "--format-version=1", "--locked"]);
    for target in targets {
        command.args(["--filter-platform", *target]);
    }
    serde_json::from_str(&steps::stdout_of(&mut command)?).context("`cargo metadata` printed no JSON")
}

/// Returns the packages in lines such as `serde v1.0.0 (proc-macro)`.
fn packages_of_tree(tree: &str) -> BTreeSet<Package> {
    let package = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?;
        Some((name.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(package).collect()
}

/// Returns the digests in `Cargo.lock`.
fn digests(lock: &str) -> BTreeMap<Package, String> {
    let value = |entry: &str, key: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_owned())
    };
    let digest = |entry: &str| Some(((value(entry, "name")?, value(entry, "version")?), value(entry, "checksum")?));
    lock.split("[[package]]").filter_map(digest).collect()
}

/// The facts about packages.
#[derive(Debug, Default)]
struct Facts {
    /// By the identity that Cargo gives a package.
    packages: BTreeMap<String, Package>,
    /// The packages that come from a registry.
    foreign: BTreeSet<Package>,
    licenses: BTreeMap<Package, String>,
    /// The packages on which each depends, but for its tests.
    dependencies: BTreeMap<Package, BTreeSet<Package>>,
}

impl Facts {
    /// Reads what `cargo metadata` says.
    fn of(metadata: &Value) -> Self {
        let mut facts = Self::default();
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        for entry in list(metadata.get("packages")) {
            let package = (text(&entry, "name"), text(&entry, "version"));
            if entry.get("source").is_some_and(Value::is_string) {
                facts.foreign.insert(package.clone());
            }
            // The older form of an alternative has a slash.
            let license = text(&entry, "license").replace('/', " OR ");
            if !license.is_empty() {
                facts.licenses.insert(package.clone(), license);
            }
            facts.packages.insert(text(&entry, "id"), package);
        }
        for node in list(metadata.pointer("/resolve/nodes")) {
            let Some(package) = facts.packages.get(&text(&node, "id")).cloned() else { continue };
            let is_used = |dependency: &Value| list(dependency.get("dep_kinds")).iter().any(|kind| text(kind, "kind") != "dev");
            let used = list(node.get("deps")).into_iter().filter(is_used);
            let on: BTreeSet<Package> = used.filter_map(|used| facts.packages.get(&text(&used, "pkg")).cloned()).collect();
            facts.dependencies.insert(package, on);
        }
        facts
    }

    /// Returns the bill of a program that consists of these packages.
    fn bill(
        &self,
        source: &Source<'_>,
        required: &BTreeSet<Package>,
        all: &BTreeSet<Package>,
        digests: &BTreeMap<Package, String>,
    ) -> Bill {
        let component = |package: &Package| {
            let (name, version) = package;
            Component {
                reference: reference(package),
                name: name.clone(),
                version: version.clone(),
                url: self.foreign.contains(package).then(|| format!("pkg:cargo/{name}@{version}")),
                license: self.licenses.get(package).cloned(),
                sha256: digests.get(package).cloned(),
                scope: if required.contains(package) { Scope::Required } else { Scope::Excluded },
            }
        };
        let roots = all.iter().filter(|(name, _)| source.packages.contains(name)).map(reference).collect();
        let mut dependencies = vec![(source.of.to_owned(), roots)];
        for package in all {
            let on = self.dependencies.get(package).into_iter().flatten().filter(|on| all.contains(*on));
            dependencies.push((reference(package), on.map(reference).collect()));
        }
        Bill { name: source.of.to_owned(), components: all.iter().map(component).collect(), dependencies }
    }
}

/// Returns the name by which a bill refers to a package.
fn reference((name, version): &Package) -> String {
    format!("{name} {version}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packages_are_read_from_a_tree() {
        let tree = "gyre v0.1.0 (/gyre/host)\nserde v1.0.0\nserde v1.0.0 (*)\nserde_derive v1.0.0 (proc-macro)\n\n\
            wasip2 v1.0.4+wasi-0.2.12\n";
        let found: Vec<String> = packages_of_tree(tree).iter().map(reference).collect();
        assert_eq!(found, ["gyre 0.1.0", "serde 1.0.0", "serde_derive 1.0.0", "wasip2 1.0.4+wasi-0.2.12"]);
    }

    #[test]
    fn digests_are_read_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"0a\"\n\n\
            [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        assert_eq!(digests(lock), BTreeMap::from([(("a".to_owned(), "1.0.0".to_owned()), "0a".to_owned())]));
    }

    #[test]
    fn a_bill_has_what_is_in_the_program_and_what_compiles_it() {
        let package = |name: &str, source: Value, license: &str| {
            let id = format!("{name}-id");
            json!({"id": id, "name": name, "version": "1.0.0", "source": source, "license": license})
        };
        let on = |name: &str, kind: Value| json!({"pkg": format!("{name}-id"), "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [
                package("gyre", Value::Null, "Apache-2.0"),
                package("a", json!("registry"), "MIT/Apache-2.0"),
                package("macros", json!("registry"), "MIT"),
                package("tests", json!("registry"), "MIT"),
            ],
            "resolve": {"nodes": [
                {"id": "gyre-id", "deps": [on("a", Value::Null), on("macros", json!("build")), on("tests", json!("dev"))]},
                {"id": "a-id", "deps": []},
            ]},
        });
        let source = Source { of: "program", packages: vec!["gyre".to_owned()], options: &[], targets: &[] };
        let required = packages_of_tree("gyre v1.0.0\na v1.0.0\n");
        let all = packages_of_tree("gyre v1.0.0\na v1.0.0\nmacros v1.0.0\n");
        let bill = Facts::of(&metadata).bill(&source, &required, &all, &BTreeMap::new());
        let components: Vec<(&str, Scope, Option<&str>, Option<&str>)> = bill
            .components
            .iter()
            .map(|component| (component.name.as_str(), component.scope, component.url.as_deref(), component.license.as_deref()))
            .collect();
        assert_eq!(
            components,
            [
                ("a", Scope::Required, Some("pkg:cargo/a@1.0.0"), Some("MIT OR Apache-2.0")),
                ("gyre", Scope::Required, None, Some("Apache-2.0")),
                ("macros", Scope::Excluded, Some("pkg:cargo/macros@1.0.0"), Some("MIT")),
            ]
        );
        let edge = |from: &str, on: &[&str]| (from.to_owned(), on.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let expected = [
            edge("program", &["gyre 1.0.0"]),
            edge("a 1.0.0", &[]),
            edge("gyre 1.0.0", &["a 1.0.0", "macros 1.0.0"]),
            edge("macros 1.0.0", &[]),
        ];
        assert_eq!(bill.dependencies, expected);
    }
}
