//! Misbehaving plugins: each ends in its own error, and does not affect others.

#[cfg(test)]
mod stage;

use gyre_core::response::{Child, Response};
use gyre_sandbox::call::Error;
use gyre_sandbox::{Fault, Limits, Plugin, Sandbox};

use self::stage::{limits, load, reconcile, sandbox, short_limits};

macro_rules! assert_guest_is_tested {
    ($name:ident) => {
        #[expect(unused_imports, reason = "it is enough that the test exists")]
        use self::$name as _;
    };
}
gyre_artifacts::for_each_guest!(assert_guest_is_tested);

/// Expects a call of the guest to fail for this reason by its own fault, and a call of the echo
/// plugin not to. The deadline applies only to the guest.
#[cfg(test)]
fn check(guest: &str, limits: &Limits, reason: &str) -> Error {
    let sandbox = sandbox();
    let echo = load(&sandbox, gyre_artifacts::ECHO);
    let unhurried = Limits { deadline: stage::limits().deadline, ..*limits };
    let before = reconcile(&echo, &unhurried).result.unwrap();
    let guest = load(&sandbox, guest);
    let error = reconcile(&guest, limits).result.unwrap_err();
    assert_eq!((error.reason(), error.fault()), (reason, Fault::Plugin), "{error}: {error:?}");
    assert_eq!(reconcile(&echo, &unhurried).result.unwrap(), before);
    error
}

#[cfg(test)]
fn check_answer(guest: &str) -> Response {
    let (_sandbox, plugin) = loaded(guest);
    reconcile(&plugin, &limits()).result.unwrap()
}

fn loaded(guest: &str) -> (Sandbox, Plugin) {
    let sandbox = sandbox();
    let plugin = load(&sandbox, guest);
    (sandbox, plugin)
}

#[test]
fn trap() {
    let error = check(gyre_artifacts::guests::TRAP, &limits(), "Trapped");
    let Error::Trapped { message, .. } = error else { panic!("{error:?}") };
    assert!(message.contains("unreachable"), "{message}");
}

#[test]
fn panics() {
    let error = check(gyre_artifacts::guests::PANICS, &limits(), "Trapped");
    let Error::Trapped { message, .. } = error else { panic!("{error:?}") };
    let place = message.strip_prefix("it panicked at ").and_then(|rest| rest.strip_suffix(": the guest gives up"));
    assert!(place.is_some_and(|place| place.ends_with("panics.rs:5:36")), "{message}");
}

#[test]
fn endless_loop() {
    let limits = short_limits();
    let error = check(gyre_artifacts::guests::ENDLESS_LOOP, &limits, "DeadlineExceeded");
    assert_eq!(error, Error::DeadlineExceeded { deadline: limits.deadline });
    let (_sandbox, plugin) = loaded(gyre_artifacts::guests::ENDLESS_LOOP);
    let call = reconcile(&plugin, &limits);
    // Unit tests of the sandbox count the ticks until its end; the time depends on the machine.
    assert!(call.usage.duration >= limits.deadline, "{:?}", call.usage);
}

#[test]
fn huge_memory() {
    let limits = limits();
    let error = check(gyre_artifacts::guests::HUGE_MEMORY, &limits, "OutOfMemory");
    assert_eq!(error, Error::OutOfMemory { limit: limits.memory_bytes });
    let (_sandbox, plugin) = loaded(gyre_artifacts::guests::HUGE_MEMORY);
    let peak = reconcile(&plugin, &limits).usage.memory_peak_bytes;
    assert!(peak <= limits.memory_bytes && peak > limits.memory_bytes / 2, "{peak}");
}

#[test]
fn deep_recursion() {
    check(gyre_artifacts::guests::DEEP_RECURSION, &limits(), "StackOverflow");
}

#[test]
fn endless_output() {
    let limits = limits();
    let error = check(gyre_artifacts::guests::ENDLESS_OUTPUT, &limits, "OutputTooLarge");
    assert_eq!(error, Error::OutputTooLarge { limit: limits.output_bytes });
    // The host allocates only a few times the limit, even if the answer is never counted.
    let tight = Limits { output_bytes: 1 << 20, ..limits };
    check(gyre_artifacts::guests::ENDLESS_OUTPUT, &tight, "OutputTooLarge");
}

#[test]
fn endless_reads() {
    check(gyre_artifacts::guests::ENDLESS_READS, &Limits { reads: 100, ..limits() }, "TooManyReads");
}

#[test]
fn deep_output() {
    let limits = limits();
    let error = check(gyre_artifacts::guests::DEEP_OUTPUT, &limits, "OutputTooDeep");
    let Error::OutputTooDeep { at, limit } = error else { panic!("{error:?}") };
    assert_eq!((at.as_str(), limit), ("children[0]", limits.output_depth));
}

#[test]
fn malformed_output() {
    let error = check(gyre_artifacts::guests::MALFORMED_OUTPUT, &limits(), "InvalidOutput");
    let Error::InvalidOutput { at, .. } = error else { panic!("{error:?}") };
    assert_eq!(at, "children[0]");
}

#[test]
fn many_children() {
    let limits = limits();
    let error = check(gyre_artifacts::guests::MANY_CHILDREN, &limits, "TooManyChildren");
    assert_eq!(error, Error::TooManyChildren { count: 100_000, limit: limits.children });
}

#[test]
fn log_flood() {
    let limits = limits();
    let error = check(gyre_artifacts::guests::LOG_FLOOD, &limits, "LogFlood");
    assert_eq!(error, Error::LogFlood { bytes: limits.log_bytes, lines: limits.log_lines });
    let (_sandbox, plugin) = loaded(gyre_artifacts::guests::LOG_FLOOD);
    let call = reconcile(&plugin, &limits);
    assert!(call.usage.log_bytes <= limits.log_bytes && call.usage.log_lines <= limits.log_lines, "{:?}", call.usage);
    let imports = call.imports.downcast::<stage::Small>().unwrap_or_else(|_| panic!("the world is another"));
    assert_eq!(imports.lines.len(), call.usage.log_lines);
    assert!(!imports.lines.is_empty());
}

/// Sleep returns at once: it blocks no thread, and costs no time.
#[test]
fn sleeper() {
    let (_sandbox, plugin) = loaded(gyre_artifacts::guests::SLEEPER);
    let call = reconcile(&plugin, &limits());
    assert_eq!(call.result.unwrap(), Response { children: Some(Vec::new()), ..Response::default() });
    // A host that really sleeps would take the requested hour.
    assert!(call.usage.duration < std::time::Duration::from_secs(60 * 60), "{:?}", call.usage);
}

#[test]
fn loud_failure() {
    let (_sandbox, plugin) = loaded(gyre_artifacts::guests::LOUD_FAILURE);
    let call = reconcile(&plugin, &limits());
    let error = call.result.unwrap_err();
    assert_eq!((error.reason(), error.fault()), ("TransientFailure", Fault::Neither));
    assert_eq!((call.usage.output_bytes, error.to_string().len()), (8_000_000, 4_096));
}

/// The host is not asked, so that not even its object is found.
#[test]
fn endless_names() {
    let (_sandbox, plugin) = loaded(gyre_artifacts::guests::ENDLESS_NAMES);
    let imports = Box::new(stage::Small { object: Some("{}"), ..stage::Small::default() });
    let answer = stage::reconcile_in(&plugin, &limits(), imports).result.unwrap();
    assert_eq!(answer, Response { children: Some(Vec::new()), ..Response::default() });
}

/// The plan refuses them; the sandbox passes them on.
#[test]
fn many_refusals() {
    assert_eq!(check_answer(gyre_artifacts::guests::MANY_REFUSALS).children.unwrap().len(), 9_900);
}

#[test]
fn restless_clock() {
    let answer = check_answer(gyre_artifacts::guests::RESTLESS_CLOCK);
    assert_eq!((answer.conditions.len(), answer.requeue_after), (1, Some(std::time::Duration::from_millis(1))));
}

#[test]
fn restless_failure() {
    let (_sandbox, plugin) = loaded(gyre_artifacts::guests::RESTLESS_FAILURE);
    let error = reconcile(&plugin, &limits()).result.unwrap_err();
    assert_eq!((error.reason(), error.fault()), ("TransientFailure", Fault::Neither));
}

#[test]
fn restless_status() {
    assert!(check_answer(gyre_artifacts::guests::RESTLESS_STATUS).status.unwrap().contains_key("seen"));
}

/// The plan refuses the child; the sandbox passes it on.
#[test]
fn undeclared_kind() {
    let children = check_answer(gyre_artifacts::guests::UNDECLARED_KIND).children.unwrap();
    assert!(matches!(children.as_slice(), [Child::Apply(child)] if child.object["kind"] == "ConfigMap"));
}

#[test]
fn lies() {
    let bytes = std::fs::read(gyre_artifacts::guests::LIES).unwrap();
    let Err(error) = sandbox().load(&bytes) else { panic!("it was loaded") };
    assert_eq!(error.reason(), "InvalidManifest");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("mmontes.io"), "{error:?}");
}
