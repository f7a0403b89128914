//! Amounts of bytes and time, in the notations of Kubernetes and Go.

use std::fmt;
use std::time::Duration;

use gyre_core::quantity::Quantity;

const BYTES: [(&str, u64); 5] = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("Ti", 1 << 40), ("Pi", 1 << 50)];

/// The nanoseconds of each unit of durations. Longer suffixes come first.
const NANOSECONDS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Bytes in the notation of Kubernetes' quantities: `64Mi`, `1.5Gi`, `200k`, `4096`.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    Quantity::parse(text).ok()?.whole().and_then(|bytes| u64::try_from(bytes).ok())
}

/// A duration in Go's notation: `500ms`, `2s`, `1m30s`. kube's `Duration` may panic.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut nanoseconds: u64 = 0;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|character: char| !is_decimal(character))?);
        let (unit, after) = after.split_at(after.find(is_decimal).unwrap_or(after.len()));
        let (_, worth) = NANOSECONDS.iter().find(|(known, _)| *known == unit)?;
        nanoseconds = nanoseconds.checked_add(decimal(number, *worth)?)?;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::from_nanos(nanoseconds))
}

fn is_decimal(character: char) -> bool {
    character.is_ascii_digit() || character == '.'
}

/// A decimal number of units, or `None` if the result is not a whole number.
fn decimal(text: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 9 || text.ends_with('.') {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let scaled = digits.checked_mul(u128::from(unit))?;
    (scaled % scale == 0).then(|| u64::try_from(scaled / scale).ok())?
}

/// Bytes in the notation of Kubernetes, with the largest power of 1024 that divides them.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = BYTES.iter().rev().find(|(_, unit)| self.0.is_multiple_of(*unit));
        match unit {
            Some((suffix, unit)) if self.0 > 0 => write!(formatter, "{}{suffix}", self.0 / unit),
            _ => write!(formatter, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_kubernetes_writes_them() {
        for (text, expected) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("64Mi", Some(64 << 20)),
            ("1.5Gi", Some(3 << 29)),
            ("0.5Ki", Some(512)),
            ("200k", Some(200_000)),
            ("16P", Some(16_000_000_000_000_000)),
            ("", None),
            ("Mi", Some(0)),
            ("64MB", None),
            ("64 Mi", None),
            ("-1", None),
            (".5Gi", Some(1 << 29)),
            ("1e3", Some(1000)),
            ("2000m", Some(2)),
            ("0.3", None),
            ("64mi", None),
            ("99999999999999999999", None),
            // Binary suffixes end here, like in Kubernetes.
            ("99999999999999999Pi", Some(i64::MAX as u64)),
        ] {
            assert_eq!(parse_bytes(text), expected, "{text:?}");
        }
    }

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, expected) in [
            ("500ms", Some(Duration::from_millis(500))),
            ("2s", Some(Duration::from_secs(2))),
            ("1m30s", Some(Duration::from_secs(90))),
            ("1.5h", Some(Duration::from_secs(5400))),
            ("0s", Some(Duration::ZERO)),
            ("", None),
            ("2", None),
            ("s", None),
            ("2 s", None),
            ("2sec", None),
            ("-2s", None),
            ("1s2", None),
            ("999999999h", None),
        ] {
            assert_eq!(parse_duration(text), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_are_written_as_they_are_read() {
        for text in ["0", "1", "512", "1Ki", "1536", "64Mi", "3Gi", "1025"] {
            assert_eq!(Bytes(parse_bytes(text).unwrap_or_default()).to_string(), text);
        }
    }
}
