//! The output of a benchmark.

use std::time::Duration;

/// A measured ratio or amount, with its target.
pub(crate) struct Line {
    what: String,
    measured: f64,
    unit: &'static str,
    target: Option<f64>,
}

impl Line {
    pub(crate) fn new(what: impl Into<String>, measured: f64, unit: &'static str, target: Option<f64>) -> Self {
        Self { what: what.into(), measured, unit, target }
    }

    pub(crate) fn holds(&self) -> bool {
        self.target.is_none_or(|target| self.measured <= target)
    }

    pub(crate) fn print(&self) {
        let target = match self.target {
            Some(target) if self.holds() => format!("  at most {target}  ok"),
            Some(target) => format!("  at most {target}  MISSED"),
            None => String::new(),
        };
        println!("  {:<58} {:>10.2} {:<3}{target}", self.what, self.measured, self.unit);
    }
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
