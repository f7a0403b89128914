//! A CronJob that creates a Job while another one runs: see `gyre_guests::cron`.

gyre_guests::cron!(CronOverlaps, Overlaps);
