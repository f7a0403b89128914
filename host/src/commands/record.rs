//! `gyre record`: gets a recording from a running host, and writes it to a file.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use gyre_engine::admin::recording;
use gyre_engine::record::format::{Because, EndLine, Line};
use gyre_engine::telemetry::progress::Progress;
use kube::client::Body;

use crate::commands::running_host::{self, HostArguments, chunk};
use crate::commands::signals::stop_signal;
use crate::commands::threads::threads;
use crate::config::values::{duration, size, whole};

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre record echo --to calls.jsonl          # from a host on this machine, until 1000 calls, 1 minute or 64 MiB are reached
  gyre record echo --all --for 10m --calls 100000 > calls.jsonl
  kubectl exec -n gyre-system deploy/gyre -- /gyre record echo > calls.jsonl    # with several replicas, from the leader: see below
  kubectl port-forward -n gyre-system deploy/gyre 2112 & gyre record echo --to calls.jsonl
  gyre replay echo.wasm calls.jsonl

A host serves recordings only to clients on its own machine: in a cluster, to users who may run commands in its Pod or forward a port of it.
With several replicas, only the leader of a mount calls the plugin. Other replicas answer with the name of
the leader's Pod, which is also in the Lease:
  kubectl get lease -n gyre-system gyre -o jsonpath='{.spec.holderIdentity}' | cut -d_ -f1

Values of Secrets are replaced by placeholders, which are the same throughout a recording; a call that reads Secrets is repeated
with the placeholders, and that answer is recorded. --secrets keeps the values, if the host runs with --record-secrets. Other objects are
recorded unchanged.";

/// The endpoint takes whole seconds.
const SHORTEST: Duration = Duration::from_secs(1);
const SMALLEST: u64 = 1 << 20;
const LARGEST: u64 = 1 << 40;

#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// Mount whose calls are recorded; optional if the host has only one mount.
    #[arg(value_name = "MOUNT", value_parser = running_host::mount)]
    mount: Option<String>,
    #[command(flatten)]
    host: HostArguments,
    /// File to write, which must not exist yet [default: standard output].
    #[arg(long, short_alias = 'o', alias = "output", value_name = "FILE")]
    to: Option<PathBuf>,
    /// Stop after this number of calls.
    #[arg(long, value_name = "N", default_value_t = recording::CALLS, value_parser = whole(1_u64..))]
    calls: u64,
    /// Stop after this duration, e.g. 30s, 10m or 1h.
    #[arg(long = "for", value_name = "DURATION", default_value = "60s", value_parser = duration(SHORTEST..=recording::LONGEST))]
    time: Duration,
    /// Stop after this size, e.g. 512Mi or 1Gi [default: 64Mi].
    #[arg(long, value_name = "SIZE", value_parser = size(SMALLEST..=LARGEST))]
    max_size: Option<usize>,
    /// Call the plugin for every object once, even if nothing has changed.
    #[arg(long)]
    all: bool,
    /// Record the values of Secrets; the host must run with --record-secrets.
    #[arg(long)]
    secrets: bool,
}

/// Records until a limit is reached, or until a signal.
pub(crate) fn run(arguments: &RecordArguments) -> anyhow::Result<()> {
    threads()?.block_on(async {
        let stop = stop_signal()?;
        let mut body = ask(arguments).await?;
        // Creates the file once there is something to write.
        let mut file = Sink::open(arguments)?;
        tokio::select! {
            biased;
            copied = copy(&mut body, &mut file) => copied?,
            () = stop => {}
        }
        file.finish(arguments)
    })
}

async fn ask(arguments: &RecordArguments) -> anyhow::Result<Body> {
    let mut query = format!(
        "calls={}&seconds={}&bytes={}&again={}&secrets={}",
        arguments.calls,
        arguments.time.as_secs(),
        arguments.max_size.map_or(recording::BYTES, |size| size as u64),
        if arguments.all { "yes" } else { "no" },
        if arguments.secrets { "keep" } else { "redact" },
    );
    if let Some(mount) = &arguments.mount {
        query += &format!("&mount={mount}");
    }
    arguments.host.get(&format!("{}?{query}", recording::PATH), recording::MEDIA_TYPE).await
}

async fn copy(body: &mut Body, sink: &mut Sink) -> anyhow::Result<()> {
    while let Some(chunk) = chunk(body).await? {
        sink.write(&chunk)?;
    }
    Ok(())
}

struct Sink {
    output: Box<dyn Write>,
    bytes: u64,
    lines: u64,
    /// The text since the last line break, or the last line at the end.
    last: Vec<u8>,
    progress: Progress,
}

/// The bytes that are kept of a line: the last one is short.
const LAST_LINE: usize = 1024;

impl Sink {
    fn open(arguments: &RecordArguments) -> anyhow::Result<Self> {
        let output: Box<dyn Write> = match &arguments.to {
            None => Box::new(std::io::stdout()),
            Some(path) => {
                // Other users must not read the inputs of plugins.
                let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
                Box::new(file.with_context(|| format!("cannot write {}; name a file that does not exist yet", path.display()))?)
            }
        };
        Ok(Self { output, bytes: 0, lines: 0, last: Vec::new(), progress: Progress::default() })
    }

    fn write(&mut self, chunk: &[u8]) -> anyhow::Result<()> {
        self.output.write_all(chunk).and_then(|()| self.output.flush()).context("cannot write the recording")?;
        self.bytes += chunk.len() as u64;
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            if self.last.ends_with(b"\n") {
                self.last.clear();
            }
            let room = LAST_LINE.saturating_sub(self.last.len()).max(1);
            self.last.extend_from_slice(part.get(part.len().saturating_sub(room)..).unwrap_or(part));
            self.lines += u64::from(part.ends_with(b"\n"));
        }
        self.progress.say(format_args!("{} lines, {:.1} MiB", self.lines, mebibytes(self.bytes)));
        Ok(())
    }

    fn finish(&self, arguments: &RecordArguments) -> anyhow::Result<()> {
        self.progress.clear();
        let size = format!("{:.1} MiB", mebibytes(self.bytes));
        let Ok(Line::End(EndLine { calls, dropped, because })) = serde_json::from_slice(&self.last) else {
            let _ = writeln!(std::io::stderr(), "The recording was stopped after {size}; it can be replayed.");
            return Ok(());
        };
        let because = match because {
            Because::Calls => "the maximum number of calls, see --calls",
            Because::Bytes => "the maximum size, see --max-size",
            Because::Time => "the maximum duration, see --for",
            Because::Stopped => "the host stopped",
            Because::Secrets => "there are too many values of Secrets to hide all of them",
        };
        let _ = writeln!(std::io::stderr(), "{calls} calls, {size}: {because}.");
        if dropped > 0 {
            let _ = writeln!(std::io::stderr(), "{dropped} more calls came too fast to be recorded.");
        }
        if calls == 0 && !arguments.all {
            let _ = writeln!(
                std::io::stderr(),
                "The plugin was not called, because nothing changed. With --all, it is called for every object."
            );
        }
        Ok(())
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
