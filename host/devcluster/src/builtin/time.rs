//! Times, parsed like Go and formatted like the API server.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// `metav1.Time`: no fraction.
    Seconds,
    /// `metav1.MicroTime`: exactly six digits.
    Micros,
}

/// RFC 3339 as Go reads it, with any fraction of a second.
static SECONDS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\.\d+)?"));
static MICROS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\.\d{6}"));

fn pattern(fraction: &str) -> Option<Regex> {
    let date = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])";
    let time = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d";
    Regex::new(&format!(r"^(?-u:{date}T{time}{fraction}(Z|[+-]\d\d:\d\d))$")).ok()
}

/// Returns the text as the server renders it; `None` for Go's zero time, which is rendered as
/// nothing.
///
/// # Errors
///
/// The text is not a time of RFC 3339, or not one with six digits of a second if these are needed.
pub(super) fn normalise(text: &str, precision: Precision) -> Result<Option<String>, String> {
    let pattern = if precision == Precision::Seconds { &SECONDS } else { &MICROS };
    let is_time = pattern.as_ref().is_some_and(|pattern| pattern.is_match(text));
    let parsed = text.parse::<Timestamp>().ok().filter(|_| is_time);
    let time = parsed.ok_or_else(|| format!("parsing time {text:?}: it is not in the form of {}", precision.example()))?;
    if text.starts_with("0001-01-01T00:00:00") && text.ends_with('Z') {
        return Ok(None);
    }
    Ok(Some(match precision {
        Precision::Seconds => format!("{:.0}", whole_seconds(time)),
        Precision::Micros => format!("{time:.6}"),
    }))
}

impl Precision {
    fn example(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z",
            Self::Micros => "2006-01-02T15:04:05.000000Z",
        }
    }
}

/// Go drops fractions of a second, also before 1970.
fn whole_seconds(time: Timestamp) -> Timestamp {
    let second = time.as_second() - i64::from(time.subsec_nanosecond() < 0);
    Timestamp::from_second(second).unwrap_or(time)
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
    fn other_texts_are_no_times() {
        for text in [
            "x",
            "2024-01-01",
            "2024-13-01T00:00:00Z",
            "2024-02-30T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01t00:00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00+0200",
            "2024-01-01T00:00:00Zx",
        ] {
            assert!(normalise(text, Precision::Seconds).is_err(), "{text}");
        }
        let error = normalise("2024-01-01T00:00:00Z", Precision::Micros).unwrap_err();
        assert_eq!(error, r#"parsing time "2024-01-01T00:00:00Z": it is not in the form of 2006-01-02T15:04:05.000000Z"#);
    }
}
