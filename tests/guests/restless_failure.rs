//! Fails with another message each time: if what the host writes of it counted as a change, it would never stop.

use std::time::{SystemTime, UNIX_EPOCH};

use gyre_sdk::Failure;

gyre_guests::guest!(RestlessFailure, || {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Err(Failure::transient(format_args!("not at {now:?}")))
});
