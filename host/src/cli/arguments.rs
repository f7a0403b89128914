//! Error messages about arguments that are missing, unknown or invalid.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use gyre_input::schema::nearest;

use super::renamed;
use crate::config::values::MissingArgument;

pub(super) fn missing(MissingArgument { command, argument }: &MissingArgument, mut all: Command) -> ! {
    let message = format!("the following required arguments were not provided:\n  {argument}");
    all.build();
    match all.find_subcommand_mut(command) {
        Some(command) => command.error(ErrorKind::MissingRequiredArgument, message).exit(),
        None => all.error(ErrorKind::MissingRequiredArgument, message).exit(),
    }
}

/// Words that other programs write before a command: `helm show values`, `kubectl get pods`.
const GROUPS: [&str; 5] = ["generate", "gen", "get", "helm", "chart"];

/// Returns the command line as it is written here, from what users of other programs write:
///
/// - `gyre generate crds echo.wasm` is `gyre crds echo.wasm`;
/// - `gyre run echo.wasm -f echo.yaml --dry-run` is `gyre render echo.wasm -f echo.yaml`. With a
///   plugin, `gyre run` takes no file.
pub(super) fn as_written_here(mut words: Vec<OsString>, all: impl Fn() -> Command) -> Vec<OsString> {
    let is_command = |word: &OsString| all().find_subcommand(word).is_some();
    if words.get(1).is_some_and(|word| GROUPS.iter().any(|group| word == group)) && words.get(2).is_some_and(is_command) {
        words.remove(1);
    }
    if is_preview(&words) && is_command(&"render".into()) {
        words.retain(|word| word != DRY_RUN);
        if let Some(command) = words.get_mut(1) {
            *command = "render".into();
        }
    }
    words
}

const DRY_RUN: &str = "--dry-run";

fn is_preview(words: &[OsString]) -> bool {
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let is_plugin = |word: &OsString| {
        let is_component = Path::new(word).extension().is_some_and(|extension| extension == "wasm");
        is_component || word.to_str().is_some_and(gyre_registry::is_reference)
    };
    let has_plugin = || words.iter().any(is_plugin);
    words.get(1).is_some_and(|word| word == "run") && has(DRY_RUN) && (has("-f") || has("--file")) && has_plugin()
}

/// Adds a tip to an error: the present or the similar name of what is unknown, or the environment
/// variable that an invalid value comes from. clap's own tips suggest unrelated names.
pub(super) fn explained(error: clap::Error, words: &[OsString], mut all: Command) -> clap::Error {
    all.build();
    match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(error, &all),
        ErrorKind::UnknownArgument => unknown_flag(error, words, &all),
        _ => named_by_variable(error, &all),
    }
}

fn unknown_command(mut error: clap::Error, all: &Command) -> clap::Error {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let name = name.clone();
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Suggested);
    if let Some(tip) = renamed::tip_for_command(&name) {
        error.insert(ContextKind::Suggested, tips(tip));
    } else if let Some(near) = nearest(&name, all.get_subcommands().map(Command::get_name)) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()]));
    }
    error
}

fn unknown_flag(mut error: clap::Error, words: &[OsString], all: &Command) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let flag = flag.clone();
    if !flag.starts_with('-') {
        return error;
    }
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::Suggested);
    let mut names = words.iter().skip(1).filter_map(|word| word.to_str());
    let Some(command) = names.find(|word| !word.starts_with('-')).and_then(|name| all.find_subcommand(name)) else {
        error.insert(ContextKind::Usage, usage(all));
        return error;
    };
    error.insert(ContextKind::Usage, usage(command));
    let spelled = |argument: &clap::Arg| {
        let long = argument.get_long().map(|long| format!("--{long}"));
        let short = argument.get_short().map(|short| format!("-{short}"));
        long.into_iter().chain(short).collect::<Vec<_>>()
    };
    let known: Vec<String> = command.get_arguments().filter(|argument| !argument.is_hide_set()).flat_map(spelled).collect();
    let has = |name: &str| known.iter().any(|known| known == name);
    if let Some(tip) = renamed::tip_for_flag(command.get_name(), &flag, has) {
        error.insert(ContextKind::Suggested, tips(tip));
    } else if let Some(word) = flag.strip_prefix("--") {
        let near = nearest(word, known.iter().filter_map(|known| known.strip_prefix("--")));
        if let Some(near) = near {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{near}")));
        }
    }
    error
}

/// The usage of a command. That in clap's errors names the argument that clap suggests.
fn usage(command: &Command) -> ContextValue {
    ContextValue::StyledStr(command.clone().render_usage())
}

fn tips(text: String) -> ContextValue {
    ContextValue::StyledStrs(vec![text.into()])
}

/// Names the environment variable that an invalid value comes from, because clap does not.
fn named_by_variable(mut error: clap::Error, all: &Command) -> clap::Error {
    let (Some(ContextValue::String(argument)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return error;
    };
    let arguments = all.get_subcommands().flat_map(Command::get_arguments);
    let variable = arguments
        .filter(|known| known.to_string() == *argument)
        .filter_map(clap::Arg::get_env)
        .find(|variable| std::env::var_os(variable).is_some_and(|set| set == value.as_str()));
    if let Some(variable) = variable {
        // Kubernetes sets NAME_PORT for a Service NAME in the namespace, to a URL.
        let remedy = if value.starts_with("tcp://") { "; set enableServiceLinks: false in the Pod" } else { "" };
        let note = format!("the value comes from the environment variable {}{remedy}", variable.display());
        error.insert(ContextKind::Suggested, tips(note));
    }
    error
}

/// Makes the argument that is this file the value of --config.
pub(super) fn name_the_configuration(arguments: &mut [OsString], file: &Path) {
    if let Some(argument) = arguments.iter_mut().rev().find(|argument| argument.as_os_str() == file.as_os_str()) {
        let mut named = OsString::from("--config=");
        named.push(file.as_os_str());
        *argument = named;
    }
}
