//! A CronJob that loses a run if it is not called when the run is due: see `gyre_guests::cron`.

gyre_guests::cron!(CronLosesRuns, LosesRuns);
