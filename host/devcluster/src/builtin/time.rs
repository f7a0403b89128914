//! Times, parsed like Go and formatted like the API server.

use jiff::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// `metav1.Time`: no fraction.
    Seconds,
    /// `metav1.MicroTime`: exactly six digits.
    Micros,
}

impl Precision {
    const fn layout(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// Returns the text as the server formats it, or `None` for Go's zero time, which it omits. Fails
/// with Go's error.
pub(super) fn normalise(text: &str, precision: Precision) -> Result<Option<String>, String> {
    check(text, precision)?;
    if text.starts_with("0001-01-01T00:00:00") && text.ends_with('Z') {
        return Ok(None);
    }
    let time: Timestamp = text.parse().map_err(|_| format!("parsing time {text:?}: day out of range"))?;
    Ok(Some(match precision {
        Precision::Seconds => format!("{:.0}", time.round_down()),
        Precision::Micros => format!("{time:.6}"),
    }))
}

/// Rounds to whole seconds towards the past, like Go, also before 1970.
trait RoundDown {
    fn round_down(self) -> Self;
}

impl RoundDown for Timestamp {
    fn round_down(self) -> Self {
        let fraction = self.subsec_nanosecond();
        let second = if fraction < 0 { self.as_second() - 1 } else { self.as_second() };
        Timestamp::from_second(second).unwrap_or(self)
    }
}

/// Follows the layout like Go, to return the same error.
fn check(text: &str, precision: Precision) -> Result<(), String> {
    let stumble = |rest: &str, element: &str| {
        format!("parsing time {text:?} as {:?}: cannot parse {rest:?} as {element:?}", precision.layout())
    };
    let out_of_range = |what: &str| format!("parsing time {text:?}: {what} out of range");
    let mut rest = text;
    let elements: [(&str, usize, &str, std::ops::RangeInclusive<u32>); 6] = [
        ("2006", 4, "-", 0..=9999),
        ("01", 2, "-", 1..=12),
        ("02", 2, "T", 1..=31),
        ("15", 2, ":", 0..=23),
        ("04", 2, ":", 0..=59),
        ("05", 2, "", 0..=59),
    ];
    let names = ["year", "month", "day", "hour", "minute", "second"];
    for ((element, length, separator, range), name) in elements.into_iter().zip(names) {
        let number = rest.get(..length).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
        let Some(number) = number.and_then(|digits| digits.parse::<u32>().ok()) else { return Err(stumble(rest, element)) };
        if !range.contains(&number) {
            return Err(out_of_range(name));
        }
        rest = rest.get(length..).unwrap_or_default();
        rest = rest.strip_prefix(separator).ok_or_else(|| stumble(rest, separator))?;
    }
    let fraction = rest.strip_prefix('.').map(|digits| digits.bytes().take_while(u8::is_ascii_digit).count());
    match (precision, fraction) {
        (Precision::Micros, Some(6)) | (Precision::Seconds, Some(1..)) => {
            rest = rest.get(1 + fraction.unwrap_or_default()..).unwrap_or_default();
        }
        (Precision::Micros, _) => return Err(stumble(rest, ".000000")),
        (Precision::Seconds, _) => {}
    }
    let zone = if let Some(after) = rest.strip_prefix('Z') {
        after
    } else {
        let bytes = rest.as_bytes();
        let shaped =
            matches!(bytes, [b'+' | b'-', a, b, b':', c, d, ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()));
        if !shaped {
            return Err(stumble(rest, "Z07:00"));
        }
        rest.get(6..).unwrap_or_default()
    };
    if zone.is_empty() { Ok(()) } else { Err(format!("parsing time {text:?}: extra text: {zone:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rendered_in_utc_with_their_precision() {
        let table = [
            ("2024-02-29T12:00:00Z", Precision::Seconds, "2024-02-29T12:00:00Z"),
            ("2024-02-29T12:00:00.999Z", Precision::Seconds, "2024-02-29T12:00:00Z"),
            ("2024-02-29T12:00:00+02:00", Precision::Seconds, "2024-02-29T10:00:00Z"),
            ("1969-12-31T23:59:59.5Z", Precision::Seconds, "1969-12-31T23:59:59Z"),
            ("2024-02-29T12:00:00.123456Z", Precision::Micros, "2024-02-29T12:00:00.123456Z"),
            ("2024-02-29T12:00:00.000000+00:30", Precision::Micros, "2024-02-29T11:30:00.000000Z"),
        ];
        for (text, precision, expected) in table {
            assert_eq!(normalise(text, precision), Ok(Some(expected.to_owned())), "{text}");
        }
        assert_eq!(normalise("0001-01-01T00:00:00Z", Precision::Seconds), Ok(None));
    }

    #[test]
    fn errors_about_times_are_worded_like_those_of_go() {
        let seconds = |text: &str| normalise(text, Precision::Seconds).err().unwrap_or_default();
        assert_eq!(seconds("x"), r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#);
        assert_eq!(seconds("2024-13-01T00:00:00Z"), r#"parsing time "2024-13-01T00:00:00Z": month out of range"#);
        assert_eq!(
            seconds("2024-01-01"),
            r#"parsing time "2024-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#
        );
        assert!(normalise("2024-01-01T00:00:00Z", Precision::Micros).is_err());
    }
}
