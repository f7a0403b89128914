//! What a crate may not do, Cargo enforces by what it does not depend on. These tests hold the crates to it.

#[cfg(test)]
mod dependencies {
    use std::collections::BTreeSet;
    use std::process::Command;

    /// The names of the crates that this one is built from, itself included.
    ///
    /// Cargo reads the lock file and what the build has fetched. Not with `--offline`, so that it may fetch the rest where only
    /// this crate was built.
    fn closure(package: &str) -> BTreeSet<String> {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--locked", "--edges", "normal", "--prefix", "none"])
            .args(["--format", "{p}", "--package", package])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
        let listing = String::from_utf8(output.stdout).expect("crates have names in ASCII");
        listing.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    }

    /// Asserts that `package` depends on `present`, so that an empty listing fails, and on nothing that begins with one of
    /// `absent`.
    fn check(package: &str, present: &str, absent: &[&str]) {
        let closure = closure(package);
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
}
