//! Wants a different status each time, which triggers the next call: it never converges.

use std::time::{SystemTime, UNIX_EPOCH};

use gyre_sdk::Plan;
use serde_json::json;

gyre_guests::guest!(RestlessStatus, || {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Plan::no_children().status(json!({"seen": format!("{now:?}")})))
});
