//! Has the time in a condition, and requests a requeue after a millisecond.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gyre_sdk::{Condition, Plan};

gyre_guests::guest!(RestlessClock, || {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let condition = Condition::new("Ticking", true, "Ticks", format!("{now:?}"));
    Ok(Plan::no_children().condition(condition).requeue_after(Duration::from_millis(1)))
});
