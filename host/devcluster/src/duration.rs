//! Durations as Go writes them: `1h30m`, `1.5s`.

use jiff::SignedDuration;

/// Reads a duration as Go's `time.ParseDuration` does; `None` if the text is not one.
pub(crate) fn parse(text: &str) -> Option<SignedDuration> {
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    while !rest.is_empty() {
        let (number, tail) = rest.split_at(rest.find(|letter| !is_of_number(letter))?);
        let (unit, tail) = tail.split_at(tail.find(is_of_number).unwrap_or(tail.len()));
        let nanoseconds = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        total = total.checked_add(scaled(number, nanoseconds)?)?;
        rest = tail;
    }
    let signed = if is_negative { -total } else { total };
    i64::try_from(signed).ok().map(SignedDuration::from_nanos)
}

/// Returns `number` of a unit in nanoseconds; further digits do not count.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
    let fraction = fraction.get(..fraction.len().min(15))?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    digits(whole)?.checked_mul(unit)?.checked_add(digits(fraction)?.checked_mul(unit)? / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let nanos = |text: &str| parse(text).map(|duration| duration.as_nanos());
        assert_eq!(nanos("1h30m"), Some(5_400_000_000_000));
        assert_eq!(nanos("1.5s"), Some(1_500_000_000));
        assert_eq!(nanos(".5s"), Some(500_000_000));
        assert_eq!(nanos("-2ms"), Some(-2_000_000));
        assert_eq!(nanos("0"), Some(0));
        for text in ["", "-", "5", "5x", "s", ".s", "1.2.3s", "1h 2m", "9999999999h"] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
