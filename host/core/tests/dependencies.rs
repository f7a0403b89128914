//! Asserts what crates do not depend on, and therefore cannot do.

#[cfg(test)]
mod dependencies {
    use std::collections::BTreeSet;
    use std::process::Command;

    /// The crates that `package` is built from. Without `--offline`: Cargo may have to fetch some.
    fn closure(package: &str, arguments: &[&str]) -> BTreeSet<String> {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--locked", "--edges", "normal", "--prefix", "none"])
            .args(["--format", "{p}", "--package", package])
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
        let listing = String::from_utf8(output.stdout).expect("crates have names in ASCII");
        listing.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    }

    /// Asserts that `package` depends on `present`, so that an empty list fails, and on no
    /// `absent`.
    fn check(package: &str, present: &str, absent: &[&str]) {
        check_closure(package, &closure(package, &[]), present, absent);
    }

    fn check_closure(package: &str, closure: &BTreeSet<String>, present: &str, absent: &[&str]) {
        assert!(closure.contains(package), "{package} is not in its own closure: {closure:?}");
        assert!(closure.contains(present), "{package} no longer depends on {present}: {closure:?}");
        let offending: Vec<&String> =
            closure.iter().filter(|name| absent.iter().any(|prefix| name.starts_with(prefix))).collect();
        assert!(offending.is_empty(), "{package} depends on {offending:?}");
    }

    #[test]
    fn core_decides_and_touches_nothing() {
        check("gyre-core", "serde_json", &["kube", "k8s-openapi", "tokio", "wasmtime", "hyper", "gyre-sandbox"]);
    }

    #[test]
    fn the_sandbox_runs_plugins_and_knows_no_cluster() {
        check("gyre-sandbox", "wasmtime", &["kube", "k8s-openapi", "hyper"]);
    }

    #[test]
    fn clients_of_registries_know_no_cluster_and_have_one_provider_of_cryptography() {
        check("gyre-registry", "ring", &["kube", "k8s-openapi", "wasmtime", "clap", "aws-lc", "native-tls", "openssl-sys"]);
    }

    #[test]
    fn the_engine_knows_no_command_line_and_no_cluster_in_memory() {
        let closure = closure("gyre-engine", &[]);
        check_closure("gyre-engine", &closure, "kube", &["clap"]);
        let ours: Vec<&str> = closure.iter().map(String::as_str).filter(|name| name.starts_with("gyre")).collect();
        assert_eq!(ours, ["gyre-core", "gyre-engine", "gyre-sandbox", "gyre-values"]);
    }

    #[test]
    fn simulations_know_no_command_line() {
        check("gyre-offline", "gyre-devcluster", &["clap"]);
    }

    #[test]
    fn the_test_kit_is_built_in_seconds_and_contains_no_host() {
        const MOST: usize = 30;
        let closure = closure("gyre-test", &[]);
        check_closure(
            "gyre-test",
            &closure,
            "gyre-sdk",
            &["gyre-engine", "gyre-sandbox", "gyre-devcluster", "wasmtime", "kube", "tokio"],
        );
        assert!(closure.len() <= MOST, "gyre-test is built from {} crates: {closure:?}", closure.len());
    }

    #[test]
    fn the_program_that_runs_in_a_cluster_has_no_tools() {
        let tools = ["gyre-devcluster", "gyre-offline", "kube-cel", "clap_complete", "clap_mangen"];
        let in_cluster = closure("gyre", &["--no-default-features"]);
        check_closure("gyre", &in_cluster, "gyre-engine", &tools);
        let complete = closure("gyre", &[]);
        let missing: Vec<&&str> = tools.iter().filter(|tool| !complete.contains(**tool)).collect();
        assert!(missing.is_empty(), "the names have changed: {missing:?}");
    }
}
