//! Formats times. [`Cluster::now`](crate::Cluster::now) returns the current time.

use std::time::{SystemTime, UNIX_EPOCH};

/// 0000-01-01T00:00:00Z, in seconds since the epoch.
const FIRST: i64 = -62_167_219_200;

/// 9999-12-31T23:59:59Z.
const LAST: i64 = 253_402_300_799;

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// The days of 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 400 * 365 + 97;

/// The days from 0000-03-01 to 1970-01-01. Years that begin in March end with the leap day.
const DAYS_BEFORE_EPOCH: i64 = 719_468;

/// Formats a time in RFC 3339, in UTC and to the second, as in `metadata.creationTimestamp`. Times
/// before the year 0000 or after 9999 become the first or last second of that range, because RFC
/// 3339 has years of four digits.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let time = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
/// assert_eq!(gyre_sdk::clock::rfc3339(time), "2026-01-01T00:00:00Z");
/// ```
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = since_epoch(time).clamp(FIRST, LAST);
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
    let second_of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let mut text = String::with_capacity("0000-00-00T00:00:00Z".len());
    push_two_digits(&mut text, year / 100);
    for (number, end) in [
        (year % 100, '-'),
        (month, '-'),
        (day, 'T'),
        (second_of_day / 3600, ':'),
        (second_of_day / 60 % 60, ':'),
        (second_of_day % 60, 'Z'),
    ] {
        push_two_digits(&mut text, number);
        text.push(end);
    }
    text
}

fn since_epoch(time: SystemTime) -> i64 {
    let whole = |seconds| i64::try_from(seconds).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => whole(after.as_secs()),
        Err(error) => {
            let before = error.duration();
            (-whole(before.as_secs())).saturating_sub(i64::from(before.subsec_nanos() > 0))
        }
    }
}

/// Converts days since the epoch to year, month and day of the Gregorian calendar, from the year 0.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE_EPOCH;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    // Every 4th year has one day more, except every 100th, except every 400th.
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / (DAYS_PER_ERA - 1)) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // March to July have 31, 30, 31, 30 and 31 days: 153. So have August to December.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (400 * era + year_of_era + i64::from(month <= 2), month, day)
}

fn push_two_digits(text: &mut String, number: i64) {
    for digit in [number / 10 % 10, number % 10] {
        text.push(char::from(b'0' + digit as u8));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> SystemTime {
        let distance = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }

    #[track_caller]
    fn check(seconds: i64, expected: &str) {
        assert_eq!(rfc3339(at(seconds)), expected);
    }

    #[test]
    fn times_are_those_of_the_gregorian_calendar() {
        check(0, "1970-01-01T00:00:00Z");
        check(-1, "1969-12-31T23:59:59Z");
        check(951_782_399, "2000-02-28T23:59:59Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(951_868_800, "2000-03-01T00:00:00Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
        check(4_107_542_399, "2100-02-28T23:59:59Z");
        check(FIRST, "0000-01-01T00:00:00Z");
        check(LAST, "9999-12-31T23:59:59Z");
    }

    #[test]
    fn times_outside_the_years_0_to_9999_are_clamped() {
        check(FIRST - 1, "0000-01-01T00:00:00Z");
        check(LAST + 1, "9999-12-31T23:59:59Z");
        check(i64::MAX, "9999-12-31T23:59:59Z");
        check(-i64::MAX, "0000-01-01T00:00:00Z");
    }

    #[test]
    fn fractions_are_cut_off_toward_the_past() {
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_millis(1999)), "1970-01-01T00:00:01Z");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_millis(1)), "1969-12-31T23:59:59Z");
    }

    proptest! {
        #[test]
        fn a_formatted_time_parses_to_the_same_second(seconds in FIRST..=LAST, nanoseconds in 0..1_000_000_000_u64) {
            let text = rfc3339(at(seconds) + Duration::from_nanos(nanoseconds));
            prop_assert_eq!(text.parse::<Timestamp>().unwrap().as_second(), seconds);
        }
    }
}
