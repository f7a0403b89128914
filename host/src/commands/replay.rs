//! `gyre replay`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueHint};
use gyre_core::text::list;
use gyre_engine::error::error_chain;
use gyre_engine::program::bounds;
use gyre_engine::record::format::{CallLine, EndLine, HeadLine, ProgramLine, Secrets};
use gyre_engine::record::{Ending, Reader};
use gyre_engine::telemetry::progress::Progress;
use gyre_offline::replay::{Replayed, Verdict, replay, show};
use gyre_sandbox::{Plugin, Reconcilers, Reuse, Sandbox};
use serde_json::{Value, json};

use crate::commands::output::{Format, ReportArguments};
use crate::config::arguments::mounts::CodeArguments;
use crate::config::values::{MissingArgument, whole};
use crate::plugins::open;
use crate::plugins::source::PluginSource;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre replay echo.wasm calls.jsonl                 # the same plugin: if an answer differs, the plugin is not a pure function
  gyre replay new/echo.wasm calls.jsonl             # another version: what it would answer differently
  gyre replay echo.wasm calls.jsonl --call 17       # one call, with the whole answer
  gyre replay echo.wasm calls.jsonl -o json | jq '.differences[].call'
  kubectl exec -n gyre-system deploy/gyre -- /gyre record echo | gyre replay echo.wasm -

`gyre record` writes recordings. Exit codes: 0 all answers are identical, 1 some differ, 2 there is nothing to compare.";

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The plugin to call: a path, or a reference in a registry.
    #[arg(value_name = "PLUGIN", value_hint = ValueHint::AnyPath)]
    plugin: PluginSource,
    /// Path to the recording, or "-" for standard input.
    #[arg(value_name = "RECORDING", value_hint = ValueHint::AnyPath, required_unless_present = "named")]
    file: Option<PluginSource>,
    /// The same, as kubectl takes files.
    #[arg(id = "named", short = 'f', long = "file", value_name = "FILE", hide = true, conflicts_with = "file")]
    named: Option<PluginSource>,
    /// Repeat only the call with this number, and show its whole answer.
    #[arg(long, value_name = "NUMBER", value_parser = whole(1_u64..))]
    call: Option<u64>,
    /// Maximum number of differences to show line by line; for further differences, only the call
    /// is named.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole(0_usize..))]
    max_shown: usize,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    code: CodeArguments,
}

pub(crate) fn run(mut arguments: ReplayArguments) -> anyhow::Result<ExitCode> {
    let is_plugin =
        |text: &PluginSource| text.path().is_none_or(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    let Some(mut recording) = arguments.named.take().or_else(|| arguments.file.take()) else {
        bail!(MissingArgument { command: "replay", argument: "<RECORDING>" });
    };
    if is_plugin(&recording) && !is_plugin(&arguments.plugin) {
        // The order does not matter, because the names tell which is which.
        std::mem::swap(&mut recording, &mut arguments.plugin);
    }
    let arguments = &arguments;
    let plugins = plugins(arguments)?;
    let name = recording.to_string();
    let input: Box<dyn BufRead> = match recording.path() {
        Some(path) if name != "-" => Box::new(BufReader::new(file(path)?)),
        Some(_) => Box::new(BufReader::new(std::io::stdin())),
        None => bail!("{name} is a plugin: name a file that `gyre record` wrote"),
    };
    replay_all(arguments, input, &plugins, &mut std::io::stdout().lock()).with_context(|| format!("cannot replay {name}"))
}

fn file(path: &Path) -> anyhow::Result<File> {
    let name = path.display();
    if path.is_dir() {
        bail!("{name} is a directory: name a file that `gyre record` wrote");
    }
    File::open(path).map_err(|error| {
        anyhow!("cannot read the recording {name}: {}; name a file that `gyre record` wrote", error_chain(&error))
    })
}

fn replay_all(
    arguments: &ReplayArguments,
    input: impl BufRead,
    plugins: &Reconcilers,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let reader = Reader::open(input)?;
    let mut report = Report::new(arguments, reader.head().clone(), plugins);
    compare(reader, plugins, &mut report, output)?;
    report.finish(plugins, output)?;
    Ok(if report.differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn plugins(arguments: &ReplayArguments) -> anyhow::Result<Reconcilers> {
    // The recorded mount may have had any memory limit.
    let max_memory_bytes = usize::try_from(*bounds::MEMORY.end())?;
    let options = gyre_sandbox::Options { concurrent_calls: 1, max_memory_bytes, ..arguments.code.options() };
    let sandbox = Sandbox::new(options).context("cannot set up the sandbox")?;
    open(&sandbox, &arguments.code.registry.store(), &arguments.plugin)
}

fn compare<R: BufRead>(
    mut reader: Reader<R>,
    plugins: &Reconcilers,
    report: &mut Report<'_>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let mut others = std::collections::BTreeSet::new();
    let progress = Progress::default();
    let mut last = 0;
    while let Some((program, call)) = reader.call()? {
        last = call.number;
        if report.arguments.call.is_some_and(|wanted| wanted != call.number) {
            continue;
        }
        // Each call names its reconciler.
        let Ok(plugin) = plugins.select(Some(&program.plugin)) else {
            others.insert(program.plugin.clone());
            continue;
        };
        let replayed = replay(&plugin, &program, &call);
        if replayed.verdict == Verdict::Differs {
            progress.clear();
        }
        report.add(&program, &call, &replayed, output)?;
        progress.say(format_args!("{} replayed", calls(report.calls())));
    }
    report.ending = reader.ending().cloned();
    if report.calls() == 0 {
        match (others.first(), report.arguments.call) {
            (Some(other), _) => {
                let names = list(plugins.iter().map(|plugin| plugin.manifest().name.clone()));
                bail!("it contains calls of the plugin {other}, but this is {names}; name a version of {other}")
            }
            (None, Some(wanted)) if last > 0 => bail!("it has no call {wanted}; its calls are 1 to {last}"),
            _ if matches!(report.ending, Some(Ending::CutOff { .. })) => {
                bail!("it was cut off before its first call: record again")
            }
            _ => bail!(
                "it contains no calls, because the plugin was not called during the recording: change its objects meanwhile, or record longer"
            ),
        }
    }
    Ok(())
}

struct Report<'a> {
    arguments: &'a ReplayArguments,
    head: HeadLine,
    digest: String,
    identical: u64,
    differ: u64,
    not_asked: u64,
    /// The calls that read something that the recording does not contain.
    unanswered: u64,
    differ_unanswered: u64,
    redacted: u64,
    program: Option<Arc<ProgramLine>>,
    differences: Vec<Value>,
    ending: Option<Ending>,
    same_plugin: u64,
}

impl<'a> Report<'a> {
    fn new(arguments: &'a ReplayArguments, head: HeadLine, plugins: &Reconcilers) -> Self {
        Self {
            arguments,
            head,
            digest: plugins.iter().next().map(|plugin| plugin.digest().to_string()).unwrap_or_default(),
            identical: 0,
            differ: 0,
            not_asked: 0,
            unanswered: 0,
            differ_unanswered: 0,
            redacted: 0,
            program: None,
            differences: Vec::new(),
            ending: None,
            same_plugin: 0,
        }
    }

    fn calls(&self) -> u64 {
        self.identical + self.differ + self.not_asked
    }

    fn add(
        &mut self,
        program: &Arc<ProgramLine>,
        call: &CallLine,
        replayed: &Replayed,
        output: &mut impl Write,
    ) -> anyhow::Result<()> {
        self.program = Some(Arc::clone(program));
        self.same_plugin += u64::from(program.digest == self.digest);
        self.redacted += u64::from(call.redacted.is_some());
        self.unanswered += u64::from(!replayed.unanswered.is_empty());
        match replayed.verdict {
            Verdict::Identical => self.identical += 1,
            Verdict::NotRecorded => self.not_asked += 1,
            Verdict::Differs => {
                self.differ += 1;
                self.differ_unanswered += u64::from(!replayed.unanswered.is_empty());
            }
        }
        let is_one = self.arguments.call.is_some();
        if self.arguments.report.format != Format::Text {
            if replayed.verdict == Verdict::Differs || is_one {
                self.differences.push(difference(call, replayed));
            }
            return Ok(());
        }
        if is_one {
            writeln!(output, "call {}: {}\n{}", call.number, show::title(call), show::yaml(&replayed.answer))?;
        }
        if replayed.verdict == Verdict::Differs {
            let parts = show::parts(&call.answer, &replayed.answer).join(", ");
            writeln!(output, "call {}: {}: {parts}", call.number, show::title(call))?;
            for question in &replayed.unanswered {
                writeln!(
                    output,
                    "It read what the recording does not contain, and was told that the kind does not exist: {question}"
                )?;
            }
            if self.differ <= self.arguments.max_shown as u64 {
                writeln!(output, "{}", show::difference(("recorded", &call.answer), ("replayed", &replayed.answer)))?;
            }
        }
        Ok(())
    }

    fn finish(&self, plugins: &Reconcilers, output: &mut impl Write) -> anyhow::Result<()> {
        let program = self.program.as_ref().ok_or_else(|| anyhow!("no call was compared"))?;
        let plugin = plugins.select(Some(&program.plugin))?;
        if self.arguments.report.format != Format::Text {
            let report = json!({
                "recording": self.head,
                "recorded": { "plugin": program.plugin, "version": program.version, "digest": program.digest },
                "replayed": { "plugin": plugin.manifest().name, "version": plugin.manifest().version, "digest": self.digest },
                "calls": self.calls(),
                "identical": self.identical,
                "differ": self.differ,
                "notAsked": self.not_asked,
                "unanswered": self.unanswered,
                "redacted": self.redacted,
                "cutOff": !matches!(self.ending, Some(Ending::Whole(_)) | None),
                "differences": self.differences,
            });
            self.arguments.report.format.write(output, || Ok(String::new()), || report)?;
            return Ok(());
        }
        writeln!(
            output,
            "{} of {} {}: {} identical, {} differ",
            calls(self.calls()),
            program.plugin,
            program.version,
            self.identical,
            self.differ
        )?;
        for note in self.notes(&plugin) {
            writeln!(output, "{note}")?;
        }
        Ok(())
    }

    fn notes(&self, plugin: &Plugin) -> Vec<String> {
        let mut notes = Vec::new();
        let version = &plugin.manifest().version;
        if self.same_plugin == 0 {
            notes.push(format!("This is not the version that was recorded: {version}, {}.", short(&self.digest)));
        } else if self.same_plugin < self.calls() {
            notes.push(format!(
                "Of these, {} recorded of another version of the plugin.",
                were(self.calls() - self.same_plugin)
            ));
        } else if self.differ > 0 {
            notes.push(self.impure());
        }
        if self.unanswered > 0 {
            notes.push(format!("{} read what the recording does not contain.", calls(self.unanswered)));
        }
        if self.not_asked > 0 {
            notes.push(format!(
                "{} recorded without an answer, because the host could not make the call then.",
                were(self.not_asked)
            ));
        }
        if self.redacted > 0 && self.head.secrets == Secrets::Redacted {
            notes.push(format!(
                "{} read values of Secrets: the recording contains placeholders, and the answers of the plugin to these.",
                calls(self.redacted)
            ));
        }
        match &self.ending {
            Some(Ending::CutOff { within: Some(line) }) => {
                notes.push(format!("The recording is cut off within line {line}, which was ignored."));
            }
            Some(Ending::CutOff { within: None }) => {
                notes.push("The recording has no last line: it was cut off, and there may have been more calls.".to_owned());
            }
            Some(Ending::Whole(EndLine { dropped, .. })) if *dropped > 0 => {
                notes.push(format!("{} not recorded, because they came too fast.", were(*dropped)));
            }
            _ => {}
        }
        notes
    }

    fn impure(&self) -> String {
        if self.differ == self.differ_unanswered {
            return "Same plugin, different reads: the recording was modified.".to_owned();
        }
        let own = env!("CARGO_PKG_VERSION");
        if self.head.gyre != own {
            return format!(
                "Same plugin, but recorded by gyre {}, and this is {own}: their sandboxes may behave differently.",
                self.head.gyre
            );
        }
        let cause = match self.program.as_ref().map(|program| program.limits.reuse) {
            Some(Reuse::UpTo(_)) => "its instances served several calls (limits.reuse), and kept state between them",
            Some(Reuse::Never) | None => "its answers depend on more than its inputs",
        };
        format!("Same plugin, so it is not a pure function: {cause}.")
    }
}

fn difference(call: &CallLine, replayed: &Replayed) -> Value {
    json!({
        "call": call.number,
        "about": show::title(call),
        "identical": replayed.verdict == Verdict::Identical,
        "parts": show::parts(&call.answer, &replayed.answer),
        "unanswered": replayed.unanswered.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "recorded": call.answer,
        "replayed": replayed.answer,
    })
}

fn calls(count: u64) -> String {
    if count == 1 { "1 call".to_owned() } else { format!("{count} calls") }
}

fn were(count: u64) -> String {
    format!("{} {}", calls(count), if count == 1 { "was" } else { "were" })
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

#[cfg(test)]
mod tests;
