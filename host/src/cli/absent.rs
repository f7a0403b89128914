//! Errors about commands that require the feature `tools`.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

pub(super) const TOOLS: [&str; 16] = [
    "render",
    "test",
    "fuzz",
    "diff",
    "new",
    "types",
    "completions",
    "man",
    "dev",
    "replay",
    "build",
    "values",
    "push",
    "tag",
    "sign",
    "worlds",
];

pub(super) fn explained(error: clap::Error, mut commands: Command) -> clap::Error {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) if TOOLS.contains(&name.as_str()) => commands.error(
            ErrorKind::InvalidSubcommand,
            format!(
                "this gyre is the program that runs in a cluster, and has no `{name}`; the gyre with all commands has it: \
                 `cargo install --path host` in a checkout of gyre builds it"
            ),
        ),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_command_is_explained_and_a_misspelt_one_is_not() {
        let commands = || Command::new("gyre").subcommand(Command::new("run"));
        let said = |name: &str| {
            let error = commands().try_get_matches_from(["gyre", name]).unwrap_err();
            let explained = explained(error, commands());
            assert_eq!(explained.exit_code(), 2);
            explained.to_string()
        };
        assert!(said("render").contains("has no `render`; the gyre with all commands has it"), "{}", said("render"));
        assert!(said("rum").contains("unrecognized subcommand 'rum'"), "{}", said("rum"));
    }
}
