//! A component is written to the cache while it is pulled, and not kept in memory.

use std::path::Path;

use super::{BEARER, Shelf, await_version, plugin, reconcile};
use crate::harness::Cluster;

const BYTES: usize = 20_000_000;
/// The most bytes by which pulling may raise the memory of a host at its peak.
const MOST_GROWTH: u64 = 8 << 20;
/// A part that may be on its way, or in the buffers of the process.
const UNWRITTEN: u64 = 1 << 20;

/// A version of the plugin with a custom section of this size, whose content cannot be compressed.
fn padded(version: u64, bytes: usize) -> Vec<u8> {
    const NAME: &[u8] = b"padding";
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    let mut section = vec![NAME.len() as u8];
    section.extend_from_slice(NAME);
    section.extend(noise.flatten().take(bytes));
    let mut component = plugin(version);
    // The identifier of custom sections, and the size in LEB128.
    component.push(0);
    let mut rest = section.len();
    while rest >= 0x80 {
        component.push((rest % 0x80) as u8 | 0x80);
        rest /= 0x80;
    }
    component.push(rest as u8);
    component.append(&mut section);
    component
}

/// The peak of the memory of a process since it was last [`reset`].
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kibibytes: u64 = line.split_whitespace().next().expect("a number").parse().expect("a number");
    kibibytes << 10
}

/// Makes the present memory of a process its peak (`proc_pid_clear_refs(5)`).
fn reset(process: u32) -> std::io::Result<()> {
    std::fs::write(format!("/proc/{process}/clear_refs"), "5")
}

fn largest_file(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => largest_file(&entry.path()),
        Ok(metadata) => metadata.len(),
        // It may have got its name meanwhile.
        Err(_) => 0,
    });
    sizes.max().unwrap_or_default()
}

#[test]
fn pulling_a_large_component_takes_little_memory() {
    let namespace = "streamed";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    shelf.push_version("1", 1);
    let host = shelf.host(&cluster, &[&shelf.tag("1")], namespace, &[]);
    reconcile(&cluster, namespace, "it", 1);
    cluster.settled(&host);
    let process = host.process.id();
    if let Err(error) = reset(process) {
        gyre_controlplane::skip(&format!("the peak of a process cannot be reset: {error}")).expect("may be skipped");
        return;
    }
    let before = peak(process);
    // The transfer stops before its end, so that what follows it is not measured.
    shelf.set_faults(&serde_json::json!({ "holdBlobs": BYTES / 2 }));
    shelf.push(&shelf.tag("1"), &padded(2, BYTES));
    cluster.eventually("nearly all to be on disk", || {
        (largest_file(Path::new(&shelf.cache())) >= BYTES as u64 - UNWRITTEN).then_some(())
    });
    let growth = peak(process).saturating_sub(before);
    println!("pulling {BYTES} bytes raised the peak of {before} bytes by {growth}");
    assert!(growth <= MOST_GROWTH, "{growth} bytes more");

    shelf.end_faults();
    await_version(&cluster, namespace, "it", 2);
}
