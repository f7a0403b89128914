//! A call is a function of its input and its reads.

use std::time::{Duration, SystemTime};

use gyre_core::response::Failure;
use gyre_sandbox::call::Error;
use gyre_sandbox::{Call, ClockUse, Input, Limits, Plugin, Reuse, Start};

use crate::probe::Probe;
use crate::stage::{PARENT, Small, limits, load, sandbox};

const RANDOM: Probe = Probe {
    imports: r#"
        (import "wasi:random/random@0.2.0" "get-random-u64" (func $random (result i64)))
        (import "wasi:random/insecure-seed@0.2.0" "insecure-seed" (func $seed (param i32)))"#,
    describe: "",
    reconcile: "
        (call $hex (call $random))
        (call $seed (i32.const 49152))
        (call $hex (i64.load (i32.const 49152)))
        (call $hex (i64.load offset=8 (i32.const 49152)))
        (call $hex (call $random))
        (call $say)",
};

const CLOCKS: Probe = Probe {
    imports: r#"
        (import "wasi:clocks/wall-clock@0.2.0" "now" (func $wall (param i32)))
        (import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $monotonic (result i64)))"#,
    describe: "",
    reconcile: "
        (call $wall (i32.const 49152))
        (call $hex (i64.load (i32.const 49152)))
        (call $hex (i64.extend_i32_u (i32.load offset=8 (i32.const 49152))))
        (call $hex (call $monotonic))
        (call $hex (call $monotonic))
        (call $say)",
};

const SLEEP: Probe = Probe {
    imports: r#"
        (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $sleep (param i64) (result i32)))
        (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
        (import "wasi:io/poll@0.2.0" "[method]pollable.ready" (func $ready (param i32) (result i32)))
        (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop (param i32)))"#,
    describe: "",
    reconcile: "(local $pollable i32)
        (local.set $pollable (call $sleep (i64.const 3600000000000)))
        (call $block (local.get $pollable))
        (call $hex (i64.extend_i32_u (call $ready (local.get $pollable))))
        (call $drop (local.get $pollable))
        (call $say)",
};

const COUNTER: Probe = Probe {
    imports: "",
    describe: "",
    reconcile: "
        (i64.store (i32.const 49152) (i64.add (i64.load (i32.const 49152)) (i64.const 1)))
        (call $hex (i64.load (i32.const 49152)))
        (call $say)",
};

const READER: Probe = Probe {
    imports: r#"
        (import "gyre:plugin/cluster@0.1.0" "get"
          (func $get (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
        (import "gyre:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))"#,
    describe: "",
    reconcile: "
        (call $log (i32.const 2) (local.get $parent) (i32.const 2) (i32.const 0) (i32.const 0))
        (call $get
          (i32.load (i32.const 1024)) (i32.load (i32.const 1028)) (i32.load (i32.const 1032)) (i32.load (i32.const 1036))
          (i32.load (i32.const 1040)) (i32.load (i32.const 1044))
          (i32.const 0) (i32.const 0) (i32.const 0) (i32.load (i32.const 1032)) (i32.const 2)
          (i32.const 49152))
        (call $hex (i64.extend_i32_u (i32.load8_u (i32.const 49152))))
        (call $hex (i64.extend_i32_u (i32.load8_u offset=4 (i32.const 49152))))
        (call $say)",
};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn call(plugin: &Plugin, seed: &str, now: SystemTime, limits: &Limits, imports: Small) -> Call<gyre_core::response::Response> {
    plugin.reconcile(&Input { parent: PARENT, members: &[], settings: b"{}", seed, now }, limits, Box::new(imports))
}

/// The output of the probe, 16 digits at a time.
fn said(call: &Call<gyre_core::response::Response>) -> Vec<u64> {
    match &call.result {
        Err(Error::Failed(Failure::Terminal { message: text })) => {
            text.as_bytes().chunks(16).map(|word| u64::from_str_radix(str::from_utf8(word).unwrap(), 16).unwrap()).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn run(probe: Probe, seed: &str, now: SystemTime) -> (Vec<u64>, ClockUse) {
    let sandbox = sandbox();
    let plugin = sandbox.load(&probe.component()).unwrap();
    let call = call(&plugin, seed, now, &limits(), Small::default());
    (said(&call), call.usage.clock)
}

#[test]
fn random_numbers_depend_on_the_seed_alone() {
    let (first, clock) = run(RANDOM, "uid-1", at(1));
    assert_eq!(clock, ClockUse::NotRead);
    assert_eq!(run(RANDOM, "uid-1", at(2)).0, first);
    let (other, _) = run(RANDOM, "uid-2", at(1));
    assert!(first.iter().all(|number| !other.contains(number)), "{first:?} {other:?}");
    assert_ne!(first[0], first[3]);
}

#[test]
fn clocks_stand_still_and_reading_them_is_recorded() {
    let now = at(1_700_000_000) + Duration::from_nanos(5);
    let (said, clock) = run(CLOCKS, "uid-1", now);
    assert_eq!(said, [1_700_000_000, 5, 1_700_000_000_000_000_005, 1_700_000_000_000_000_005]);
    assert_eq!(clock, ClockUse::Read);
}

#[test]
fn sleep_ends_at_once_and_reads_no_clock() {
    let sandbox = sandbox();
    let plugin = sandbox.load(&SLEEP.component()).unwrap();
    let call = call(&plugin, "uid-1", at(1), &limits(), Small::default());
    assert_eq!((said(&call), call.usage.clock), (vec![1], ClockUse::NotRead));
    // A host that really sleeps would take the requested hour.
    assert!(call.usage.duration < Duration::from_secs(60 * 60), "{:?}", call.usage);
}

#[test]
fn a_fresh_instance_remembers_nothing() {
    let sandbox = sandbox();
    let plugin = sandbox.load(&COUNTER.component()).unwrap();
    for _ in 0..3 {
        let call = call(&plugin, "uid-1", at(1), &limits(), Small::default());
        assert_eq!((said(&call), call.usage.start), (vec![1], Start::Fresh));
    }
}

#[test]
fn a_reused_instance_is_retired_after_its_last_call_or_an_error() {
    let sandbox = sandbox();
    let plugin = sandbox.load(&COUNTER.component()).unwrap();
    let limits = Limits { reuse: Reuse::UpTo(3), ..limits() };
    let mut counts = Vec::new();
    for _ in 0..7 {
        counts.extend(said(&call(&plugin, "uid-1", at(1), &limits, Small::default())));
    }
    assert_eq!(counts, [1, 2, 3, 1, 2, 3, 1]);
    let too_much = Limits { output_bytes: 1, ..limits.clone() };
    assert!(matches!(call(&plugin, "uid-1", at(1), &too_much, Small::default()).result, Err(Error::OutputTooLarge { .. })));
    assert_eq!(said(&call(&plugin, "uid-1", at(1), &limits, Small::default())), [1]);
}

#[test]
fn a_reused_instance_is_seeded_and_timed_for_each_call() {
    let sandbox = sandbox();
    let limits = Limits { reuse: Reuse::UpTo(100), ..limits() };
    let random = sandbox.load(&RANDOM.component()).unwrap();
    let first = said(&call(&random, "uid-1", at(1), &limits, Small::default()));
    let other = said(&call(&random, "uid-2", at(1), &limits, Small::default()));
    let again = call(&random, "uid-1", at(1), &limits, Small::default());
    assert_eq!((said(&again), again.usage.start), (first.clone(), Start::Warm));
    assert_ne!(first, other);
    let clocks = sandbox.load(&CLOCKS.component()).unwrap();
    assert_eq!(said(&call(&clocks, "uid-1", at(1), &limits, Small::default()))[0], 1);
    assert_eq!(said(&call(&clocks, "uid-1", at(2), &limits, Small::default()))[0], 2);
}

#[test]
fn a_reused_instance_reads_the_inputs_of_its_current_call() {
    let sandbox = sandbox();
    let limits = Limits { reuse: Reuse::UpTo(100), log_lines: 1, ..limits() };
    let plugin = sandbox.load(&READER.component()).unwrap();
    for object in [Some("{}"), None, Some("{}")] {
        let call = call(&plugin, "uid-1", at(1), &limits, Small { object, ..Small::default() });
        // No error, and whether there is an object.
        assert_eq!(said(&call), [0, u64::from(object.is_some())]);
        assert_eq!((call.usage.log_lines, call.usage.undeclared_read), (1, None));
        let imports = call.imports.downcast::<Small>().unwrap_or_else(|_| panic!("another world"));
        assert_eq!((imports.object, imports.lines.len()), (object, 1));
    }
}

#[test]
fn the_same_input_gives_the_same_answer() {
    let sandbox = sandbox();
    let echo = load(&sandbox, gyre_artifacts::ECHO);
    let answer = |limits: &Limits| call(&echo, "uid-1", at(1), limits, Small::default()).result;
    let first = answer(&limits());
    let warm = Limits { reuse: Reuse::UpTo(100), ..limits() };
    for _ in 0..5 {
        assert_eq!(answer(&limits()), first);
        assert_eq!(answer(&warm), first);
    }
}
