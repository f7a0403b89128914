//! The arguments of `gyre fuzz`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use jiff::Timestamp;

use crate::commands::offline::time;
use crate::commands::output::ReportArguments;
use crate::config::arguments::mounts::tools::PluginMounts;
use crate::config::values::whole;
use crate::plugins::source::PluginSource;

#[derive(Debug, Args)]
pub(crate) struct FuzzArguments {
    /// Objects: files, directories (their .yaml, .yml and .json files), or "-" for standard input.
    /// Can be repeated [default: samples in the project that is built; else a
    /// parent that is generated from the schema of the CRD].
    #[arg(short = 'f', long = "filename", alias = "file", value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Number of specs to generate from the schema of the CRD.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(0_u32..=100_000))]
    pub(super) cases: u32,
    /// Seed of the generated specs: the same seed generates the same specs.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = whole(0_u64..))]
    pub(super) seed: u64,
    /// Simulated time at which each experiment starts [default: 2026-01-01T00:00:00Z].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) time: Option<Timestamp>,
    /// Kind of children, such as Job or Job.v1.batch, of which at most one of each parent may run
    /// at a time. Can be repeated.
    #[arg(long, value_name = "KIND")]
    pub(super) at_most_one: Vec<String>,
    /// Another build of one of the plugins: a different answer to the same call is a
    /// finding. For a project in Python, it is built by itself, with another seed of hashes. Can
    /// be repeated.
    #[arg(long = "other-build", value_name = "PLUGIN", value_hint = ValueHint::AnyPath)]
    pub(super) other_builds: Vec<PluginSource>,
    /// Directory to write the objects of each finding to; it is created.
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(super) report: ReportArguments,
    #[command(flatten)]
    pub(super) mount: PluginMounts,
}
