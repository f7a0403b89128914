//! From the document of a configuration file to what it says: the schema finds all that is wrong with it, and what is left is read.

use std::collections::BTreeSet;
use std::path::Path;

use gyre_core::grants::{Adoption, Namespaces};
use gyre_sandbox::{Limits, Reuse};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde::Deserialize as _;
use serde_json::Value;

use super::keys::{self, File, Mount, Shadow};
use super::node::{self, Node, Part};
use super::problem::{Problems, list};
use super::spec::{Configuration, Located, MountSpec, Origin, Policy, SettingsFrom, ShadowSpec};
use super::types::{CHECK, Check, Count, FilePath, Label, List, REMEDY, Size, Text, Time};
use super::validate::{keys, report_unknown, schema_of};
use super::{process, schema};

/// Reads a configuration file. Paths in it are relative to `directory`.
///
/// What is wrong is a problem, and taken as if it were not there. `overrides` go before the file's `defaults`.
pub(crate) fn read(root: Part, directory: &Path, overrides: impl Fn(&mut Policy), problems: &mut Problems) -> Configuration {
    let (file, wrong) = check(&root, problems);
    let reader = Reader { directory, wrong };
    let mut configuration = Configuration::empty(root.clone());
    if let Some(Label(name)) = file.name {
        configuration.name = Located { value: Some(name), place: root.at("/name").place() };
    }
    configuration.host = process::settings(&file.host.unwrap_or_default());
    let base = Policy::default();
    configuration.defaults = reader.policy(&file.defaults.unwrap_or_default(), &root.at("/defaults"), &base);
    overrides(&mut configuration.defaults);
    configuration.directory = file
        .plugin_directory
        .map(|FilePath(path)| Located { value: directory.join(path), place: root.at("/pluginDirectory").place() });
    for (index, mount) in file.mounts.iter().flat_map(List::iter) {
        let part = root.at(&format!("/mounts/{index}"));
        configuration.mounts.extend(reader.mount(mount, part, &configuration.defaults));
    }
    configuration
}

/// Reports all that is wrong with a file, and takes it out. Returns the pointers to it, too.
fn check(root: &Part, problems: &mut Problems) -> (File, BTreeSet<String>) {
    let Some(node) = root.node().filter(|node| !matches!(node.value, node::Value::Null)) else {
        problems.add(root.place(), "the file is empty", "list what to mount under mounts, or name a pluginDirectory");
        return Default::default();
    };
    let schema = schema::schema();
    let validator = match schema::validator(&schema) {
        Ok(validator) => validator,
        Err(error) => {
            problems.add(root.document(), format!("its schema cannot be used: {error}"), "report this defect of gyre");
            return Default::default();
        }
    };
    let mut json = schema::json(node, &schema, &schema);
    let mut report = Report { root, schema: &schema, problems, wrong: BTreeSet::new() };
    validator.iter_errors(&json).for_each(|error| report.add(&error));
    let wrong = report.wrong;
    for pointer in &wrong {
        if let Some(value) = json.pointer_mut(pointer) {
            *value = Value::Null;
        }
    }
    let file = serde_json::from_value::<Option<File>>(json);
    let file = file.unwrap_or_else(|error| {
        problems.add(root.document(), format!("it cannot be read: {error}"), "report this defect of gyre");
        None
    });
    (file.unwrap_or_default(), wrong)
}

struct Report<'a> {
    root: &'a Part,
    schema: &'a Value,
    problems: &'a mut Problems,
    /// Pointers to the values that are wrong.
    wrong: BTreeSet<String>,
}

impl Report<'_> {
    fn add(&mut self, error: &ValidationError<'_>) {
        let (schema, at) = (schema_of(error, self.schema), error.instance_path());
        let part = self.root.at(at.as_str());
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let known = |known: &[&str]| format!("known here are {}", list(known));
                report_unknown(&part, "key", unexpected, schema, known, self.problems);
            }
            ValidationErrorKind::Required { property: Value::String(key) } => {
                let remedy = schema.pointer(&format!("/properties/{key}/{REMEDY}")).and_then(Value::as_str).unwrap_or_default();
                let remedy = format!("add {key}: {}", remedy.trim_start_matches("write "));
                self.problems.add(part.place(), format!("the key {key} is missing"), remedy);
                self.wrong.insert(at.as_str().to_owned());
            }
            ValidationErrorKind::Not { schema: not } => {
                let key = not.pointer("/required").and_then(Value::as_array).and_then(|keys| keys.last()?.as_str());
                let pointer = format!("{}/{}", at.as_str(), key.unwrap_or_default());
                self.rule(&self.root.at(&pointer), schema);
                self.wrong.insert(pointer);
            }
            ValidationErrorKind::AnyOf { context } => {
                // The value is of that alternative of which only parts are wrong.
                let meant = context.iter().find(|errors| errors.iter().all(|inner| inner.instance_path() != at));
                match meant {
                    Some(errors) => errors.iter().for_each(|error| self.add(error)),
                    None if at.as_str().is_empty() => self.rule(&part, schema),
                    None => self.value(&part, schema, error),
                }
            }
            _ => self.value(&part, schema, error),
        }
    }

    /// A rule for several keys is broken.
    fn rule(&mut self, part: &Part, schema: &Value) {
        let text = schema.get(REMEDY).and_then(Value::as_str).unwrap_or_default();
        let (what, remedy) = text.split_once("; ").unwrap_or((text, ""));
        self.problems.add(part.place(), what, remedy);
    }

    fn value(&mut self, part: &Part, schema: &Value, error: &ValidationError<'_>) {
        if !self.wrong.insert(error.instance_path().as_str().to_owned()) {
            return;
        }
        let check = schema.get(CHECK).and_then(|check| Check::deserialize(check).ok());
        let reason = check.and_then(|check| check.check(error.instance()).err()?);
        let what = reason.unwrap_or_else(|| {
            let value = part.node().map_or_else(|| "it".to_owned(), Node::describe);
            format!("{value} is not valid here")
        });
        self.problems.add(part.place(), what, remedy(schema, error.instance()));
    }
}

/// What to do about a value that a schema refuses.
fn remedy(schema: &Value, value: &Value) -> String {
    let flag = schema.get(process::FLAG).and_then(|key| process::flags().into_iter().find(|flag| *key == *flag.key));
    let own = schema.get(REMEDY).and_then(Value::as_str).map(str::to_owned);
    flag.and_then(|flag| flag.refusal(value)).or(own).unwrap_or_else(|| format!("write {}", expected(schema)))
}

/// What a schema without a remedy of its own accepts.
fn expected(schema: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parts = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    if let Some(alternatives) = parts("anyOf") {
        return alternatives.iter().map(expected).collect::<Vec<_>>().join(", or ");
    }
    if let Some(words) = parts("enum") {
        return words.iter().map(word).collect::<Vec<_>>().join(" or ");
    }
    if let (Some(least), Some(most)) = (schema.get("minimum"), schema.get("maximum")) {
        return format!("a number from {least} to {most}");
    }
    match (schema.get("const"), schema.get("type"), &keys(schema)[..]) {
        (Some(value), ..) => word(value),
        (None, Some(Value::String(name)), []) if name == "boolean" => "true or false".to_owned(),
        (None, Some(Value::Array(_)), []) => "a text, a number, true or false".to_owned(),
        (None, _, keys) => format!("a map of {}", list(keys)),
    }
}

struct Reader<'a> {
    directory: &'a Path,
    /// Pointers to what is wrong.
    wrong: BTreeSet<String>,
}

impl Reader<'_> {
    /// Whether a value or a part of it is wrong.
    fn is_wrong(&self, part: &Part) -> bool {
        let at = part.pointer();
        let mut below = self.wrong.range(at.to_owned()..).map_while(|wrong| wrong.strip_prefix(at));
        below.any(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn mount(&self, mount: &Mount, part: Part, defaults: &Policy) -> Option<MountSpec> {
        let FilePath(plugin) = mount.plugin.as_ref()?;
        Some(MountSpec {
            origin: Origin::File,
            plugin: self.directory.join(plugin),
            settings: self.settings(&part, mount.settings.is_some(), mount.settings_from.as_ref()),
            policy: self.policy(&mount.policy, &part, defaults),
            shadow: mount.shadow.as_ref().and_then(|shadow| self.shadow(shadow, part.at("/shadow"))),
            keys: mount.clone(),
            part,
        })
    }

    fn shadow(&self, shadow: &Shadow, part: Part) -> Option<ShadowSpec> {
        let FilePath(plugin) = shadow.plugin.as_ref()?;
        let settings = self.settings(&part, shadow.settings.is_some(), shadow.settings_from.as_ref());
        Some(ShadowSpec { plugin: self.directory.join(plugin), settings, part })
    }

    fn settings(&self, part: &Part, are_inline: bool, from: Option<&FilePath>) -> SettingsFrom {
        let (inline, file) = (part.at("/settings"), part.at("/settingsFrom"));
        match from {
            _ if self.is_wrong(&inline) || self.is_wrong(&file) => SettingsFrom::Unknown,
            _ if are_inline => SettingsFrom::Inline(inline),
            Some(FilePath(path)) => SettingsFrom::File(self.directory.join(path), file),
            None => SettingsFrom::Default,
        }
    }

    /// What the keys say, and the base where they say nothing.
    fn policy(&self, keys: &keys::Policy, part: &Part, base: &Policy) -> Policy {
        let mut policy = base.clone();
        if self.is_wrong(&part.at("/namespaces")) {
            policy.namespaces = None;
        } else if let Some(names) = &keys.namespaces {
            policy.namespaces = Some(Namespaces::Only(names.iter().map(|(_, Label(name))| name.clone()).collect()));
        }
        if let Some(adopts) = keys.adoption {
            policy.adoption = if adopts { Adoption::Allowed } else { Adoption::Refused };
        }
        if let Some(limits) = &keys.limits {
            set_limits(&mut policy.limits, limits);
        }
        if let Some(Count(Some(workers))) = keys.workers {
            policy.workers = workers as usize;
        }
        if let Some(Count(retries)) = keys.max_retries {
            policy.max_retries = retries;
        }
        if let Some(Count(faults)) = keys.quarantine_after {
            policy.quarantine_after = faults;
        }
        if let Some(Text(Time(floor))) = keys.min_requeue_after {
            policy.requeue_floor = floor;
        }
        policy
    }
}

fn set_limits(limits: &mut Limits, keys: &keys::Limits) {
    let size = |target: &mut usize, size: Option<Size>| *target = size.map_or(*target, |Size(bytes)| bytes);
    let count = |target: &mut usize, count: Option<Count>| {
        if let Some(Count(Some(count))) = count {
            *target = count as usize;
        }
    };
    if let Some(Text(Time(deadline))) = keys.deadline {
        limits.deadline = deadline;
    }
    size(&mut limits.memory_bytes, keys.memory);
    size(&mut limits.output_bytes, keys.output);
    count(&mut limits.output_depth, keys.output_depth);
    count(&mut limits.children, keys.children);
    count(&mut limits.conditions, keys.conditions);
    count(&mut limits.events, keys.events);
    count(&mut limits.reads, keys.reads);
    size(&mut limits.read_bytes, keys.read_bytes);
    size(&mut limits.text_bytes, keys.text_bytes);
    size(&mut limits.log_bytes, keys.log);
    count(&mut limits.log_lines, keys.log_lines);
    if let Some(Count(calls)) = keys.reuse {
        limits.reuse = calls.map_or(Reuse::Never, Reuse::UpTo);
    }
}
