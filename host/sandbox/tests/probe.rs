#[cfg(test)]
mod stage;
use std::alloc::System;
use std::time::SystemTime;
use gyre_sandbox::{Input, Limits};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
#[test]
fn probe() {
    let Ok(path) = std::env::var("PROBE") else { return };
    let sandbox = stage::sandbox();
    let plugin = stage::load(&sandbox, &path);
    let parent = r#"{"apiVersion":"gyre.dev/v1alpha1","kind":"Greeting","metadata":{"name":"a","namespace":"b","uid":"x","generation":1},"spec":{"name":"x","greeting":"hi","to":"x"}}"#;
    let limits = Limits { memory_bytes: 256 << 20, deadline: std::time::Duration::from_secs(20), ..Limits::default() };
    for round in 0..12 {
        for _ in 0..200 {
            let input = Input { parent: parent.as_bytes(), members: &[], settings: b"{}", seed: "x", now: SystemTime::UNIX_EPOCH };
            let call = plugin.reconcile(&input, &limits, Box::new(stage::Small::default()));
            if round == 0 { if let Err(e) = &call.result { eprintln!("{e:?}"); break } }
        }
        let s = ALLOCATOR.stats();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let rss = status.lines().find(|l| l.starts_with("VmRSS")).unwrap();
        eprintln!("{round} live {} allocs {} bytes/call {} {rss}", s.bytes_allocated - s.bytes_deallocated, s.allocations - s.deallocations, s.bytes_allocated / 200 / (round + 1));
    }
}
