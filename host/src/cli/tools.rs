//! The commands of the feature `tools`: for authors of plugins and operators, and not for a cluster.

use std::process::ExitCode;

use clap::{CommandFactory as _, Subcommand};

use super::{Gyre, compared, ended};
use crate::commands::dev::{self, DevArguments};
use crate::commands::manual::{self, CompletionsArguments, ManArguments};
use crate::commands::new::{self, NewArguments};
use crate::commands::offline::{self, CheckArguments, DiffArguments, RenderArguments, TestArguments};
use crate::commands::replay::{self, ReplayArguments};

#[derive(Debug, Subcommand)]
pub(super) enum Tool {
    /// Prints what a plugin makes of objects in files, or in a cluster that is only read: its children, their plan, events and status.
    #[command(after_help = offline::RENDER_EXAMPLES)]
    Render(Box<RenderArguments>),
    /// Compares what a plugin does with what is expected, case by case. Needs no cluster.
    #[command(after_help = offline::TEST_EXAMPLES)]
    Test(Box<TestArguments>),
    /// Runs a plugin's world forward and tries to break it: every finding says what is wrong, and how to see it again. Needs no cluster.
    #[command(after_help = offline::check_examples())]
    Check(Box<CheckArguments>),
    /// Says what a plugin would change in a cluster, and only reads that.
    #[command(after_help = offline::DIFF_EXAMPLES)]
    Diff(Box<DiffArguments>),
    /// Makes a folder with a plugin to begin with, whose tests pass.
    #[command(after_help = new::EXAMPLES)]
    New(NewArguments),
    /// Prints completions for a shell.
    #[command(after_help = manual::COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
    /// Prints the manual page, or writes one for each command.
    #[command(after_help = manual::MAN_EXAMPLES)]
    Man(ManArguments),
    /// Runs an in-memory cluster with plugins mounted, and shows what happens: for development and tests.
    #[command(after_help = dev::EXAMPLES)]
    Dev(DevArguments),
    /// Makes recorded calls of a plugin again, and shows what is answered otherwise.
    #[command(after_help = replay::EXAMPLES)]
    Replay(ReplayArguments),
}

impl Tool {
    /// Runs the command. Exit codes: as of [`main`](super::main).
    pub(super) fn run(self) -> ExitCode {
        match self {
            Self::Render(arguments) => compared(offline::render(*arguments)),
            Self::Test(arguments) => compared(offline::test(*arguments)),
            Self::Check(arguments) => compared(offline::check(*arguments)),
            Self::Diff(arguments) => compared(offline::diff(*arguments)),
            Self::New(arguments) => ended(new::new(&arguments)),
            Self::Completions(arguments) => ended(manual::completions(&arguments, Gyre::command())),
            Self::Man(arguments) => ended(manual::man(&arguments, Gyre::command())),
            Self::Dev(arguments) => ended(dev::run(&arguments)),
            Self::Replay(arguments) => compared(replay::run(&arguments)),
        }
    }
}
