//! Many calls of greeter in each language, in one process: every call gives the same answer, and
//! the memory of the process stays as it is.
//!
//! A language whose tools are missing is left out, and named.

use std::thread;
use std::time::Instant;

use anyhow::{anyhow, ensure};
use gyre_core::response::Response;
use gyre_sandbox::{Limits, Options, Plugin, Reuse, Sandbox};

use crate::calls::Empty;
use crate::languages::{LANGUAGES, build, input, parent_of};
use crate::line::Line;
use crate::process;

const CALLS: usize = 100_000;
/// Calls after which pools and caches have their size.
const FIRST_CALLS: usize = CALLS / 10;
/// The growth of the memory that is allowed: what an allocator may keep of freed memory.
const GROWTH: f64 = 1.05;

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let sandbox = Sandbox::new(Options { cache_dir: Some(folder.path().to_owned()), ..Options::default() })?;
    let fresh = Limits::default();
    let reused = Limits { reuse: Reuse::UpTo(u32::MAX), ..Limits::default() };
    let mut lines = Vec::new();
    for language in &LANGUAGES {
        let path = folder.path().join("greeter.wasm");
        if let Err(error) = build(language.greeter, &path) {
            println!("  left out: {}: {error:#}", language.name);
            continue;
        }
        let plugin = sandbox.load(&std::fs::read(&path)?)?;
        for (instances, limits) in [("fresh instances", &fresh), ("a reused instance", &reused)] {
            lines.extend(endure(&format!("{}, {instances}", language.name), &plugin, limits)?);
        }
    }
    Ok(lines)
}

fn endure(what: &str, plugin: &Plugin, limits: &Limits) -> anyhow::Result<Vec<Line>> {
    let parent = parent_of(plugin).to_string();
    let expected = answer(plugin, &parent, limits)?;
    let began = Instant::now();
    call(FIRST_CALLS, plugin, &parent, limits, &expected)?;
    let first = process::resident_bytes(std::process::id())? as f64;
    call(CALLS - FIRST_CALLS, plugin, &parent, limits, &expected)?;
    let last = process::resident_bytes(std::process::id())? as f64;
    let took = began.elapsed().as_secs_f64();
    Ok(vec![
        Line::new(format!("{what}: {CALLS} calls"), took, "s", None),
        Line::new(format!("{what}: resident set after {FIRST_CALLS} calls"), first / 1e6, "MB", None),
        Line::new(format!("{what}: resident set at the end / then"), last / first, "x", Some(GROWTH)),
    ])
}

/// Makes calls on each processor.
fn call(calls: usize, plugin: &Plugin, parent: &str, limits: &Limits, expected: &Response) -> anyhow::Result<()> {
    let threads = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let make_calls = || {
            for _ in 0..calls / threads {
                let answer = answer(plugin, parent, limits)?;
                ensure!(answer == *expected, "an answer differs from the first: {answer:?}");
            }
            Ok(())
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(make_calls)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread of calls panicked"))?)
    })
}

fn answer(plugin: &Plugin, parent: &str, limits: &Limits) -> anyhow::Result<Response> {
    Ok(plugin.reconcile(&input(parent), limits, Box::new(Empty)).result?)
}
