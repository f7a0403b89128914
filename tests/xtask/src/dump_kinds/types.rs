//! The properties that only the Go types have, from a Go program that uses them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use gyre_controlplane::tools;
use serde_json::{Map, Value, json};

/// Runs `tests/controlplane/kinds`, and returns the content of each file, by its name.
pub(super) fn describe(kinds: &BTreeSet<(String, String, String)>, documents: &[String]) -> anyhow::Result<Map<String, Value>> {
    let mut schemas = Map::new();
    for document in documents {
        let mut document: Value = serde_json::from_str(document)?;
        let found = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
        schemas.append(found.context("an OpenAPI document has no schemas")?);
    }
    let kind = |(group, version, kind): &(String, String, String)| json!({ "group": group, "version": version, "kind": kind });
    let input = json!({ "kinds": kinds.iter().map(kind).collect::<Vec<_>>(), "schemas": schemas });
    let mut command = tools::go_in_module();
    command.args(["run", "./kinds"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run `go`")?;
    child.stdin.take().context("`go` has no standard input")?.write_all(input.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "`go run ./kinds` failed ({})", output.status);
    serde_json::from_slice(&output.stdout).context("`go run ./kinds` printed no JSON")
}
