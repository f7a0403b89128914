//! A component is written to the cache while it is pulled, and is never in memory as a whole.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{BEARER, Shelf, plugin};
use crate::harness::{GYRE, PATIENCE};

const BYTES: usize = 20_000_000;
/// The most bytes by which a component of [`BYTES`] may raise the peak of the memory of a pull.
const MOST_GROWTH: u64 = 8 << 20;
/// The time between two looks for the file that the command writes.
const LOOK_EVERY: Duration = Duration::from_millis(10);

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

/// The peak of the memory of a process in bytes.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kibibytes: u64 = line.split_whitespace().next().expect("a number").parse().expect("a number");
    kibibytes << 10
}

/// An output that is full, and its reader: who writes to it waits until it is read.
fn full_output() -> std::io::Result<(UnixStream, UnixStream)> {
    let (reader, output) = UnixStream::pair()?;
    output.set_nonblocking(true)?;
    while matches!((&output).write(&[0]), Ok(1)) {}
    output.set_nonblocking(false)?;
    Ok((reader, output))
}

/// Pulls a tag to a file, expects this component, and returns the peak of the command's memory.
fn peak_of_pull(shelf: &Shelf, tag: &str, expected: &[u8]) -> u64 {
    // The command prints the digest last. It waits there, so that its whole life is measured.
    let (mut reader, output) = full_output().expect("an output");
    let file = shelf.path(&format!("{tag}.wasm"));
    let mut command = Command::new(GYRE);
    command.args(["pull", &shelf.tag(tag), "--to", &file]).envs(shelf.settings()).stdout(OwnedFd::from(output));
    let mut process = command.spawn().expect("gyre runs");
    // Otherwise the output would stay open.
    drop(command);
    let end = Instant::now() + PATIENCE;
    while !Path::new(&file).exists() {
        let ended = process.try_wait().expect("a process");
        assert!(ended.is_none() && Instant::now() < end, "{file} is not written: {ended:?}");
        std::thread::sleep(LOOK_EVERY);
    }
    let peak = peak(process.id());
    reader.read_to_end(&mut Vec::new()).expect("the digest");
    assert!(process.wait().expect("a process").success());
    assert!(std::fs::read(&file).expect("a file") == expected, "{file} is not what was pushed");
    peak
}

#[test]
fn pulling_a_large_component_takes_little_memory() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let (small, large) = (plugin(1), padded(2, BYTES));
    shelf.push(&shelf.tag("small"), &small);
    shelf.push(&shelf.tag("large"), &large);
    let before = peak_of_pull(&shelf, "small", &small);
    let growth = peak_of_pull(&shelf, "large", &large).saturating_sub(before);
    println!("{} more bytes raised the peak of {before} bytes by {growth}", large.len() - small.len());
    assert!(growth <= MOST_GROWTH, "{growth} bytes more than {before}");
}
