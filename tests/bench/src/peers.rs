//! Compares gyre with operators in other frameworks, on one kube-apiserver and etcd, in turns.
//!
//! | peer | what it is |
//! |---|---|
//! | `bare` | a loop that sends only the two requests that an Echo needs |
//! | `controller-runtime` | the operator in `peers/controller-runtime`, in Go |
//! | `kube-rs` | the operator in `peers/kube-rs.rs` |
//! | `gyre` | the host with the plugin echo |
//!
//! Kubernetes' own controllers do not run. A measured time ends at the last write of a status.

mod peer;
mod server;
mod table;

use anyhow::ensure;
use clap::Args;
use gyre_controlplane::tools_or_skip;

use crate::line::Line;
use peer::Peer;
use server::Server;
use table::{Figure, Table};

#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Compare gyre with operators that were written with other frameworks. Needs Go.
    #[arg(long)]
    pub(crate) peers: bool,
    /// Number of rounds. Each operator is measured once per round, and the medians are reported.
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Numbers of Echos that exist when an operator is started.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 5_000])]
    peer_echos: Vec<usize>,
    /// Number of objects that each operator reconciles concurrently.
    #[arg(long, value_name = "N", default_value_t = 4)]
    workers: usize,
    /// Duration of the load of 20 Echos per second, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    live: u64,
}

pub(crate) fn measure(arguments: &Arguments) -> anyhow::Result<Vec<Line>> {
    let Some(tools) = tools_or_skip()? else { return Ok(Vec::new()) };
    ensure!(arguments.rounds > 0, "--rounds: there must be at least one round");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = runtime.block_on(Server::start(&tools))?;
    let peers = Peer::all(server.folder())?;
    let mut table = Table::default();
    for round in 0..arguments.rounds {
        // The order rotates, because the first of a round may have an advantage.
        let order = peers.iter().cycle().skip(round % peers.len()).take(peers.len());
        for peer in order {
            runtime.block_on(turn(&server, peer, round, arguments, &mut table))?;
        }
    }
    table.print();
    Ok(lines(&table, arguments))
}

async fn turn(server: &Server, peer: &Peer, round: usize, arguments: &Arguments, table: &mut Table) -> anyhow::Result<()> {
    let mut figures = Vec::new();
    for echos in &arguments.peer_echos {
        let mut add = |figure: Figure, value: f64| {
            figures.push(format!("{figure} {value:.2}"));
            table.add(peer.name, *echos, figure, value);
        };
        server.create_echos(0..*echos).await?;
        let before = server.mark()?;
        let mut running = server.run(peer, arguments.workers)?;
        running.until_statuses(*echos).await?;
        add(Figure::BacklogSeconds, running.last_status()?.as_secs_f64());
        running.until_idle().await?;
        add(Figure::Processor, running.processor_seconds()?);
        add(Figure::ServerProcessor, server.processor_seconds_since(&before)?);
        add(Figure::Resident, running.resident_bytes()? / 1e6);
        for (verb, count) in running.requests()? {
            add(Figure::Requests(verb), count as f64 / *echos as f64);
        }
        if peer.is_operator {
            let touched = server.mark()?;
            server.touch_echos(0..*echos).await?;
            running.until_idle().await?;
            add(Figure::TouchRequests, running.writes_and_gets_since(&touched)? as f64);
            running.stop()?;
            running = server.run(peer, arguments.workers)?;
            running.until_idle().await?;
            add(Figure::RestartProcessor, running.processor_seconds()?);
            add(Figure::RestartRequests, running.writes_and_gets()? as f64);
        }
        running.stop()?;
        server.clear().await?;
        println!("  round {}, {}, {echos} Echos: {}", round + 1, peer.name, figures.join(", "));
        figures.clear();
    }
    let mut running = server.run(peer, arguments.workers)?;
    running.until_idle().await?;
    let idle = running.resident_bytes()? / 1e6;
    let (half, most) = running.live(arguments.live).await?;
    running.stop()?;
    server.clear().await?;
    println!("  round {}, {}: idle {idle:.1} MB; 20 Echos a second: p50 {half:.1} ms, p99 {most:.1} ms", round + 1, peer.name);
    for (figure, value) in [(Figure::IdleResident, idle), (Figure::LiveHalf, half), (Figure::LiveMost, most)] {
        table.add(peer.name, 0, figure, value);
    }
    Ok(())
}

fn lines(table: &Table, arguments: &Arguments) -> Vec<Line> {
    let ratio = |what: String, echos: usize, figure: &Figure, than: &str, most: f64| {
        let ratio = table.median("gyre", echos, figure) / table.median(than, echos, figure);
        Line::new(what, ratio, "x", Some(most))
    };
    let mut lines = Vec::new();
    for &echos in &arguments.peer_echos {
        let backlog = Figure::BacklogSeconds;
        lines.push(ratio(format!("{echos} Echos: time, gyre / bare loop"), echos, &backlog, "bare", 1.05));
        // In a larger cluster, the API server takes a larger share of the time.
        let most = if echos > 1_000 { 0.87 } else { 0.77 };
        lines.push(ratio(
            format!("{echos} Echos: time, gyre / controller-runtime"),
            echos,
            &backlog,
            "controller-runtime",
            most,
        ));
        let processor = Figure::Processor;
        lines.push(ratio(
            format!("{echos} Echos: CPU, gyre / controller-runtime"),
            echos,
            &processor,
            "controller-runtime",
            0.5,
        ));
        let restart = Figure::RestartProcessor;
        lines.push(ratio(format!("{echos} Echos: CPU of a restart"), echos, &restart, "controller-runtime", 0.5));
        for (what, figure) in [("restart", Figure::RestartRequests), ("change of an annotation", Figure::TouchRequests)] {
            let requests = table.median("gyre", echos, &figure);
            lines.push(Line::new(format!("{echos} Echos: requests after a {what}"), requests, "", Some(0.0)));
        }
    }
    for (what, figure) in [("p50", Figure::LiveHalf), ("p99", Figure::LiveMost), ("idle RSS", Figure::IdleResident)] {
        lines.push(ratio(
            format!("20 Echos a second: {what}, gyre / controller-runtime"),
            0,
            &figure,
            "controller-runtime",
            1.1,
        ));
    }
    lines
}
