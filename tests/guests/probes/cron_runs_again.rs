//! A CronJob whose Job runs again after its TTL: see `gyre_guests::cron`.

gyre_guests::cron!(CronRunsAgain, RunsAgain);
