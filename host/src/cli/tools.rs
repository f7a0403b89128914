//! The commands of the feature `tools`: for authors of plugins and operators.

use std::process::ExitCode;

use clap::{CommandFactory as _, Subcommand};

use super::Gyre;
use super::exit::{compared, ended};
use crate::commands::dev::{self, DevArguments};
use crate::commands::manual::{self, CompletionsArguments, ManArguments};
use crate::commands::new::{self, NewArguments};
use crate::commands::offline::{self, CheckArguments, DiffArguments, RenderArguments, TestArguments};
use crate::commands::replay::{self, ReplayArguments};
use crate::commands::types::{self, TypesArguments};

#[derive(Debug, Subcommand)]
pub(super) enum Tool {
    /// Preview what a plugin does with objects from files or a live cluster: plan, children, events
    /// and status. Changes nothing.
    #[command(after_help = offline::RENDER_EXAMPLES)]
    Render(Box<RenderArguments>),
    /// Run golden test cases: compare what a plugin does with what each case expects. Needs no
    /// cluster.
    #[command(after_help = offline::TEST_EXAMPLES)]
    Test(Box<TestArguments>),
    /// Test a plugin with changes and failures in a simulated cluster; report what goes wrong and
    /// how to reproduce it. Needs no cluster.
    #[command(after_help = offline::check_examples())]
    Check(Box<CheckArguments>),
    /// Show what a plugin would change in a live cluster. Changes nothing.
    #[command(after_help = offline::DIFF_EXAMPLES)]
    Diff(Box<DiffArguments>),
    /// Create a new plugin project, whose tests pass.
    #[command(after_help = new::EXAMPLES)]
    New(NewArguments),
    /// Print Rust types of the kinds in CustomResourceDefinitions, for plugins.
    #[command(after_help = types::EXAMPLES)]
    Types(TypesArguments),
    /// Print a completion script for a shell.
    #[command(after_help = manual::COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
    /// Print the manual page, or write one page per command.
    #[command(after_help = manual::MAN_EXAMPLES)]
    Man(ManArguments),
    /// Run an in-memory cluster with plugins mounted, and show what happens, for development and
    /// tests.
    #[command(after_help = dev::EXAMPLES)]
    Dev(Box<DevArguments>),
    /// Repeat recorded calls with a plugin, and show which answers differ.
    #[command(after_help = replay::EXAMPLES)]
    Replay(ReplayArguments),
}

impl Tool {
    pub(super) fn run(self) -> ExitCode {
        match self {
            Self::Render(arguments) => compared(offline::render(*arguments)),
            Self::Test(arguments) => compared(offline::test(*arguments)),
            Self::Check(arguments) => compared(offline::check(*arguments)),
            Self::Diff(arguments) => compared(offline::diff(*arguments)),
            Self::New(arguments) => ended(new::new(&arguments)),
            Self::Types(arguments) => ended(types::types(&arguments)),
            Self::Completions(arguments) => ended(manual::completions(&arguments, Gyre::command())),
            Self::Man(arguments) => ended(manual::man(&arguments, Gyre::command())),
            Self::Dev(arguments) => ended(dev::run(&arguments)),
            Self::Replay(arguments) => compared(replay::run(&arguments)),
        }
    }
}
