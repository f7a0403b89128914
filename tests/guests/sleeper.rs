//! Sleeps for an hour inside the host, where epochs do not reach, before it answers.

use std::time::Duration;

use gyre_sdk::Response;

gyre_guests::guest!(Sleeper, || {
    std::thread::sleep(Duration::from_secs(60 * 60));
    Ok(Response::children())
});
