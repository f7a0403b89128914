//! The metrics of this process, under the usual names of Prometheus clients.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads the values for each scrape. Without `/proc`, there are none.
#[derive(Debug)]
pub(super) struct Process;

/// The clock ticks per second in `/proc` (`USER_HZ`), constant on Linux.
const TICKS: f64 = 100.0;

#[derive(Debug, Default, PartialEq)]
struct ProcessStats {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<f64>,
    virtual_bytes: Option<f64>,
    open_files: Option<f64>,
    most_files: Option<f64>,
    start_seconds: Option<f64>,
}

impl ProcessStats {
    fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let open_files = fs::read_dir("/proc/self/fd").map(Iterator::count).ok();
        Self {
            // Reading the folder opens it.
            open_files: open_files.map(|files| files.saturating_sub(1) as f64),
            ..Self::in_texts(
                &read("/proc/self/stat"),
                &read("/proc/self/status"),
                &read("/proc/self/limits"),
                &read("/proc/stat"),
            )
        }
    }

    fn in_texts(stat: &str, status: &str, limits: &str, system: &str) -> Self {
        // The name in parentheses may contain anything; `state` is field 3 of proc_pid_stat(5).
        let fields: Vec<&str> =
            stat.rsplit_once(')').map(|(_, fields)| fields.split_whitespace().collect()).unwrap_or_default();
        let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
        let kibibytes = |name: &str| number(status, name).map(|kibibytes| kibibytes * 1024.0);
        Self {
            cpu_seconds: ticks(14).zip(ticks(15)).map(|(user, system)| (user + system) / TICKS),
            resident_bytes: kibibytes("VmRSS:"),
            virtual_bytes: kibibytes("VmSize:"),
            open_files: None,
            most_files: number(limits, "Max open files"),
            start_seconds: ticks(22).zip(number(system, "btime")).map(|(start, boot)| boot + start / TICKS),
        }
    }
}

fn number(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let found = ProcessStats::now();
        if let Some(seconds) = found.cpu_seconds {
            let counter = ConstCounter::new(seconds);
            let help = "CPU time of this process";
            counter.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, counter.metric_type())?)?;
        }
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory of this process", found.resident_bytes),
            ("process_virtual_memory_bytes", "Virtual memory of this process", found.virtual_bytes),
            ("process_open_fds", "Open file descriptors", found.open_files),
            ("process_max_fds", "Maximum number of open file descriptors", found.most_files),
            ("process_start_time_seconds", "Start time of this process, since the Unix epoch", found.start_seconds),
        ];
        for (name, help, value) in gauges {
            let Some(value) = value else { continue };
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_proc_are_parsed() {
        let stat = "42 (a) b) R 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 4 0 12345 1000 10 18446744073709551615";
        let status = "Name:\tgyre\nVmSize:\t    2048 kB\nVmRSS:\t     512 kB\n";
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 4096                 files\n";
        let found = ProcessStats::in_texts(stat, status, limits, "cpu 1 2\nbtime 1000\n");
        let expected = ProcessStats {
            cpu_seconds: Some(3.0),
            resident_bytes: Some(512.0 * 1024.0),
            virtual_bytes: Some(2048.0 * 1024.0),
            open_files: None,
            most_files: Some(1024.0),
            start_seconds: Some(1123.45),
        };
        assert_eq!(found, expected);
        assert_eq!(ProcessStats::in_texts("", "", "Max open files unlimited", ""), ProcessStats::default());
    }
}
