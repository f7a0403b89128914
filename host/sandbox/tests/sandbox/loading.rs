//! Bytes that are not a plugin fail to load with one clear sentence.

use gyre_sandbox::load::Error;

use crate::probe::{MIRROR, Probe, stranger};
use crate::stage::sandbox;

fn check(bytes: &[u8], reason: &str, sentence: &str) -> Error {
    let sandbox = sandbox();
    let Err(error) = sandbox.load(bytes) else { panic!("it was loaded") };
    assert_eq!(error.reason(), reason, "{error}: {error:?}");
    let text = error.to_string();
    assert!(text.contains(sentence), "{text}");
    error
}

#[test]
fn a_probe_is_a_plugin() {
    let sandbox = sandbox();
    let bytes = MIRROR.component();
    let plugin = sandbox.load(&bytes).unwrap();
    assert_eq!(plugin.manifest().name, "probe");
    assert_eq!(plugin.manifest().reads.len(), 1);
    assert_eq!(plugin.digest().to_string().len(), 64);
    assert_eq!(plugin.digest(), sandbox.load(&bytes).unwrap().digest());
}

#[test]
fn nothing() {
    check(b"", "EmptyPlugin", "the plugin is empty");
}

#[test]
fn a_text() {
    check(b"apiVersion: v1\nkind: List\n", "NotWasm", r#"it begins with "apiVersion: v1\nk""#);
    check(b"(component)", "NotWasm", "(component)");
    check(b"\x1f\x8b\x08", "NotWasm", r"\x1f\x8b");
}

#[test]
fn a_core_module() {
    let error = check(&wat::parse_str("(module)").unwrap(), "CoreModule", "not a component");
    assert!(error.remedy().contains("wasm32-wasip2"), "{}", error.remedy());
}

#[test]
fn half_a_component() {
    let bytes = MIRROR.component();
    check(&bytes[..3], "CorruptPlugin", "it ends after 3 bytes");
    check(&bytes[..bytes.len() / 2], "CorruptPlugin", "truncated or corrupt");
    check(b"\0asm\x07\0\x01\0", "CorruptPlugin", "version");
}

#[test]
fn a_damaged_component() {
    let mut bytes = MIRROR.component();
    bytes[40..80].fill(0xff);
    check(&bytes, "CorruptPlugin", "truncated or corrupt");
}

#[test]
fn a_component_of_another_world() {
    check(&stranger(), "NotAPlugin", "gyre:plugin/reconciler@0.1.0");
    check(&wat::parse_str("(component)").unwrap(), "NotAPlugin", "gyre:plugin/reconciler@0.1.0");
    let empty_reconciler = r#"(component (instance $i) (export "gyre:plugin/reconciler@0.1.0" (instance $i)))"#;
    check(&wat::parse_str(empty_reconciler).unwrap(), "NotAPlugin", "describe");
}

#[test]
fn an_import_that_is_not_offered() {
    let http = Probe {
        imports: r#"(import "wasi:http/types@0.2.0" "answer" (func $answer (result i32)))"#,
        describe: "",
        reconcile: "(drop (call $answer)) (call $say)",
    };
    check(&http.component(), "UnknownImport", "imports wasi:http/types@0.2.0");
    let newer = Probe {
        imports: r#"(import "gyre:plugin/cluster@0.9.0" "write" (func $write (result i32)))"#,
        describe: "",
        reconcile: "(drop (call $write)) (call $say)",
    };
    check(&newer.component(), "UnknownImport", "imports gyre:plugin/cluster@0.9.0");
}

#[test]
fn a_plugin_that_does_not_describe_itself() {
    for (describe, reason) in [("unreachable", "Trapped"), ("(loop $again (br $again))", "DeadlineExceeded")] {
        let error = check(&Probe { describe, ..MIRROR }.component(), "DescribeFailed", "function `describe` failed");
        let Error::Describe(cause) = error else { panic!("{error:?}") };
        assert_eq!(cause.reason(), reason);
    }
}

#[test]
fn a_plugin_that_reads_the_cluster_to_describe_itself() {
    let probe = Probe {
        imports: r#"
            (import "gyre:plugin/cluster@0.1.0" "children" (func $children (param i32 i32 i32 i32 i32 i32 i32)))"#,
        describe: "
            (call $children (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
              (i32.const 49152))",
        ..MIRROR
    };
    let error = check(&probe.component(), "DescribeFailed", "function `describe` failed");
    let Error::Describe(cause) = error else { panic!("{error:?}") };
    assert_eq!(cause.reason(), "ClusterNotAllowed");
}

#[test]
fn a_manifest_that_contradicts_the_contract() {
    // The first letter of the name in memory.
    let probe = Probe { describe: "(i32.store8 (i32.load (i32.const 1184)) (i32.const 80))", ..MIRROR };
    let error = check(&probe.component(), "InvalidManifest", "the plugin's manifest is not valid");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("Probe"));
}

#[test]
fn a_plugin_without_a_reconciler() {
    // The number of manifests in memory, after the manifest and its address.
    let probe = Probe { describe: "(i32.store (i32.add (global.get $manifests) (i32.const 4)) (i32.const 0))", ..MIRROR };
    check(&probe.component(), "NoReconciler", "the plugin has no reconciler");
}

#[test]
fn the_reconcilers_of_a_plugin_are_selected_by_name() {
    let bytes = std::fs::read(gyre_artifacts::probes::TWOFOLD).unwrap();
    let error = check(&bytes, "ReconcilerNotNamed", "the plugin has several reconcilers: twofold and backward");
    assert_eq!(error.remedy(), "name one of them");
    let all = sandbox().load_all(&bytes).unwrap();
    let names: Vec<String> = all.iter().map(|plugin| plugin.manifest().name.clone()).collect();
    assert_eq!(names, ["twofold", "backward"]);
    let error = all.select(Some("forward")).err().unwrap();
    assert_eq!(error.to_string(), "the plugin has no reconciler forward, only twofold and backward");

    let [one, other] = ["twofold", "backward"].map(|name| all.select(Some(name)).unwrap());
    assert!(one.digest() == other.digest() && !one.is_same(&other) && one.is_same(&all.select(Some("twofold")).unwrap()));
    let limits = gyre_sandbox::Limits { reuse: gyre_sandbox::Reuse::UpTo(9), ..crate::stage::limits() };
    let parent = br#"{"apiVersion":"guests.gyre.dev/v1","kind":"Any","metadata":{"name":"it","namespace":"default","uid":"1"},"spec":{"text":"ab"}}"#;
    let text = |plugin: &gyre_sandbox::Plugin, settings: &'static [u8]| {
        let now = std::time::SystemTime::UNIX_EPOCH;
        let input = gyre_sandbox::Input { parent, members: &[], settings, seed: "", now };
        let response = plugin.reconcile(&input, &limits, Box::new(crate::stage::Small::default())).result.unwrap();
        response.children.unwrap()[0].applied().unwrap().object["data"]["text"].clone()
    };
    assert_eq!(text(&one, br#"{"prefix":"c"}"#), "cab");
    assert_eq!(text(&other, b"{}"), "ba");
    // Each has instances of its own, so state in one would not reach the other.
    assert_eq!((one.idle_instances(), other.idle_instances()), (1, 1));
    assert_eq!(one.validate_settings(br#"{"prefix":"none"}"#, &limits).unwrap_err().reason(), "SettingsRejected");
    assert_eq!(other.validate_settings(b"{}", &limits), Ok(()));
}

#[test]
fn a_plugin_that_is_larger_than_the_pools_slots() {
    let mut tables = String::from("(component (core module $m (table 10 funcref))");
    tables.extend((0..300).map(|index| format!("(core instance $i{index} (instantiate $m))")));
    check(&wat::parse_str(tables + ")").unwrap(), "PluginTooLarge", "core module instances");
}
