//! Completion scripts and manual pages.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  gyre completions bash > /etc/bash_completion.d/gyre
  gyre completions zsh > \"${fpath[1]}/_gyre\"
  gyre completions fish > ~/.config/fish/completions/gyre.fish";

pub(crate) const MAN_EXAMPLES: &str = "\
Examples:
  gyre man | man -l -
  gyre man --to /usr/local/share/man/man1";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell to print the script for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Directory to write one page per command to [default: one page for all commands, to standard
    /// output].
    #[arg(long, short_alias = 'o', alias = "output", value_name = "DIRECTORY")]
    to: Option<PathBuf>,
}

pub(crate) fn completions(arguments: &CompletionsArguments, mut command: Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "gyre", &mut script);
    std::io::stdout().write_all(&script).context("cannot write to standard output")
}

pub(crate) fn man(arguments: &ManArguments, command: Command) -> anyhow::Result<()> {
    match &arguments.to {
        Some(directory) => {
            let cannot = || {
                format!(
                    "cannot write manual pages into {}; name a directory, which is created if it does not exist",
                    directory.display()
                )
            };
            fs::create_dir_all(directory).with_context(cannot)?;
            clap_mangen::generate_to(command, directory).with_context(cannot)
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).context("cannot render the manual page")?;
            std::io::stdout().write_all(&page).context("cannot write to standard output")
        }
    }
}
