//! A sample object: an Echo as stored by an API server, of 1.5 KB.

use serde_json::{Value, json};

/// The size in bytes, without managedFields.
const SIZE: usize = 1500;

pub(crate) fn echo(number: usize) -> Value {
    let mut echo = json!({
        "apiVersion": "mmontes.io/v1alpha1",
        "kind": "Echo",
        "metadata": {
            "name": format!("echo-{number:06}"),
            "namespace": "default",
            "uid": format!("8b5c2f1e-3d4a-4c6b-9e7f-{number:012}"),
            "resourceVersion": format!("{}", 100_000 + number),
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": { "app.kubernetes.io/name": "echo", "app.kubernetes.io/instance": "sample", "team": "platform" },
            "annotations": { "example.com/note": "" },
        },
        "spec": { "message": "Hello, world" },
        "status": {
            "job": format!("echo-{number:06}"),
            "observedGeneration": 1,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "JobCreated", "observedGeneration": 1,
                "message": format!("Job echo-{number:06} runs the message"), "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    });
    let missing = SIZE.saturating_sub(echo.to_string().len());
    if let Some(note) = echo.pointer_mut("/metadata/annotations/example.com~1note") {
        *note = Value::String("lorem ipsum ".chars().cycle().take(missing).collect());
    }
    echo
}
