//! The size of the plugin, and of a host with one plugin that waits for its API server.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use gyre_controlplane::{ControlPlane, Guarded, tools_or_skip};

use crate::line::Line;

pub(crate) fn program(name: &str) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name(name);
    ensure!(program.exists(), "{} is not built: run this through `cargo xtask bench`", program.display());
    Ok(program)
}

pub(crate) fn resident_bytes(process: u32) -> anyhow::Result<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kibibytes: usize = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kibibytes * 1024)
}

pub(crate) fn processor_seconds(process: u32) -> anyhow::Result<f64> {
    /// Clock ticks per second, which are the same for all programs on Linux (`USER_HZ`).
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in parentheses may contain anything; `state` is field 3 of proc_pid_stat(5).
    let (_, fields) = stat.rsplit_once(')').context("no name in /proc/<pid>/stat")?;
    let ticks = fields.split_whitespace().skip(14 - 3).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS)
}

/// Starts a host with the echo plugin, and waits until its caches are filled.
pub(crate) fn start_host(plane: &ControlPlane, kubeconfig: &std::path::Path, log: &std::path::Path) -> anyhow::Result<Guarded> {
    let crds = Command::new(program("gyre")?).arg("crds").arg(gyre_artifacts::ECHO).output()?;
    plane.apply(&String::from_utf8(crds.stdout)?)?;
    let mut command = Command::new(program("gyre")?);
    command.args(["run", gyre_artifacts::ECHO, "--listen", "127.0.0.1:0", "--kubeconfig"]).arg(kubeconfig);
    let host = Guarded::spawn("gyre", &command, log, Duration::from_secs(10))?;
    until("the host to be mounted", || Ok(std::fs::read_to_string(log)?.contains("mounted")))?;
    Ok(host)
}

pub(crate) fn until(what: &str, mut holds: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(180);
    while !holds()? {
        ensure!(Instant::now() < deadline, "gave up waiting for {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let kilobytes = std::fs::metadata(gyre_artifacts::ECHO)?.len() as f64 / 1e3;
    let mut lines = vec![Line::new("echo.wasm", kilobytes, "kB", Some(200.0))];
    let Some(tools) = tools_or_skip()? else { return Ok(lines) };
    let plane = ControlPlane::start(&tools, gyre_controlplane::Options::default())?;
    let host = start_host(&plane, plane.kubeconfig(), &plane.folder().join("idle-host.log"))?;
    let resident = resident_bytes(host.id())? as f64 / 1e6;
    lines.push(Line::new("resident set of an idle host with one plugin", resident, "MB", Some(40.0)));
    Ok(lines)
}
