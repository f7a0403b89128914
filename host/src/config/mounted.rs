//! The mount of a plugin that is loaded already, for tests of plugins.

use std::path::{Path, PathBuf};

use gyre_core::deletion_guard::Limits;
use gyre_core::grants::{ParentDeletions, ParentFields};
use gyre_engine::program::Program;
use gyre_input::document::{Document, Part, Source};
use gyre_input::problem::{Place, Problems};
use gyre_offline::cases::{MOUNT, SETTINGS};
use gyre_sandbox::{Plugin, Sandbox};
use serde_json::{Map, Value, json};

use super::arguments::mounts::MountArguments;
use super::load::Loader;
use super::read;
use super::spec::{MountPolicy, MountSpec, SettingsFrom};
use crate::plugins::files::Files;
use crate::plugins::source::oci::Pulls;

const PLUGIN: &str = "plugin";

/// Returns the program of a plugin, with the keys of an entry of `mounts` and with settings; null
/// are none. By default, deletions are not guarded, and those of parents are granted: a test of a
/// plugin is about its answers.
///
/// # Errors
///
/// All problems of the keys and the settings.
pub(crate) fn mounted(
    sandbox: &Sandbox,
    plugin: Plugin,
    keys: &Map<String, Value>,
    settings: &Value,
) -> Result<Program, Problems> {
    let mut problems = Problems::default();
    let spec = spec(&plugin, keys, &mut problems);
    let settings = if settings.is_null() { &Value::Object(Map::new()) } else { settings };
    let settings = parse("the settings", settings, &mut problems);
    let program = spec.zip(settings).map(|(mut spec, settings)| {
        spec.source.settings = SettingsFrom::Inline(settings);
        program(sandbox, &spec, plugin, &[], &mut problems)
    });
    loaded(program, problems)
}

/// The same for a case of `gyre test`: the keys are those of its `mount.yaml`, and override flags.
/// Without settings of the case, those of the keys or of flags count.
///
/// # Errors
///
/// All problems of the keys and the settings.
pub(crate) fn mounted_by_case(
    sandbox: &Sandbox,
    plugin: Plugin,
    keys: &Map<String, Value>,
    settings: Option<&Value>,
    flags: &MountArguments,
) -> Result<Program, Problems> {
    let mut problems = Problems::default();
    if keys.contains_key(PLUGIN) {
        problems.add(
            Place::whole(&MOUNT.into()),
            "it names a plugin",
            "remove the key plugin: the plugin is that of the command",
        );
    }
    let overrides = |policy: &mut MountPolicy| flags.override_policy(policy);
    let spec = with_keys(MOUNT, &plugin, keys, overrides, &mut problems);
    let by_flag = flags.configuration(&mut problems).settings;
    let program = spec.and_then(|mut spec| {
        if let Some(settings) = settings {
            spec.source.settings = SettingsFrom::Inline(parse(SETTINGS, settings, &mut problems)?);
        }
        Some(program(sandbox, &spec, plugin, &by_flag, &mut problems))
    });
    loaded(program, problems)
}

fn program(
    sandbox: &Sandbox,
    spec: &MountSpec,
    plugin: Plugin,
    by_flag: &[(Option<String>, Part)],
    problems: &mut Problems,
) -> Program {
    Loader::new(sandbox, &mut Pulls::default(), None, &[], &mut Files::default(), problems).program(spec, plugin, None, by_flag)
}

fn loaded(program: Option<Program>, problems: Problems) -> Result<Program, Problems> {
    match problems.or(program)? {
        Some(program) => Ok(program),
        None => {
            let mut problems = Problems::default();
            problems.add(Place::whole(&"the mount".into()), "there is no mount", "write the keys of a mount");
            Err(problems)
        }
    }
}

fn spec(plugin: &Plugin, keys: &Map<String, Value>, problems: &mut Problems) -> Option<MountSpec> {
    let unguarded = |policy: &mut MountPolicy| {
        policy.reconciles.deletion_guard = Limits::OFF;
        policy.parent_deletions = ParentDeletions::Granted;
        policy.parent_fields = ParentFields::Declared;
    };
    let name = &plugin.manifest().name;
    if keys.is_empty() {
        // The usual case, without the schema of the configuration, which takes milliseconds.
        let mut policy = MountPolicy::default();
        unguarded(&mut policy);
        return Some(MountSpec::of(PathBuf::from(name).into(), Part::flag("the mount"), policy));
    }
    with_keys("the mount", plugin, keys, unguarded, problems)
}

/// Reads the keys of an entry of `mounts`. `source` names them in problems.
fn with_keys(
    source: &str,
    plugin: &Plugin,
    keys: &Map<String, Value>,
    overrides: impl Fn(&mut MountPolicy),
    problems: &mut Problems,
) -> Option<MountSpec> {
    let mut entry = keys.clone();
    entry.insert(PLUGIN.to_owned(), Value::from(plugin.manifest().name.as_str()));
    let document = parse(source, &json!({ "mounts": [entry] }), problems)?;
    read::read(document, Path::new(""), overrides, problems).mounts.pop()
}

fn parse(source: &str, value: &Value, problems: &mut Problems) -> Option<Part> {
    match Document::parse(Source::Flag(source.into()), &value.to_string()) {
        Ok(document) => Some(Part::whole(document)),
        Err(problem) => {
            problems.0.push(problem);
            None
        }
    }
}
