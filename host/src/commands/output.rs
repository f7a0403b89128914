//! The output formats of commands, and what writes them to standard output.

use std::io::Write;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use gyre_engine::difference::to_yaml;
use serde_json::Value;

/// The format of a report.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReportArguments {
    /// Output format.
    #[arg(short = 'o', long = "output", alias = "format", value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// A format of a report: for people, or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Yaml,
}

/// The format of objects for kubectl.
#[derive(Clone, Debug, Args)]
pub(crate) struct ObjectsArguments {
    /// Output format.
    #[arg(short = 'o', long = "output", alias = "format", value_name = "FORMAT", value_enum, default_value_t = ObjectFormat::Yaml)]
    pub(crate) format: ObjectFormat,
}

/// A format of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectFormat {
    Yaml,
    Json,
}

impl Format {
    /// Prints a report: the text for people, or the data for programs.
    pub(crate) fn print(
        self,
        text: impl FnOnce() -> anyhow::Result<String>,
        data: impl FnOnce() -> Value,
    ) -> anyhow::Result<()> {
        self.write(&mut std::io::stdout().lock(), text, data)
    }

    /// As [`Self::print`], to another output.
    pub(crate) fn write(
        self,
        output: &mut impl Write,
        text: impl FnOnce() -> anyhow::Result<String>,
        data: impl FnOnce() -> Value,
    ) -> anyhow::Result<()> {
        let text = match self {
            Self::Text => text()?,
            Self::Json => format!("{:#}\n", data()),
            Self::Yaml => to_yaml(&data())?,
        };
        write!(output, "{text}").context("cannot write to standard output")
    }
}

pub(crate) fn print(text: impl std::fmt::Display) -> anyhow::Result<()> {
    write!(std::io::stdout(), "{text}").context("cannot write to standard output")
}
