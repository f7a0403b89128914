//! A CronJob whose status counts a run before its Job is accepted: see `gyre_guests::cron`.

gyre_guests::cron!(CronClaimsRefused, ClaimsRefused);
