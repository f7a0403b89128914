//! A call of the compiled echo plugin, fresh and warm, compared with a native call.
//!
//! Both sides convert the parent's JSON to the host's response, with children as parsed JSON.

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, ensure};
use echo::EchoReconciler;
use gyre_core::object::GroupVersionKind;
use gyre_sandbox::{Bytes, HostImports, Input, Limits, LogLine, Options, Plugin, ReadError, Reuse, Sandbox};
use gyre_sdk::Child;
use gyre_sdk::testing::{Cluster, Native};
use serde_json::{Map, Value};

use crate::line::{Line, median};
use crate::sample;

/// Rounds of each side, in turns. Their median counts, because the machine may be busy at times.
const ROUNDS: usize = 40;
const CALLS: u32 = 250;

/// A cluster without objects.
pub(crate) struct Empty;

impl HostImports for Empty {
    fn children(&mut self, _: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        Ok(Vec::new())
    }

    fn get(&mut self, _: &GroupVersionKind, _: Option<&str>, _: &str) -> Result<Option<Bytes>, ReadError> {
        Ok(None)
    }

    fn list(&mut self, _: &GroupVersionKind, _: Option<&str>, _: Option<&str>) -> Result<Vec<Bytes>, ReadError> {
        Ok(Vec::new())
    }

    fn log(&mut self, _: LogLine) {}
}

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let parent = sample::echo(1);
    let text = parent.to_string();
    let sandbox = Sandbox::new(Options::default())?;
    let plugin = sandbox.load(&std::fs::read(gyre_artifacts::ECHO)?)?;
    let fresh = Limits::default();
    let warm = Limits { reuse: Reuse::UpTo(u32::MAX), ..Limits::default() };
    let native = Native::<EchoReconciler>::new(&parent, &Cluster::new());
    let uid = parent.pointer("/metadata/uid").and_then(Value::as_str).context("a UID")?;

    let natively = || -> anyhow::Result<usize> { called_natively(&native, text.as_bytes()) };
    let freshly = || called(&plugin, text.as_bytes(), uid, &fresh);
    let warmly = || called(&plugin, text.as_bytes(), uid, &warm);
    ensure!(natively()? == freshly()? && freshly()? == warmly()?, "both sides answer alike");

    let (mut native_times, mut fresh_times, mut warm_times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        native_times.push(time(natively)?);
        fresh_times.push(time(freshly)?);
        warm_times.push(time(warmly)?);
    }
    let (native, fresh, warm) = (median(native_times), median(fresh_times), median(warm_times));
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    Ok(vec![
        Line::new("native", micros(native), "µs", None),
        Line::new("warm instance", micros(warm), "µs", None),
        Line::new("fresh instance", micros(fresh), "µs", None),
        Line::new("warm / native", micros(warm) / micros(native), "x", Some(3.5)),
        Line::new("fresh / native", micros(fresh) / micros(native), "x", Some(20.0)),
    ])
}

fn called_natively(native: &Native<EchoReconciler>, parent: &[u8]) -> anyhow::Result<usize> {
    let plan = native.reconcile(black_box(parent), b"{}").map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    let mut fields = 0;
    for child in plan.children.iter().flatten() {
        if let Child::Apply(child) = child {
            fields += child.object.as_object().map_or(0, Map::len);
        }
    }
    if let Some(Ok(status)) = &plan.status {
        fields += serde_json::from_slice::<Map<String, Value>>(status)?.len();
    }
    Ok(fields + plan.conditions.len() + plan.events.len())
}

fn called(plugin: &Plugin, parent: &[u8], uid: &str, limits: &Limits) -> anyhow::Result<usize> {
    let input = Input { parent: black_box(parent), members: &[], settings: b"{}", seed: uid, now: SystemTime::UNIX_EPOCH };
    let response = plugin.reconcile(&input, limits, Box::new(Empty)).result?;
    let mut fields = 0;
    for child in response.children.iter().flatten() {
        fields += child.applied().map_or(0, |child| child.object.len());
    }
    fields += response.status.as_ref().map_or(0, Map::len);
    Ok(fields + response.conditions.len() + response.events.len())
}

fn time(call: impl Fn() -> anyhow::Result<usize>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(call()?);
    }
    Ok(start.elapsed() / CALLS)
}
