//! Sleeps for an hour in the host, where no epoch ends the call.

use std::time::Duration;

use gyre_sdk::Plan;

gyre_guests::guest!(Sleeper, || {
    std::thread::sleep(Duration::from_secs(60 * 60));
    Ok(Plan::no_children())
});
