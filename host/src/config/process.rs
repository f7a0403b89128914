//! The settings of the process: its arguments, and keys under `host` in the file.
//!
//! A key is the name of its flag in camel case: `--ha-lease-duration` is `haLeaseDuration`. The
//! file sets the defaults of flags, so flags and their variables override it. It is read once.

use std::error::Error as _;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, Command, ValueHint};
use gyre_input::document::{Node, Source};
use gyre_input::problem::{Place, Problems};
use serde_json::{Map, Value, json};

use super::document::read_document;
use super::spec::{Configuration, Setting};
use crate::config::arguments::admin::AdminArguments;
use crate::config::arguments::election::{ElectionArguments, TimeFlag, WrongTimes};
use crate::config::arguments::mounts::CodeArguments;
use crate::config::arguments::telemetry::{LogArguments, TraceArguments};
use crate::config::values::{label, period};
use crate::plugins::files::Files;

pub(super) const KEY: &str = "host";

/// The arguments of the host itself.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    #[command(flatten)]
    pub(crate) admin: AdminArguments,
    #[command(flatten)]
    pub(crate) election: ElectionArguments,
    /// Namespace that the host runs in. It keeps its Leases there and, if the deployment has a
    /// name, its inventory.
    #[arg(long, value_name = "NAMESPACE", env = "GYRE_HOME_NAMESPACE", default_value = "default", value_parser = label)]
    pub(crate) home_namespace: String,
    /// Allow `gyre record --secrets` to record the values of Secrets. Anyone who may forward a port
    /// of the host can then read them.
    #[arg(
        long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set
    )]
    pub(crate) record_secrets: bool,
    /// How long a plugin stays mounted after its file disappears from the plugin directory, e.g.
    /// 90s or 10m; 0 unmounts it at once [default: 5m]. Because of this delay, the host does not
    /// remove the finalizers of all objects when the directory is empty for a moment.
    #[arg(long, value_name = "DURATION", value_parser = grace)]
    pub(crate) plugin_dir_grace: Option<Duration>,
    /// How often registries are asked for the versions of tags, e.g. 30s or 1h; "off" never asks
    /// again. A version whose plugin cannot be used is refused, and the previous one stays mounted.
    #[arg(long, value_name = "DURATION", env = "GYRE_TAG_INTERVAL", default_value = "5m")]
    pub(crate) tag_interval: TagInterval,
    #[command(flatten)]
    pub(crate) log: LogArguments,
    #[command(flatten)]
    pub(crate) traces: TraceArguments,
}

/// The interval at which registries are asked for the versions of tags; never if `None`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagInterval(pub(crate) Option<Duration>);

impl FromStr for TagInterval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == OFF { Ok(Self(None)) } else { period(text).map(|interval| Self(Some(interval))) }
    }
}

fn grace(text: &str) -> Result<Duration, String> {
    let is_none = ["0", "0s"].contains(&text);
    let expected = |_| "expected a duration such as 90s or 10m, or 0 for none".to_owned();
    if is_none { Ok(Duration::ZERO) } else { period(text).map_err(expected) }
}

const OFF: &str = "off";
/// The keyword of the schema that names a flag, whose parser checks the values.
pub(super) const FLAG: &str = "x-gyre-flag";

#[derive(Clone)]
pub(super) struct Flag {
    pub(super) key: String,
    argument: Arg,
}

pub(super) fn flags() -> Vec<Flag> {
    let command = CodeArguments::augment_args(HostArguments::augment_args(Command::new("host")));
    let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
    visible.filter_map(|argument| Some(Flag { key: camel_case(argument.get_long()?), argument: argument.clone() })).collect()
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

pub(super) fn schema() -> Value {
    flags().into_iter().map(|flag| (flag.key.clone(), flag.schema())).collect()
}

pub(super) fn settings(host: &Map<String, Value>) -> Vec<Setting> {
    let setting = |flag: Flag| {
        let text = host.get(&flag.key).and_then(text)?;
        flag.refusal_of(&text).is_none().then_some(Setting { key: flag.key, text })
    };
    flags().into_iter().filter_map(setting).collect()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

impl Flag {
    fn schema(&self) -> Value {
        let possible = self.argument.get_possible_values();
        let words: Vec<&str> = possible.iter().map(PossibleValue::get_name).collect();
        let (keyword, allowed) = match &words[..] {
            [] => ("type", json!(["string", "number", "boolean"])),
            ["true", "false"] => ("enum", json!([true, "true", false, "false"])),
            words => ("enum", json!(words)),
        };
        let description = self.argument.get_help().map(|help| json!(format!("{help}.")));
        let default = match self.argument.get_default_values() {
            [default] => {
                let text = default.to_string_lossy();
                Some(serde_json::from_str(&text).unwrap_or_else(|_| json!(text)))
            }
            _ => None,
        };
        let keywords =
            [(keyword, Some(allowed)), (FLAG, Some(json!(self.key))), ("description", description), ("default", default)];
        keywords.into_iter().filter_map(|(keyword, value)| Some((keyword.to_owned(), value?))).collect()
    }

    /// The remedy for a value that the flag refuses, or `None` if it accepts the value.
    pub(super) fn refusal(&self, value: &Value) -> Option<String> {
        self.refusal_of(&text(value)?)
    }

    fn refusal_of(&self, text: &str) -> Option<String> {
        let flag = format!("--{}={text}", self.argument.get_long()?);
        let command = Command::new("host").no_binary_name(true).arg(self.argument.clone());
        let error = command.try_get_matches_from([flag]).err()?;
        let choices = match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(choices)) if !choices.is_empty() => Some(format!("write one of {}", choices.join(", "))),
            _ => None,
        };
        Some(choices.or_else(|| error.source().map(ToString::to_string)).unwrap_or_else(|| error.kind().to_string()))
    }
}

/// Reports contradictory times of an election in the file. Parsing reports those of flags.
pub(super) fn check_times(wrong: &WrongTimes, configuration: &Configuration, problems: &mut Problems) {
    // A flag with the value of the file counts as set by the file.
    let said = |(time, value): &(TimeFlag, Duration)| {
        let key = camel_case(time.flag);
        let mut host = configuration.host.iter();
        host.any(|setting| setting.key == key && period(&setting.text).as_ref() == Ok(value)).then_some(key)
    };
    let Some(key) = wrong.times.iter().find_map(said) else { return };
    let name = |wrong: &(TimeFlag, Duration)| match wrong {
        (time, value) if said(wrong).is_some() || period(time.default).as_ref() == Ok(value) => {
            format!("{KEY}.{}", camel_case(time.flag))
        }
        (time, _) => time.to_string(),
    };
    let names: Vec<String> = wrong.times.iter().map(name).collect();
    let place = configuration.part.at(&format!("/{KEY}/{key}")).place();
    problems.add(place, wrong.error.to_string(), format!("change {}", names.join(" or ")));
}

/// Makes the settings of a file the defaults of arguments. [`super::Source::open`] reports errors.
pub(crate) fn with_defaults(command: Command, file: &Path) -> Command {
    let source = Source::File(file.display().to_string().into());
    let whole = Place::whole(&file.display().to_string().into());
    let document = read_document(&mut Files::default(), file, source, &whole, &mut Problems::default());
    let host = document.and_then(|document| document.at(&format!("/{KEY}")).node().map(Node::to_json));
    let Some(Value::Object(host)) = host else { return command };
    let flags = flags();
    let directory = file.parent().unwrap_or(Path::new(""));
    settings(&host).into_iter().fold(command, |command, Setting { key, text }| {
        let argument = flags.iter().find(|flag| flag.key == key).map(|flag| &flag.argument);
        let is_taken = |argument: &&Arg| command.get_arguments().any(|taken| taken.get_id() == argument.get_id());
        let Some(argument) = argument.filter(is_taken) else { return command };
        let is_path = argument.get_value_hint() == ValueHint::AnyPath && text != OFF;
        let value = if is_path { directory.join(text).into_os_string() } else { text.into() };
        // A command line is parsed once, and its defaults must live as long as the command.
        command.mut_arg(argument.get_id(), |argument| argument.default_value(&*value.leak()))
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::FromArgMatches as _;

    use super::*;

    fn parse(file: &str, flags: &[&str]) -> HostArguments {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gyre.yaml");
        std::fs::write(&path, file).unwrap();
        let command = with_defaults(HostArguments::augment_args(Command::new("gyre").no_binary_name(true)), &path);
        HostArguments::from_arg_matches(&command.try_get_matches_from(flags).unwrap()).unwrap()
    }

    #[test]
    fn a_key_sets_its_flag_and_a_flag_overrides_it() {
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
