//! Formats and parses times. [`Cluster::now`](crate::Cluster::now) returns the current time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// Parses a time in RFC 3339, such as `metadata.creationTimestamp`, with any offset. Digits after
/// the ninth of a fraction are cut off. Returns `None` if it is not such a time.
///
/// ```
/// use gyre_sdk::clock;
///
/// let time = clock::parse_rfc3339("2026-01-01T01:00:00+01:00").unwrap();
/// assert_eq!(clock::rfc3339(time), "2026-01-01T00:00:00Z");
/// assert_eq!(clock::parse_rfc3339("2026-01-01"), None);
/// ```
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (year, text) = number(text, 4)?;
    let (month, text) = number(text.strip_prefix('-')?, 2)?;
    let (day, text) = number(text.strip_prefix('-')?, 2)?;
    let (hour, text) = number(text.strip_prefix(['T', 't', ' '])?, 2)?;
    let (minute, text) = number(text.strip_prefix(':')?, 2)?;
    let (second, text) = number(text.strip_prefix(':')?, 2)?;
    let (nanoseconds, text) = fraction(text)?;
    let days = days_since_epoch(year, month, day);
    // 60: a leap second, which is the first second of the next minute.
    let is_time = hour < 24 && minute < 60 && second <= 60;
    if !is_time || civil(days) != (year, month, day) {
        return None;
    }
    let seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset(text)?;
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let whole = if seconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    whole?.checked_add(Duration::from_nanos(nanoseconds))
}

/// Reads this many digits.
fn number(text: &str, digits: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
    Some((is_number.then(|| number.parse().ok())??, rest))
}

/// Reads the fraction of a second, if there is one, in nanoseconds.
fn fraction(text: &str) -> Option<(u64, &str)> {
    let Some(text) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())?;
    let nanoseconds = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
    Some((nanoseconds.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')), rest))
}

/// Reads an offset from UTC, in seconds.
fn offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, text) = text.strip_prefix('+').map(|text| (1, text)).or_else(|| Some((-1, text.strip_prefix('-')?)))?;
    let (hours, text) = number(text, 2)?;
    let (minutes, text) = number(text.strip_prefix(':')?, 2)?;
    (hours < 24 && minutes < 60 && text.is_empty()).then_some(sign * (hours * 3600 + minutes * 60))
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

/// Converts a date of the Gregorian calendar, from the year 0, to days since the epoch. The inverse
/// of [`civil`]; the result for a date that does not exist is that of another date.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9).rem_euclid(12);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * DAYS_PER_ERA + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year - DAYS_BEFORE_EPOCH
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

    #[test]
    fn texts_that_are_no_times_are_refused() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00ZZ",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:0é",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn fractions_and_offsets_are_read() {
        let check = |text: &str, seconds: i64, nanoseconds: u64| {
            assert_eq!(parse_rfc3339(text), Some(at(seconds) + Duration::from_nanos(nanoseconds)), "{text}");
        };
        check("1970-01-01T00:00:01.5Z", 1, 500_000_000);
        check("1970-01-01t00:00:01.1234567899z", 1, 123_456_789);
        check("1970-01-01 01:30:00+01:30", 0, 0);
        check("1969-12-31T23:00:00-01:00", 0, 0);
        check("1969-12-31T23:59:59.25Z", -1, 250_000_000);
        check("2016-12-31T23:59:60Z", 1_483_228_800, 0);
    }

    proptest! {
        #[test]
        fn a_time_is_parsed_as_by_jiff(seconds in FIRST..=LAST, offset in -86_399_i64..86_400) {
            let minutes = offset / 60;
            let local = rfc3339(at((seconds + minutes * 60).clamp(FIRST, LAST)));
            let sign = if minutes < 0 { '-' } else { '+' };
            let text = local.replace('Z', &format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60));
            let Ok(expected) = text.parse::<Timestamp>() else { return Ok(()) };
            prop_assert_eq!(parse_rfc3339(&text), Some(at(expected.as_second())));
        }

        #[test]
        fn a_formatted_time_parses_to_the_same_second(seconds in FIRST..=LAST, nanoseconds in 0..1_000_000_000_u64) {
            let text = rfc3339(at(seconds) + Duration::from_nanos(nanoseconds));
            prop_assert_eq!(text.parse::<Timestamp>().unwrap().as_second(), seconds);
        }
    }
}
