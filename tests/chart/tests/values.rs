//! values.yaml, values.schema.json, README.md and the host agree.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use gyre_chart_tests::helm::{Helm, Release};
use gyre_chart_tests::tree::Tree;
use gyre_chart_tests::{blessing, chart, root};
use serde_json::Value;

use crate::programs::gyre_or_skip;

/// The marks around the text that this test generates.
const MARKS: (&str, &str) = ("<!-- values: written by tests/chart with GYRE_BLESS=1 -->\n", "<!-- values end -->");
/// The table refers to values.yaml for longer defaults.
const LONGEST_DEFAULT: usize = 60;
/// Values that values.yaml may lack: `global` is Helm's.
const WITHOUT_DEFAULT: [&str; 1] = ["global"];

fn json(path: &Path) -> Tree {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn schema() -> Tree {
    json(&chart().join("values.schema.json"))
}

fn values() -> Tree {
    serde_saphyr::from_str(&fs::read_to_string(chart().join("values.yaml")).unwrap()).unwrap()
}

struct Row {
    path: String,
    default: Tree,
    description: String,
}

fn rows(path: &str, values: &Tree, schema: &Tree, rows: &mut Vec<Row>, findings: &mut Vec<String>) {
    let described = schema.get("properties").map(Tree::entries).unwrap_or_default();
    let known: BTreeSet<&str> = values.entries().iter().map(|(key, _)| key.as_str()).collect();
    for (key, _) in described {
        if !known.contains(key.as_str()) && !WITHOUT_DEFAULT.contains(&key.as_str()) {
            findings.push(format!("values.yaml lacks {path}{key}"));
        }
    }
    for (key, value) in values.entries() {
        let Some((_, schema)) = described.iter().find(|(name, _)| name == key) else {
            findings.push(format!("values.schema.json lacks {path}{key}"));
            continue;
        };
        let path = format!("{path}{key}");
        match schema.get("description").and_then(Tree::text) {
            Some(description) => rows.push(Row { path, default: value.clone(), description: description.to_owned() }),
            None if schema.get("properties").is_some() => self::rows(&format!("{path}."), value, schema, rows, findings),
            None => findings.push(format!("values.schema.json does not describe {path}")),
        }
    }
}

fn table() -> String {
    let (mut all, mut findings) = (Vec::new(), Vec::new());
    rows("", &values(), &schema(), &mut all, &mut findings);
    assert!(findings.is_empty(), "{findings:#?}");
    let mut text = "| value | default | what it is |\n|---|---|---|\n".to_owned();
    for Row { path, default, description } in all {
        let default = match serde_json::to_string(&default).unwrap() {
            long if long.len() > LONGEST_DEFAULT => "see values.yaml".to_owned(),
            short => format!("`{short}`"),
        };
        writeln!(text, "| `{path}` | {default} | {} |", description.replace('|', "\\|")).unwrap();
    }
    text
}

#[test]
fn every_value_is_described_where_people_look() {
    let path = chart().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(MARKS.0).expect("README.md has the mark");
    let (written, after) = rest.split_once(MARKS.1).expect("README.md has the second mark");
    let table = table();
    if blessing() {
        fs::write(&path, format!("{before}{}{table}{}{after}", MARKS.0, MARKS.1)).unwrap();
    } else {
        assert_eq!(written, table, "GYRE_BLESS=1 writes it");
    }
}

#[test]
fn the_examples_of_the_readme_render() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let readme = fs::read_to_string(chart().join("README.md"))?;
    let shown: Vec<&str> = readme.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(shown.len() >= 3, "{shown:?}");
    for values in shown {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), values)?;
        let rendered = helm.template(&Release::of(file.path())?)?;
        assert!(rendered.is_ok(), "{rendered:?}:\n{values}");
    }
    Ok(())
}

/// Misspelt values are rejected, except within content of Kubernetes or the host.
#[test]
fn the_schema_refuses_what_it_does_not_know() {
    fn closed(path: &str, schema: &Tree, findings: &mut Vec<String>) {
        for (key, schema) in schema.get("properties").map(Tree::entries).unwrap_or_default() {
            let path = format!("{path}.{key}");
            if schema.get("properties").is_some() && schema.get("additionalProperties") != Some(&Tree::Leaf(Value::Bool(false)))
            {
                findings.push(path.clone());
            }
            closed(&path, schema, findings);
            closed(&format!("{path}[]"), schema.get("items").unwrap_or(&Tree::List(Vec::new())), findings);
        }
    }
    let mut findings = Vec::new();
    closed("", &schema(), &mut findings);
    assert_eq!(findings, Vec::<String>::new());
}

/// `config` is the host's configuration file, so its schema is part of the chart's.
#[test]
fn the_configuration_is_described_as_the_host_does() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let printed = Command::new(gyre).arg("config-schema").output()?;
    let host: Tree = serde_json::from_slice(&printed.stdout)?;
    let mut schema = schema();
    let before = schema.clone();
    let (properties, definitions) = (host.get("properties").unwrap(), host.get("$defs").unwrap());
    *schema.at_mut(["properties", "config", "properties"]).unwrap() = properties.clone();
    let Some(Tree::Map(own)) = schema.get_mut("$defs") else { panic!("no $defs") };
    own.retain(|(name, _)| ["pullPolicy", "rules"].contains(&name.as_str()));
    own.extend(definitions.entries().iter().cloned());

    // The mounts of a plugin source are the same, but need no file name.
    let mount = definitions.at(["mount", "properties"]).unwrap();
    let reference = |key: &String| Tree::Leaf(format!("#/$defs/mount/properties/{key}").into());
    let references = mount.entries().iter().map(|(key, _)| (key.clone(), Tree::Map(vec![("$ref".to_owned(), reference(key))])));
    let path = ["properties", "plugins", "items", "properties", "mounts", "items", "properties"];
    *schema.at_mut(path).unwrap() = Tree::Map(references.collect());

    if blessing() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        fs::write(chart().join("values.schema.json"), text).unwrap();
    } else {
        assert!(schema == before, "GYRE_BLESS=1 writes it");
    }
    Ok(())
}

/// Helm packs only files in the chart.
#[test]
fn the_custom_resource_definitions_are_those_of_the_plugins() {
    for plugin in ["echo", "scheduled-echo"] {
        let source = fs::read_to_string(root().join("plugins").join(plugin).join("crd.json")).unwrap();
        let copy = chart().join("files/crds").join(format!("{plugin}.json"));
        if blessing() {
            fs::write(&copy, &source).unwrap();
        }
        assert_eq!(fs::read_to_string(&copy).unwrap(), source, "GYRE_BLESS=1 writes it");
    }
}
