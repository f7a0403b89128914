//! The measured figures, by operator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    /// The time from the start of the process to the last status, in seconds.
    BacklogSeconds,
    /// The CPU time of the operator until then, in seconds.
    Processor,
    /// The CPU time of kube-apiserver and etcd until then, in seconds.
    ServerProcessor,
    /// The memory of the operator then, in MB.
    Resident,
    /// The requests per Echo, by verb and resource.
    Requests(String),
    /// The requests after each Echo was annotated, without lists and watches.
    TouchRequests,
    /// The CPU time of a start when all Echos are as desired, in seconds.
    RestartProcessor,
    /// The requests of such a start, without lists and watches.
    RestartRequests,
    /// The memory without Echos, in MB.
    IdleResident,
    /// The median time from an Echo to its Job, at 20 per second, in ms.
    LiveHalf,
    /// The 99th percentile of the same.
    LiveMost,
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::BacklogSeconds => "time, s",
            Self::Processor => "CPU of the operator, s",
            Self::ServerProcessor => "CPU of kube-apiserver and etcd, s",
            Self::Resident => "RSS, MB",
            Self::Requests(verb) => return write!(formatter, "requests per Echo: {verb}"),
            Self::TouchRequests => "requests after each Echo was annotated",
            Self::RestartProcessor => "restart: CPU of the operator, s",
            Self::RestartRequests => "restart: requests",
            Self::IdleResident => "idle: RSS, MB",
            Self::LiveHalf => "20 Echos a second: p50, ms",
            Self::LiveMost => "20 Echos a second: p99, ms",
        };
        formatter.write_str(text)
    }
}

#[derive(Debug, Default)]
pub(super) struct Table(BTreeMap<(usize, Figure), BTreeMap<&'static str, Vec<f64>>>);

impl Table {
    pub(super) fn add(&mut self, peer: &'static str, echos: usize, figure: Figure, value: f64) {
        self.0.entry((echos, figure)).or_default().entry(peer).or_default().push(value);
    }

    /// Returns the median of the rounds, or NaN without any.
    pub(super) fn median(&self, peer: &str, echos: usize, figure: &Figure) -> f64 {
        let values = self.0.get(&(echos, figure.clone())).and_then(|peers| peers.get(peer));
        let mut values = values.cloned().unwrap_or_default();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }

    pub(super) fn print(&self) {
        let peers: BTreeSet<&str> = self.0.values().flat_map(|peers| peers.keys().copied()).collect();
        let header: Vec<&str> = peers.iter().copied().collect();
        println!("| Echos | figure (median) | {} |", header.join(" | "));
        println!("|---|---|{}", "---|".repeat(header.len()));
        for (echos, figure) in self.0.keys() {
            let cell = |peer: &&str| {
                let median = self.median(peer, *echos, figure);
                if median.is_nan() { String::new() } else { format!("{median:.2}") }
            };
            let cells: Vec<String> = header.iter().map(cell).collect();
            println!("| {echos} | {figure} | {} |", cells.join(" | "));
        }
    }
}
