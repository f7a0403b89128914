//! Wants another status each time, which is an input of its next call: without back-off it would never stop.

use std::time::{SystemTime, UNIX_EPOCH};

use gyre_sdk::Response;
use serde_json::json;

gyre_guests::guest!(RestlessStatus, || {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Response::children().status(&json!({"seen": format!("{now:?}")}))
});
