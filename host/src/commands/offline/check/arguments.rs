//! The arguments of `gyre check`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;

use crate::commands::offline::time;
use crate::config::arguments::mounts::tools::PluginMounts;
use crate::config::values::whole;

/// The time of day at which worlds begin, so that each run is like the others.
pub(super) const START: Timestamp = Timestamp::constant(1_767_225_600, 0);
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The plugin; more come with --plugin.
    #[arg(value_name = "PLUGIN")]
    pub(super) plugin: PathBuf,
    /// Objects: files, folders (their .yaml, .yml and .json files), or "-" for standard input. May be given several times.
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// How many specs are drawn from the schema.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(0_u32..=100_000))]
    pub(super) cases: u32,
    /// What they are drawn by: the same number draws the same specs.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = whole(0_u64..))]
    pub(super) seed: u64,
    /// The time of day at which each world begins [default: 2026-01-01T00:00:00Z].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) time: Option<Timestamp>,
    /// Write the objects of each finding into this folder, which is made.
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) keep: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) mount: PluginMounts,
}
