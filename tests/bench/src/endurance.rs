//! Many calls of greeter in each language, in one process: every call gives the same answer, and
//! the memory of the process stays as it is.
//!
//! A language whose tools are missing is left out, and named.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use anyhow::{anyhow, bail, ensure};
use gyre_core::response::Response;
use gyre_sandbox::{Limits, Options, Plugin, Reuse, Sandbox};

use crate::calls::Empty;
use crate::languages::{LANGUAGES, build, input, parent_of};
use crate::line::Line;
use crate::process;

const CALLS: usize = 100_000;
/// The memory is measured after each of them. After the first, pools and caches have their size.
const ROUNDS: usize = 10;
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
    let resident = call(plugin, &parent, limits, &expected)?;
    let took = began.elapsed().as_secs_f64();
    let (Some(first), Some(last)) = (resident.first(), resident.last()) else {
        bail!("the memory was not measured");
    };
    let mut lines = vec![Line::new(format!("{what}: {CALLS} calls"), took, "s", None)];
    let measured = resident.iter().zip(1..);
    lines.extend(measured.map(|(resident, round)| {
        Line::new(format!("{what}: resident set after {} calls", round * CALLS / ROUNDS), resident / 1e6, "MB", None)
    }));
    lines.push(Line::new(format!("{what}: resident set at the end / after the first"), last / first, "x", Some(GROWTH)));
    Ok(lines)
}

/// Makes calls on each processor, and returns the resident set in bytes after each round. As in a
/// host, the threads last.
fn call(plugin: &Plugin, parent: &str, limits: &Limits, expected: &Response) -> anyhow::Result<Vec<f64>> {
    let threads = thread::available_parallelism()?.get();
    let round = || -> anyhow::Result<()> {
        for _ in 0..CALLS / ROUNDS / threads {
            let answer = answer(plugin, parent, limits)?;
            ensure!(answer == *expected, "an answer differs from the first: {answer:?}");
        }
        Ok(())
    };
    let (round_ends, measured) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    let make_calls = || {
        let mut result = Ok(());
        for _ in 0..ROUNDS {
            result = result.and_then(|()| round());
            round_ends.wait();
            measured.wait();
        }
        result
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(make_calls)).collect();
        // All rounds are collected before an error is returned, because the threads wait for each.
        let resident: anyhow::Result<Vec<f64>> = (0..ROUNDS)
            .map(|_| {
                round_ends.wait();
                let resident = process::resident_bytes(std::process::id());
                measured.wait();
                Ok(resident? as f64)
            })
            .collect::<Vec<_>>()
            .into_iter()
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread of calls panicked"))?)?;
        resident
    })
}

fn answer(plugin: &Plugin, parent: &str, limits: &Limits) -> anyhow::Result<Response> {
    Ok(plugin.reconcile(&input(parent), limits, Box::new(Empty)).result?)
}
