//! The answers of Go programs in `tests/controlplane`: they use the API server's own types, and the
//! standard library of its language.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use gyre_controlplane::tools;
use serde_json::{Map, Value, json};

/// Returns the properties that only the Go types have: the content of each file, by its name.
pub(super) fn describe_types(
    kinds: &BTreeSet<(String, String, String)>,
    documents: &[String],
) -> anyhow::Result<Map<String, Value>> {
    let mut schemas = Map::new();
    for document in documents {
        let mut document: Value = serde_json::from_str(document)?;
        let found = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
        schemas.append(found.context("an OpenAPI document has no schemas")?);
    }
    let kind = |(group, version, kind): &(String, String, String)| json!({ "group": group, "version": version, "kind": kind });
    let input = json!({ "kinds": kinds.iter().map(kind).collect::<Vec<_>>(), "schemas": schemas });
    let output = run("kinds", &input.to_string())?;
    serde_json::from_slice(&output).context("`go run ./kinds` printed no JSON")
}

/// Returns `cases` with the answers of Go's `regexp`.
pub(super) fn match_patterns(cases: &str) -> anyhow::Result<Vec<u8>> {
    run("patterns", cases)
}

/// Runs a program of `tests/controlplane`, and returns its output.
fn run(program: &str, input: &str) -> anyhow::Result<Vec<u8>> {
    let mut command = tools::go_in_module();
    command.args(["run", &format!("./{program}")]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run `go`")?;
    child.stdin.take().context("`go` has no standard input")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "`go run ./{program}` failed ({})", output.status);
    Ok(output.stdout)
}
