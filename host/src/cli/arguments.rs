//! Error messages about arguments that are missing or invalid.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::config::values::MissingArgument;

pub(super) fn missing(MissingArgument { command, argument }: &MissingArgument, mut all: Command) -> ! {
    let message = format!("the following required arguments were not provided:\n  {argument}");
    all.build();
    match all.find_subcommand_mut(command) {
        Some(command) => command.error(ErrorKind::MissingRequiredArgument, message).exit(),
        None => all.error(ErrorKind::MissingRequiredArgument, message).exit(),
    }
}

/// Names the environment variable that an invalid value comes from, because clap does not.
pub(super) fn named_by_variable(mut error: clap::Error, mut commands: Command) -> clap::Error {
    let (Some(ContextValue::String(argument)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return error;
    };
    commands.build();
    let arguments = commands.get_subcommands().flat_map(Command::get_arguments);
    let variable = arguments
        .filter(|known| known.to_string() == *argument)
        .filter_map(clap::Arg::get_env)
        .find(|variable| std::env::var_os(variable).is_some_and(|set| set == value.as_str()));
    if let Some(variable) = variable {
        let note = format!("the value comes from the environment variable {}", variable.display());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![note.into()]));
    }
    error
}
