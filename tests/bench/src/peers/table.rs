//! The measured figures, by operator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    /// From the start of the process to the last status, in seconds.
    BacklogSeconds,
    /// CPU time of the operator for it, in seconds.
    Processor,
    /// CPU time of kube-apiserver and etcd for it, in seconds.
    ServerProcessor,
    /// Memory after it, in MB.
    Resident,
    /// Requests for each Echo, by verb and resource.
    Requests(String),
    /// Requests that are neither lists nor watches, after each Echo was annotated.
    TouchRequests,
    /// CPU time of a start when all Echos are as desired, in seconds.
    RestartProcessor,
    /// Requests of such a start that are neither lists nor watches.
    RestartRequests,
    /// Memory without an Echo, in MB.
    IdleResident,
    /// From an Echo to its Job, at 20 a second: the median, in ms.
    LiveHalf,
    /// The same, 99 of 100.
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

/// All measurements.
#[derive(Debug, Default)]
pub(super) struct Table(BTreeMap<(usize, Figure), BTreeMap<&'static str, Vec<f64>>>);

impl Table {
    pub(super) fn add(&mut self, peer: &'static str, echos: usize, figure: Figure, value: f64) {
        self.0.entry((echos, figure)).or_default().entry(peer).or_default().push(value);
    }

    /// The median of the rounds; NaN if there is none.
    pub(super) fn median(&self, peer: &str, echos: usize, figure: &Figure) -> f64 {
        let values = self.0.get(&(echos, figure.clone())).and_then(|peers| peers.get(peer));
        let mut values = values.cloned().unwrap_or_default();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// Prints the medians as a table in Markdown.
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
