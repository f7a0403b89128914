//! The settings of the process, as opposed to those of mounts: its arguments, and the keys under `host` in the file that set them.
//!
//! A key is the name of its flag in camel case: `--ha-lease-duration` is `haLeaseDuration`. The file sets the defaults of flags, so a flag
//! or its environment variable overrides it. It is read once: these settings do not change while the process runs.

use std::cell::RefCell;
use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, Command, ValueHint};

use super::node::{Source, Value};
use super::problem::{Place, Problems};
use super::read::Field;
use super::spec::{Said, Setting};
use crate::config::arguments::admin::AdminArguments;
use crate::config::arguments::election::{ElectionArguments, TimeFlag, WrongTimes};
use crate::config::arguments::mounts::CodeArguments;
use crate::config::arguments::telemetry::{LogArguments, TraceArguments};
use crate::config::values::{label, period};
use crate::plugins::files::Files;

/// The key of all that in the file.
pub(super) const KEY: &str = "host";

/// The arguments of the host itself.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    #[command(flatten)]
    pub(crate) admin: AdminArguments,
    #[command(flatten)]
    pub(crate) election: ElectionArguments,
    /// Namespace that the host runs in. It keeps its Leases there and, if the deployment has a name, its inventory.
    #[arg(long, value_name = "NAMESPACE", env = "NAMESPACE", default_value = "default", value_parser = label)]
    pub(crate) home_namespace: String,
    /// Allow `gyre record --secrets` to record the values of Secrets. Anyone who may forward a port of the host can then read them.
    #[arg(
        long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set
    )]
    pub(crate) record_secrets: bool,
    /// How long a plugin stays mounted after its file disappears from the plugin directory, e.g. 90s or 10m; 0 unmounts it at once
    /// [default: 5m]. The delay prevents a directory that is empty for a moment from removing the finalizers of all objects.
    #[arg(long, value_name = "DURATION", value_parser = grace)]
    pub(crate) plugin_dir_grace: Option<Duration>,
    #[command(flatten)]
    pub(crate) log: LogArguments,
    #[command(flatten)]
    pub(crate) traces: TraceArguments,
}

fn grace(text: &str) -> Result<Duration, String> {
    let is_none = ["0", "0s"].contains(&text);
    let expected = |_| "expected a duration such as 90s or 10m, or 0 for none".to_owned();
    if is_none { Ok(Duration::ZERO) } else { period(text).map_err(expected) }
}

/// Of a path: none.
const OFF: &str = "off";

/// The arguments that have a key, each with it.
fn arguments() -> Vec<(String, Arg)> {
    let command = CodeArguments::augment_args(HostArguments::augment_args(Command::new("host")));
    let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
    visible.filter_map(|argument| Some((camel_case(argument.get_long()?), argument.clone()))).collect()
}

fn camel_case(flag: &str) -> String {
    let mut words = flag.split('-');
    let mut key = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        key.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        key.extend(letters);
    }
    key
}

/// Reads what stands under `host`. What is wrong is a problem, and taken as if it were not there.
pub(super) fn read(field: Field<'_>) -> Vec<Said<Setting>> {
    let arguments = arguments();
    let keys: Vec<&str> = arguments.iter().map(|(key, _)| key.as_str()).collect();
    let Some(map) = field.map("what the host does", &keys) else { return Vec::new() };
    let setting = |(key, argument): &(String, Arg)| {
        let field = map.get(key)?;
        let text = match &field.node.value {
            Value::String(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            _ => {
                field.unexpected("a text, a number, true or false");
                return None;
            }
        };
        match refusal(argument, &text) {
            Some(remedy) => {
                field.wrong(format!("{text:?} is not valid here"), remedy);
                None
            }
            None => Some(Said { value: Setting { key: key.clone(), text }, place: field.place() }),
        }
    };
    arguments.iter().filter_map(setting).collect()
}

/// Why an argument would refuse that value.
fn refusal(argument: &Arg, text: &str) -> Option<String> {
    let flag = format!("--{}={text}", argument.get_long()?);
    let error = Command::new("host").no_binary_name(true).arg(argument.clone()).try_get_matches_from([flag]).err()?;
    let choices = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(choices)) if !choices.is_empty() => Some(format!("write one of {}", choices.join(", "))),
        _ => None,
    };
    Some(choices.or_else(|| error.source().map(ToString::to_string)).unwrap_or_else(|| error.kind().to_string()))
}

/// Tells of times of an election where the file says them. Those of flags, whoever takes the arguments tells.
pub(super) fn check_times(wrong: &WrongTimes, host: &[Said<Setting>], problems: &mut Problems) {
    // A flag that says what the file says may as well not be there.
    let said = |(time, value): &(TimeFlag, Duration)| {
        host.iter().find(|said| said.value.key == camel_case(time.flag) && period(&said.value.text).as_ref() == Ok(value))
    };
    let Some(place) = wrong.times.iter().find_map(said).map(|said| said.place.clone()) else { return };
    let name = |wrong: &(TimeFlag, Duration)| match wrong {
        (time, value) if said(wrong).is_some() || period(time.default).as_ref() == Ok(value) => {
            format!("{KEY}.{}", camel_case(time.flag))
        }
        (time, _) => time.to_string(),
    };
    let names: Vec<String> = wrong.times.iter().map(name).collect();
    problems.add(place, wrong.error.to_string(), format!("change {}", names.join(" or ")));
}

/// The command with what that file says as the defaults of its arguments. What is wrong with the file, [`super::Source::open`] says.
pub(crate) fn with_defaults(command: Command, file: &Path) -> Command {
    let mut problems = Problems::default();
    let source = Source::File(file.display().to_string().into());
    let whole = Place::whole(&file.display().to_string().into());
    let Some(document) = super::load::read_document(&mut Files::default(), file, source, &whole, &mut problems) else {
        return command;
    };
    let problems = RefCell::new(problems);
    let root = Field::root(&document.source, &document.root, &problems);
    let Some(settings) = root.get(KEY).map(read) else { return command };
    let arguments = arguments();
    let directory = file.parent().unwrap_or(Path::new(""));
    settings.into_iter().fold(command, |command, Said { value: Setting { key, text }, .. }| {
        let argument = arguments.iter().find(|(known, _)| *known == key).map(|(_, argument)| argument);
        let is_taken = |argument: &&Arg| command.get_arguments().any(|taken| taken.get_id() == argument.get_id());
        let Some(argument) = argument.filter(is_taken) else { return command };
        let is_path = argument.get_value_hint() == ValueHint::AnyPath && text != OFF;
        let value = if is_path { directory.join(text).into_os_string() } else { text.into() };
        // A command line is parsed once, and its defaults have to live as long as it.
        command.mut_arg(argument.get_id(), |argument| argument.default_value(&*value.leak()))
    })
}

/// The keys, for the schema.
#[cfg(test)]
pub(super) fn keys() -> Vec<String> {
    arguments().into_iter().map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::FromArgMatches as _;

    use super::*;

    /// What a file comes down to beside those flags.
    fn parse(file: &str, flags: &[&str]) -> HostArguments {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gyre.yaml");
        std::fs::write(&path, file).unwrap();
        let command = with_defaults(HostArguments::augment_args(Command::new("gyre").no_binary_name(true)), &path);
        HostArguments::from_arg_matches(&command.try_get_matches_from(flags).unwrap()).unwrap()
    }

    #[test]
    fn a_key_stands_for_its_flag_and_a_flag_goes_before_it() {
        let file = "host: {homeNamespace: of-file, metrics: false, recordSecrets: true}";
        let said = |flags: &[&str]| {
            let arguments = parse(file, flags);
            (arguments.home_namespace, arguments.record_secrets)
        };
        assert_eq!(said(&[]), ("of-file".to_owned(), true));
        assert_eq!(said(&["--home-namespace", "of-flag"]), ("of-flag".to_owned(), true));
        assert_eq!(said(&["--record-secrets=false"]), ("of-file".to_owned(), false));
    }

    #[test]
    fn invalid_and_unknown_keys_do_not_change_the_arguments() {
        for file in ["host: {homeNamespace: [1], recordSecrets: maybe, home: x}", "host: 3", "host: [", "mounts: []", ""] {
            let arguments = parse(file, &[]);
            assert_eq!((arguments.home_namespace.as_str(), arguments.record_secrets), ("default", false), "{file}");
        }
    }

    #[test]
    fn a_path_is_relative_to_the_file() {
        let (directory, path) = {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("gyre.yaml");
            std::fs::write(&path, "host: {compiled: code, codeCache: off}").unwrap();
            (directory, path)
        };
        let command = with_defaults(CodeArguments::augment_args(Command::new("gyre").no_binary_name(true)), &path);
        let matches = command.try_get_matches_from([""; 0]).unwrap();
        assert_eq!(matches.get_one::<PathBuf>("compiled"), Some(&directory.path().join("code")));
        assert_eq!(matches.get_one::<PathBuf>("code_cache"), Some(&PathBuf::from("off")));
    }
}
