//! Times, as Kubernetes writes them.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 0000-01-01T00:00:00Z, in seconds since the epoch.
const FIRST: i64 = -62_167_219_200;

/// 9999-12-31T23:59:59Z.
const LAST: i64 = 253_402_300_799;

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// The days of 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 400 * 365 + 97;

/// The days from 0000-03-01 to 1970-01-01. Years that begin in March end with the leap day.
const DAYS_BEFORE_EPOCH: i64 = 719_468;

/// A time with its fraction of a second, in UTC. Without a fraction, it is written as in
/// `metadata.creationTimestamp`. RFC 3339 has years of four digits, so an earlier or later time is
/// written as the first or last one that has a text. The default is 1970-01-01T00:00:00Z.
///
/// ```
/// use std::time::Duration;
///
/// use gyre_sdk::Time;
///
/// let created: Time = "2026-01-01T00:00:00Z".parse().unwrap();
/// let now: Time = "2026-01-01T01:30:00+01:00".parse().unwrap();
/// assert_eq!(now - created, Duration::from_secs(30 * 60));
/// assert_eq!(created - now, Duration::ZERO);
/// assert_eq!((created + Duration::from_millis(1500)).to_string(), "2026-01-01T00:00:01.500Z");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Since the epoch, negative before it.
    seconds: i64,
    /// Less than a second, always forward.
    nanoseconds: u32,
}

/// A text that is no time in RFC 3339.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTimeError(String);

impl fmt::Display for ParseTimeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is no time in RFC 3339, such as 2026-01-01T00:00:00Z", self.0)
    }
}

impl std::error::Error for ParseTimeError {}

impl Time {
    /// Returns the time of this many seconds after 1970-01-01T00:00:00Z.
    pub const fn from_unix(seconds: i64) -> Self {
        Self { seconds, nanoseconds: 0 }
    }

    /// Returns the whole seconds since 1970-01-01T00:00:00Z.
    pub const fn unix(self) -> i64 {
        self.seconds
    }

    /// Returns the time without its fraction of a second, as Kubernetes stores most times.
    pub const fn to_second(self) -> Self {
        Self { seconds: self.seconds, nanoseconds: 0 }
    }
}

/// The duration from the second time to the first; zero if the second is later.
impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        if self < earlier {
            return Duration::ZERO;
        }
        // Without numbers of 128 bits, whose code a component would contain.
        let seconds = self.seconds.abs_diff(earlier.seconds);
        if self.nanoseconds >= earlier.nanoseconds {
            Duration::new(seconds, self.nanoseconds - earlier.nanoseconds)
        } else {
            Duration::new(seconds - 1, self.nanoseconds + 1_000_000_000 - earlier.nanoseconds)
        }
    }
}

/// A time that is too late becomes the last one.
impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let nanoseconds = self.nanoseconds + duration.subsec_nanos();
        let whole = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
        let seconds = self.seconds.saturating_add(whole).saturating_add(i64::from(nanoseconds / 1_000_000_000));
        Self { seconds, nanoseconds: nanoseconds % 1_000_000_000 }
    }
}

/// A time that is too early becomes the first one.
impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        let whole = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
        let borrowed = self.nanoseconds < duration.subsec_nanos();
        let nanoseconds = self.nanoseconds + if borrowed { 1_000_000_000 } else { 0 } - duration.subsec_nanos();
        Self { seconds: self.seconds.saturating_sub(whole).saturating_sub(i64::from(borrowed)), nanoseconds }
    }
}

/// Reads a text in RFC 3339.
impl TryFrom<&str> for Time {
    type Error = ParseTimeError;

    fn try_from(text: &str) -> Result<Self, ParseTimeError> {
        text.parse()
    }
}

impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Self {
        let epoch = Self::from_unix(0);
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => epoch + after,
            Err(before) => epoch - before.duration(),
        }
    }
}

impl From<Time> for SystemTime {
    fn from(time: Time) -> Self {
        let epoch = Time::from_unix(0);
        if time >= epoch { UNIX_EPOCH + (time - epoch) } else { UNIX_EPOCH - (epoch - time) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds.clamp(FIRST, LAST);
        let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
        let second_of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match self.nanoseconds {
            0 => formatter.write_str("Z"),
            whole if whole % 1_000_000 == 0 => write!(formatter, ".{:03}Z", whole / 1_000_000),
            whole if whole % 1_000 == 0 => write!(formatter, ".{:06}Z", whole / 1_000),
            nanoseconds => write!(formatter, ".{nanoseconds:09}Z"),
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

/// Converts year, month and day of the Gregorian calendar to days since the epoch.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_EPOCH
}

impl FromStr for Time {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        parse(text.as_bytes()).ok_or_else(|| ParseTimeError(text.to_owned()))
    }
}

/// Parses the `date-time` of RFC 3339: `2026-01-01T00:00:00.5+01:00`.
fn parse(text: &[u8]) -> Option<Time> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    };
    let is = |index: usize, letters: &[u8]| text.get(index).is_some_and(|letter| letters.contains(letter));
    let is_separated = is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":");
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    // A leap second is the second after it.
    if !is_separated || !(1..=days_of_month).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanoseconds = 0;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|digit| digit.is_ascii_digit()).count();
        let read = fraction.iter().take(digits.min(9));
        nanoseconds = read.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')) * 10_u32.pow(9 - digits.min(9) as u32);
        rest = fraction.get(digits..).filter(|_| digits > 0)?;
    }
    let offset = match rest {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] if [h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit()) => {
            let two = |tens: &u8, ones: &u8| i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
            let (hours, minutes) = (two(h1, h2), two(m1, m2));
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = hours * 3600 + minutes * 60;
            if *sign == b'+' { seconds } else { -seconds }
        }
        _ => return None,
    };
    let seconds = days(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset;
    Some(Time { seconds, nanoseconds })
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn time(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn a_time_is_read_in_every_form_of_rfc_3339() {
        let expected = time("2026-03-01T11:30:15Z");
        for text in ["2026-03-01t11:30:15z", "2026-03-01 12:30:15+01:00", "2026-02-28T23:30:15-12:00"] {
            assert_eq!(time(text), expected, "{text}");
        }
        assert_eq!(time("2026-03-01T11:30:15.25Z"), expected + Duration::from_millis(250));
        assert_eq!(time("2026-03-01T11:30:15.1234567891Z").to_string(), "2026-03-01T11:30:15.123456789Z");
        assert_eq!(time("2016-12-31T23:59:60Z"), time("2017-01-01T00:00:00Z"));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let wrong = [
            "",
            "2026",
            "2026-01-01",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00Zx",
            "２026-01-01T00:00:00Z",
        ];
        for text in wrong {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_outside_the_years_0_to_9999_are_written_as_the_first_or_last() {
        let texts = [FIRST - 1, i64::MIN, LAST + 1, i64::MAX].map(|seconds| Time::from_unix(seconds).to_string());
        assert_eq!(texts, ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"]);
    }

    proptest! {
        #[test]
        fn a_time_reads_as_it_was_written(seconds in FIRST..=LAST, nanoseconds in 0..1_000_000_000_u32) {
            let text = Timestamp::new(seconds, 0).unwrap().to_string();
            let expected = Time { seconds, nanoseconds: 0 };
            prop_assert_eq!(time(&text), expected);
            let exact = expected + Duration::from_nanos(nanoseconds.into());
            prop_assert_eq!(time(&exact.to_string()), exact);
            prop_assert_eq!(exact - Duration::from_nanos(nanoseconds.into()), expected);
            prop_assert_eq!(exact - expected, Duration::from_nanos(nanoseconds.into()));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.Z+-]{0,20}") {
            let _ = text.parse::<Time>();
        }
    }
}
