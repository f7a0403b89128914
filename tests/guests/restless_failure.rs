//! Fails with a different message each time, which must not count as a change of the parent.

use std::time::{SystemTime, UNIX_EPOCH};

use gyre_sdk::Failure;

gyre_guests::guest!(RestlessFailure, || {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Err(Failure::transient(format_args!("not at {now:?}")))
});
