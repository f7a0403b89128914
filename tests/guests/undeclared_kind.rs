//! Returns a correct ConfigMap that its manifest does not declare.

use gyre_guests::CONFIG_MAP;
use gyre_sdk::Response;
use serde_json::json;

gyre_guests::guest!(UndeclaredKind, || Response::children().apply(&json!({
    "apiVersion": CONFIG_MAP.api_version,
    "kind": CONFIG_MAP.kind,
    "metadata": {"name": "undeclared"},
    "data": {"key": "value"},
})));
