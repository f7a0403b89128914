//! The commands of the feature `tools`: for authors of plugins and operators.

use std::process::ExitCode;

use clap::Subcommand;

use super::commands;
use super::exit::{compared, ended};
use crate::commands::artifacts::publish::{self, PushArguments, SignArguments, TagArguments};
use crate::commands::build::{self, BuildArguments};
use crate::commands::dev::{self, DevArguments};
use crate::commands::manual::{self, CompletionsArguments, ManArguments};
use crate::commands::new::{self, NewArguments};
use crate::commands::offline::{self, DiffArguments, FuzzArguments, RenderArguments, TestArguments};
use crate::commands::replay::{self, ReplayArguments};
use crate::commands::types::{self, TypesArguments};
use crate::commands::values::{self, ValuesArguments};
use crate::commands::worlds::{self, WorldsArguments};

#[derive(Debug, Subcommand)]
pub(super) enum Tool {
    /// Preview what a plugin does with objects: plan, children, events and status.
    #[command(aliases = ["preview", "template"], after_help = offline::RENDER_EXAMPLES)]
    Render(Box<RenderArguments>),
    /// Run golden test cases: compare what a plugin does with what each case expects.
    #[command(after_help = offline::TEST_EXAMPLES)]
    Test(Box<TestArguments>),
    /// Search a plugin for faults, with changes and failures in a simulated cluster.
    #[command(after_help = offline::fuzz_examples())]
    Fuzz(Box<FuzzArguments>),
    /// Show what a plugin would change in a live cluster. Changes nothing.
    #[command(after_help = offline::DIFF_EXAMPLES)]
    Diff(Box<DiffArguments>),
    /// Create a new plugin project, whose tests pass.
    #[command(alias = "init", after_help = new::EXAMPLES, disable_version_flag = true)]
    New(NewArguments),
    /// Print Rust types of the kinds in CustomResourceDefinitions, for plugins.
    #[command(aliases = ["codegen", "generate", "gen", "typegen"], after_help = types::EXAMPLES)]
    Types(TypesArguments),
    /// Print a completion script for a shell.
    #[command(alias = "completion", after_help = manual::COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
    /// Print the manual page, or write one page per command.
    #[command(after_help = manual::MAN_EXAMPLES)]
    Man(ManArguments),
    /// Run plugins on a cluster in memory, and show what happens.
    #[command(after_help = dev::EXAMPLES)]
    Dev(Box<DevArguments>),
    /// Repeat recorded calls with a plugin, and show which answers differ.
    #[command(after_help = replay::EXAMPLES)]
    Replay(ReplayArguments),
    /// Compile the source of a plugin to a WebAssembly component.
    #[command(after_help = build::EXAMPLES)]
    Build(BuildArguments),
    /// Write the values with which the Helm chart installs plugins.
    #[command(aliases = ["helm-values", "helm", "chart"], after_help = values::EXAMPLES)]
    Values(ValuesArguments),
    /// Push a plugin to an OCI registry.
    #[command(alias = "publish", after_help = publish::PUSH_EXAMPLES)]
    Push(PushArguments),
    /// Give a plugin in a registry another tag.
    #[command(after_help = publish::TAG_EXAMPLES)]
    Tag(TagArguments),
    /// Sign a plugin in a registry, as cosign does.
    #[command(after_help = publish::SIGN_EXAMPLES)]
    Sign(SignArguments),
    /// Serve simulated clusters with plugins to test kits, as JSON lines.
    #[command(after_help = worlds::EXAMPLES)]
    Worlds(WorldsArguments),
}

impl Tool {
    pub(super) fn run(self) -> ExitCode {
        match self {
            Self::Render(arguments) => compared(offline::render(*arguments)),
            Self::Test(arguments) => compared(offline::test(*arguments)),
            Self::Fuzz(arguments) => compared(offline::fuzz(*arguments)),
            Self::Diff(arguments) => compared(offline::diff(*arguments)),
            Self::New(arguments) => ended(new::new(&arguments)),
            Self::Types(arguments) => ended(types::types(&arguments)),
            Self::Completions(arguments) => ended(manual::completions(&arguments, commands())),
            Self::Man(arguments) => ended(manual::man(&arguments, commands())),
            Self::Dev(arguments) => ended(dev::run(&arguments)),
            Self::Replay(arguments) => compared(replay::run(arguments)),
            Self::Build(arguments) => ended(build::run(&arguments)),
            Self::Values(arguments) => ended(values::values(&arguments)),
            Self::Push(arguments) => ended(publish::push(&arguments)),
            Self::Tag(arguments) => ended(publish::tag(&arguments)),
            Self::Sign(arguments) => ended(publish::sign_plugin(&arguments)),
            Self::Worlds(arguments) => ended(worlds::run(&arguments)),
        }
    }
}
