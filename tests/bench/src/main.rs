//! Benchmarks that print ratios. Both sides of a ratio are measured in the same run on one machine.
//!
//! `cargo xtask bench` runs them. Lines with a target end in `ok` or in `MISSED`, which exits with
//! 1.

mod artifacts;
mod calls;
mod churn;
mod devcluster;
mod endurance;
mod hostile;
mod languages;
mod line;
mod neighbours;
mod offline;
mod peers;
mod process;
mod processors;
mod reconciles;
mod requests;
mod sample;
mod stage;
mod store;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::line::Line;

/// The host's allocator, so that devcluster in this process takes little processor time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Run benchmarks that compare two sides in the same run, and print the ratios.
#[derive(Debug, Parser)]
struct Bench {
    /// Benchmarks to run [default: all].
    #[arg(value_enum)]
    only: Vec<Part>,
    /// Runs one process of the store benchmark: prints the bytes that this number of objects takes.
    #[arg(long, hide = true, value_enum)]
    hold: Option<store::Form>,
    #[command(flatten)]
    hostile: hostile::Arguments,
    #[command(flatten)]
    peers: peers::Arguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// A plugin call, compared with a native call of the same function.
    Calls,
    /// Memory per cached object, compared with its JSON text and with serde_json::Value.
    Store,
    /// Size of the plugin, and memory of an idle host.
    Process,
    /// Number of requests per object, on a real control plane.
    Requests,
    /// The in-memory API server (devcluster), compared with kube-apiserver.
    Devcluster,
    /// Latency beside a plugin that loops and a plugin that traps, compared with a host without
    /// them.
    Neighbours,
    /// Latency, memory and writes while a plugin and a tenant attack the host, compared with no
    /// attack.
    Hostile,
    /// Memory that hosts retain after a million objects were created and deleted.
    Churn,
    /// Processor time and memory of a reconcile that changes nothing.
    Reconciles,
    /// The same plugin in several languages, compared with Rust.
    Languages,
    /// 100,000 calls of greeter in each language, with fresh and with reused instances.
    Endurance,
    /// Golden cases of `gyre test`, compared with native Rust and with `kubectl apply`.
    Offline,
    /// Start with 20 plugins that are in the cache of a registry, compared with files.
    Artifacts,
}

type Measure<'a> = &'a dyn Fn() -> anyhow::Result<Vec<Line>>;

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Bench::parse();
    if let Some(form) = arguments.hold {
        println!("{}", store::hold(form)?);
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.peers.peers {
        println!("gyre beside other operators, on one kube-apiserver and etcd");
        return Ok(exit_code(report(&peers::measure(&arguments.peers)?)));
    }
    let parts: [(Part, &str, Measure<'_>); 13] = [
        (Part::Calls, "plugin call, one Echo of 1.5 KB", &calls::measure),
        (Part::Store, "memory per cached object", &store::measure),
        (Part::Process, "sizes", &process::measure),
        (Part::Requests, "requests at the API server, 1,000 Echos", &requests::measure),
        (
            Part::Devcluster,
            "in-memory API server (devcluster) beside kube-apiserver, ConfigMaps over HTTP",
            &devcluster::measure,
        ),
        (Part::Neighbours, "18 plugins beside one that spins and one that traps", &neighbours::measure),
        (Part::Hostile, "echo and quiet tenants beside a hostile plugin and a hostile tenant", &|| {
            hostile::measure(arguments.hostile)
        }),
        (Part::Churn, "a leader and a standby, after 1,000,000 objects that came and went", &churn::measure),
        (Part::Reconciles, "a reconcile that changes nothing, 1,000 Echos", &reconciles::measure),
        (Part::Languages, "greeter in four languages, echo in two", &languages::measure),
        (Part::Endurance, "100,000 calls of greeter in each language", &endurance::measure),
        (Part::Offline, "golden cases offline", &offline::measure),
        (Part::Artifacts, "start of a host, 20 plugins, compiled before", &artifacts::measure),
    ];
    let mut all_hold = true;
    for (part, title, measure) in parts {
        if !arguments.only.is_empty() && !arguments.only.contains(&part) {
            continue;
        }
        println!("{title}");
        all_hold &= report(&measure()?);
    }
    Ok(exit_code(all_hold))
}

fn report(lines: &[Line]) -> bool {
    lines.iter().for_each(Line::print);
    lines.iter().all(Line::holds)
}

fn exit_code(all_hold: bool) -> ExitCode {
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
