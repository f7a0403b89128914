//! Schedules in the syntax of cron.

use std::fmt;

use cronexpr::Crontab;
use gyre_sdk::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Four years and a day: a schedule for the 29th of February has a run in it, unless the year is
/// the last of a century.
const LONGEST_GAP_DAYS: i64 = 8 * 366;

/// A schedule in a time zone.
pub(crate) struct Schedule(Crontab);

/// A schedule or a time zone that cannot be read.
#[derive(Debug)]
pub(crate) struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Schedule {
    pub(crate) fn parse(schedule: &str, zone: Option<&str>) -> Result<Self, Error> {
        let name = zone.unwrap_or("UTC");
        TimeZone::get(name).map_err(|error| Error(format!("time zone {name}: {error}")))?;
        let crontab = cronexpr::parse_crontab(&format!("{schedule} {name}"));
        crontab.map(Self).map_err(|error| Error(error.to_string()))
    }

    /// Returns the first run after a time.
    pub(crate) fn after(&self, time: Time) -> Option<Time> {
        let next = self.0.find_next(Timestamp::from_second(time.unix()).ok()?).ok()?;
        Some(Time::from_unix(next.timestamp().as_second()))
    }

    /// Returns the last run until a time, by halving the span in which it is.
    pub(crate) fn before(&self, time: Time) -> Option<Time> {
        let end = time.unix();
        let mut early = end - LONGEST_GAP_DAYS * 24 * 60 * 60;
        let mut found = None;
        let mut late = end;
        while early <= late {
            let middle = early + (late - early) / 2;
            match self.after(Time::from_unix(middle - 1)).filter(|run| run.unix() <= end) {
                Some(run) => {
                    found = Some(run);
                    early = run.unix() + 1;
                }
                None => late = middle - 1,
            }
        }
        found
    }
}
