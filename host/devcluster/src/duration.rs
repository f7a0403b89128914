//! Durations as Go writes them: `1h30m`, `1.5s`.

use jiff::SignedDuration;

/// Parses a duration like Go's `time.ParseDuration`, with its messages.
pub(crate) fn parse(text: &str) -> Result<SignedDuration, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.').len();
        let (number, tail) = rest.split_at(digits);
        if number.is_empty() || number == "." || number.matches('.').count() > 1 {
            return Err(invalid());
        }
        let letters = tail.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let nanoseconds: i128 = match unit {
            "" => return Err(format!("time: missing unit in duration {text:?}")),
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
        };
        total = total.checked_add(scaled(number, nanoseconds).ok_or_else(invalid)?).ok_or_else(invalid)?;
        rest = tail;
    }
    let signed = if negative { -total } else { total };
    i64::try_from(signed).map(SignedDuration::from_nanos).map_err(|_| invalid())
}

/// Returns `number` of a unit in nanoseconds, rounded down.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = fraction.get(..fraction.len().min(15))?;
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    whole.checked_mul(unit)?.checked_add(part.checked_mul(unit)? / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let nanos = |text: &str| parse(text).map(|duration| duration.as_nanos());
        assert_eq!(nanos("1h30m"), Ok(5_400_000_000_000));
        assert_eq!(nanos("1.5s"), Ok(1_500_000_000));
        assert_eq!(nanos("-2ms"), Ok(-2_000_000));
        assert_eq!(nanos("0"), Ok(0));
        assert_eq!(nanos("5"), Err("time: missing unit in duration \"5\"".to_owned()));
        assert_eq!(nanos("5x"), Err("time: unknown unit \"x\" in duration \"5x\"".to_owned()));
        assert_eq!(nanos(""), Err("time: invalid duration \"\"".to_owned()));
        assert_eq!(nanos("9999999999h"), Err("time: invalid duration \"9999999999h\"".to_owned()));
    }
}
