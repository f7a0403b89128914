//! The parent kind of these tests, whose spec may have any fields.

use gyre_sdk::Kind;
use serde_json::json;

pub(crate) const TOY: Kind = Kind::new("toys.gyre.dev/v1", "Toy");

pub(crate) fn definition() -> String {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.toys.gyre.dev"},
        "spec": {
            "group": "toys.gyre.dev",
            "scope": "Namespaced",
            "names": {"kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
    .to_string()
}
