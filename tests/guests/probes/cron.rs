//! A CronJob: see `gyre_guests::cron`.

gyre_guests::cron!(Cron, None);
