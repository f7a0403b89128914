//! The limits of answers, and calls without an answer.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime};

use gyre_core::object::GroupVersionKind;
use gyre_core::text::cut;
use gyre_sandbox::call::Error;
use gyre_sandbox::{Bytes, Fault, HostImports, Input, Limits, LogLine, Options, Plugin, ReadError, Sandbox, settings};

use crate::probe::{MIRROR, Probe};
use crate::stage::{Small, limits, reconcile, reconcile_in, sandbox, short_limits};

fn mirror(plugin: &Plugin, status: &str, limits: &Limits) -> Result<gyre_core::response::Response, Error> {
    let input = Input { parent: status.as_bytes(), members: &[], settings: b"{}", seed: "", now: SystemTime::UNIX_EPOCH };
    plugin.reconcile(&input, limits, Box::new(Small::default())).result
}

#[test]
fn an_answer_is_json_within_its_limits() {
    let sandbox = sandbox();
    let plugin = sandbox.load(&MIRROR.component()).unwrap();
    let limits = Limits { output_bytes: 64, output_depth: 3, ..limits() };
    let check = |status: &str, reason: Option<&str>| {
        let error = mirror(&plugin, status, &limits).err();
        assert_eq!(error.as_ref().map(Error::reason), reason, "{status}: {error:?}");
    };
    check(r#"{"a":{"b":["[[[["]}}"#, None);
    check(r#"{"a":{"b":[{}]}}"#, Some("OutputTooDeep"));
    check(r#"{"a":"#, Some("InvalidOutput"));
    check("[]", Some("InvalidOutput"));
    check("", Some("InvalidOutput"));
    check(&format!(r#"{{"a":"{}"}}"#, "x".repeat(56)), None);
    check(&format!(r#"{{"a":"{}"}}"#, "x".repeat(57)), Some("OutputTooLarge"));
    check(&format!(r#"{{"a":"{}"}}"#, "x".repeat(5_000)), Some("OutputTooLarge"));
}

#[test]
fn an_answer_is_shown_as_the_plugin_wrote_it() {
    let sandbox = sandbox();
    let plugin = sandbox.load(&MIRROR.component()).unwrap();
    let limits = Limits { output_bytes: 64, ..limits() };
    for status in [r#"{"b": 1.0,"a":[ 1e2 ],"a":0}"#.to_owned(), r#"{"a":"#.to_owned(), "[]".to_owned(), "x".repeat(65)] {
        let input = Input { parent: status.as_bytes(), members: &[], settings: b"{}", seed: "", now: SystemTime::UNIX_EPOCH };
        let call = plugin.reconcile(&input, &limits, Box::new(Small::default()));
        assert_eq!(call.imports.downcast::<Small>().unwrap_or_default().texts, [status.as_bytes()]);
    }
}

#[test]
fn settings_are_accepted_or_rejected_in_the_plugins_words() {
    let sandbox = sandbox();
    let plugin = sandbox.load(&MIRROR.component()).unwrap();
    assert_eq!(plugin.validate_settings(b"{}", &limits()), Ok(()));
    let rejected = settings::Error::Rejected(r#"{"a":1}"#.to_owned());
    assert_eq!(plugin.validate_settings(br#"{"a":1}"#, &limits()), Err(rejected));
}

/// Imports that report the begin of a call, and hold it until the sender of `release` is dropped.
struct Held {
    begun: Sender<()>,
    release: Receiver<()>,
}

impl HostImports for Held {
    fn children(&mut self, _kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        Ok(Vec::new())
    }

    fn get(&mut self, _kind: &GroupVersionKind, _namespace: Option<&str>, _name: &str) -> Result<Option<Bytes>, ReadError> {
        Ok(None)
    }

    fn list(
        &mut self,
        _kind: &GroupVersionKind,
        _namespace: Option<&str>,
        _selector: Option<&str>,
    ) -> Result<Vec<Bytes>, ReadError> {
        Ok(Vec::new())
    }

    fn log(&mut self, _line: LogLine) {}

    fn answered(&mut self, _texts: &[&[u8]]) {
        self.begun.send(()).unwrap();
        self.release.recv().unwrap_err();
    }
}

#[test]
fn a_call_that_finds_no_room_in_time_is_the_hosts_fault() {
    let sandbox = Sandbox::new(Options { concurrent_calls: 1, ..Options::default() }).unwrap();
    let plugin = sandbox.load(&MIRROR.component()).unwrap();
    let ((begun, has_begun), (held, release)) = (channel(), channel::<()>());
    std::thread::scope(|scope| {
        let running = scope.spawn(|| reconcile_in(&plugin, &limits(), Box::new(Held { begun, release })));
        has_begun.recv().unwrap();
        // The only slot is taken until `held` is dropped, so the wait must time out.
        let call = reconcile(&plugin, &short_limits());
        let error = call.result.unwrap_err();
        assert_eq!((error.reason(), error.fault()), ("PoolSaturated", Fault::Host));
        assert!(call.usage.waited >= Duration::from_millis(50), "{:?}", call.usage);
        assert!(call.imports.downcast::<Small>().is_ok());
        drop(held);
        assert!(running.join().unwrap().result.is_ok());
    });
    assert!(reconcile(&plugin, &limits()).result.is_ok());
}

#[test]
fn more_callers_than_room_take_turns() {
    let sandbox = sandbox();
    let plugin = sandbox.load(&MIRROR.component()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..50).for_each(|_| assert!(reconcile(&plugin, &limits()).result.is_ok())));
        }
    });
}

#[test]
fn a_plugin_outlives_its_sandbox() {
    let plugin = sandbox().load(&MIRROR.component()).unwrap();
    assert!(reconcile(&plugin, &limits()).result.is_ok());
}

#[test]
fn an_exit_is_a_trap_that_says_so() {
    let probe = Probe {
        imports: r#"(import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))"#,
        describe: "",
        reconcile: "(call $exit (i32.const 1)) (call $say)",
    };
    let sandbox = sandbox();
    let plugin = sandbox.load(&probe.component()).unwrap();
    let error = reconcile(&plugin, &limits()).result.unwrap_err();
    assert_eq!(error.reason(), "Trapped");
    assert!(error.to_string().contains("exited with status 1"), "{error}");
}

#[test]
fn a_stack_overflow_is_distinguished_from_a_stray_pointer() {
    let sandbox = sandbox();
    let check = |imports, reconcile, reason| {
        let plugin = sandbox.load(&Probe { imports, reconcile, describe: "" }.component()).unwrap();
        let error = reconcile_error(&plugin);
        assert_eq!(error.reason(), reason, "{error}");
    };
    // The native stack; the program's own by a load or store; and by a bulk operation.
    check("", "(call $say) (drop) (call $endless (i32.const 0))", "StackOverflow");
    check("", "(i32.store (i32.const -16) (i32.const 1)) (call $say)", "StackOverflow");
    check("", "(call $down (i32.const 65536)) (call $say)", "StackOverflow");
    check("", "(i32.store (i32.const 1000000000) (i32.const 1)) (call $say)", "Trapped");
}

/// A C++ name for `f(A<int>, B<A<int>, …>, C<B<…>, …>, D<C<…>, …>)`, in which each dot stands for
/// `of_each` types: demangled, it grows by this factor with each level.
fn mangled(of_each: usize) -> String {
    let level = |letter: char, before: usize| format!("1{letter}I{}E", format!("S{before}_").repeat(of_each));
    format!("_Z1f1AIiE{}{}{}", level('B', 0), level('C', 2), level('D', 4))
}

#[test]
fn function_names_are_cut_and_not_demangled() {
    let sandbox = sandbox();
    for (name, expected) in [("short".to_owned(), "short".to_owned()), (mangled(200), cut(&mangled(200), 256))] {
        let imports = Box::leak(format!("(func ${name} (result i32) unreachable)").into_boxed_str());
        let reconcile = Box::leak(format!("(call ${name})").into_boxed_str());
        let plugin = sandbox.load(&Probe { imports, reconcile, describe: "" }.component()).unwrap();
        let Error::Trapped { message, backtrace } = reconcile_error(&plugin) else { panic!("it did not trap") };
        assert_eq!(backtrace.first().map(String::len), Some(expected.len()), "the name has {} bytes", name.len());
        assert_eq!(backtrace.first(), Some(&expected));
        assert!(message.len() < 256, "{message}");
    }
}

#[test]
fn a_deep_backtrace_is_cut_to_its_innermost_functions() {
    let sandbox = sandbox();
    let functions: String = (0..40).map(|index| format!("(func $f{index} (result i32) (call $f{}))\n", index + 1)).collect();
    let imports = Box::leak(format!("(func $f40 (result i32) unreachable)\n{functions}").into_boxed_str());
    let plugin = sandbox.load(&Probe { imports, reconcile: "(call $f0)", describe: "" }.component()).unwrap();
    let Error::Trapped { backtrace, .. } = reconcile_error(&plugin) else { panic!("it did not trap") };
    assert_eq!(backtrace, ["f40", "f39", "f38", "f37", "f36", "f35", "f34", "f33"]);
}

fn reconcile_error(plugin: &Plugin) -> Error {
    reconcile(plugin, &limits()).result.unwrap_err()
}

#[test]
fn random_bytes_in_a_request_are_limited() {
    let probe = Probe {
        imports: r#"(import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))"#,
        describe: "",
        reconcile: "(call $random (i64.const -1) (i32.const 49152)) (call $say)",
    };
    let sandbox = sandbox();
    let plugin = sandbox.load(&probe.component()).unwrap();
    let error = reconcile(&plugin, &limits()).result.unwrap_err();
    assert!(error.to_string().contains("random bytes at once"), "{error}");
}

#[test]
fn reading_an_undeclared_kind_is_an_error_for_the_plugin_and_noted() {
    // `children` of a kind that is declared only in `reads`.
    let probe = Probe {
        imports: r#"
            (import "gyre:plugin/cluster@0.1.0" "children" (func $children (param i32 i32 i32 i32 i32 i32 i32)))"#,
        describe: "",
        reconcile: "
            (call $children
              (i32.load (i32.const 1024)) (i32.load (i32.const 1028)) (i32.load (i32.const 1032))
              (i32.load (i32.const 1036)) (i32.load (i32.const 1040)) (i32.load (i32.const 1044)) (i32.const 49152))
            (call $hex (i64.extend_i32_u (i32.load8_u (i32.const 49152))))
            (call $hex (i64.extend_i32_u (i32.load8_u offset=4 (i32.const 49152))))
            (call $say)",
    };
    let sandbox = sandbox();
    let plugin = sandbox.load(&probe.component()).unwrap();
    let call = reconcile(&plugin, &limits());
    // The first error of the type: not-declared.
    assert_eq!(call.result.unwrap_err().to_string(), format!("{:016x}{:016x}", 1, 0));
    assert_eq!(call.usage.undeclared_read.unwrap().kind, "ConfigMap");
}

#[test]
fn plugins_are_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Sandbox>();
    check::<Plugin>();
}
