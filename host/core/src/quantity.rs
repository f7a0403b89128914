//! `resource.Quantity`: amounts such as `100m` and `1Gi`, as the API server renders them.
//!
//! As in apimachinery, `1e3` and `+1` are kept, and `1000m` is rendered as `1`.

use std::cmp::Ordering;

const FORMAT: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMBER: &str = "unable to parse numeric part of quantity";
const SUFFIX: &str = "unable to parse quantity's suffix";

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const NANO: i32 = -9;
/// Longer texts and larger exponents are refused, because they cost too much.
const LONGEST: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// An amount: `digits` × 10^`exponent`.
#[derive(Clone, Debug)]
pub struct Quantity {
    negative: bool,
    /// The most significant digit first, without leading zeros; empty for zero.
    digits: Vec<u8>,
    exponent: i32,
    format: Format,
    text: Option<String>,
}

impl Quantity {
    /// Reads a quantity.
    ///
    /// # Errors
    ///
    /// The message of the API server.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST {
            return Err(FORMAT);
        }
        let parts = Parts::of(text)?;
        let (format, exponent, shift) = interpret(parts.suffix)?;
        let mut digits: Vec<u8> =
            parts.whole.bytes().chain(parts.fraction.bytes()).map(|digit| digit.wrapping_sub(b'0')).collect();
        if digits.is_empty() {
            return Err(NUMBER);
        }
        let kept = is_kept(&parts, &digits, format, exponent, shift);
        strip_leading_zeros(&mut digits);
        for _ in 0..shift {
            double(&mut digits);
        }
        let fraction = i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
        let mut quantity = Self {
            negative: parts.negative,
            digits,
            exponent: exponent.saturating_sub(fraction),
            format,
            text: (text == "0" || kept).then(|| text.to_owned()),
        };
        quantity.round_up_to(NANO);
        if format == Format::Binary {
            quantity.cap();
        }
        Ok(quantity)
    }

    /// Rounds up to thousandths, as the API server does in resource lists.
    pub fn round_up_to_milli(&mut self) {
        if self.exponent < -3 {
            self.text = None;
            self.round_up_to(-3);
        }
    }

    /// Returns whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        self.negative && !self.digits.is_empty()
    }

    /// Returns whether it has no fraction.
    pub fn is_whole(&self) -> bool {
        let mut digits = self.digits.iter().rev();
        self.exponent >= 0 || digits.by_ref().take(self.exponent.unsigned_abs() as usize).all(|digit| *digit == 0)
    }

    /// The canonical text.
    pub fn canonical(&self) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        if self.format == Format::Binary
            && let Some(mut number) = self.whole_magnitude().filter(|number| *number >= 1024)
        {
            let mut times = 0;
            while number.is_multiple_of(1024) && times < BINARY.len() {
                number /= 1024;
                times += 1;
            }
            let suffix = times.checked_sub(1).and_then(|index| BINARY.get(index)).map_or("", |(suffix, _)| suffix);
            return format!("{sign}{number}{suffix}");
        }
        let mut digits = self.digits.clone();
        let mut exponent = self.exponent;
        while digits.last() == Some(&0) {
            digits.pop();
            exponent += 1;
        }
        while exponent.rem_euclid(3) != 0 {
            digits.push(0);
            exponent -= 1;
        }
        let exponential = self.format == Format::Exponent;
        while !exponential && exponent > 18 {
            digits.extend([0, 0, 0]);
            exponent -= 3;
        }
        let number: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        match DECIMAL.iter().find(|(_, of)| *of == exponent) {
            _ if exponential && exponent != 0 => format!("{sign}{number}e{exponent}"),
            Some((suffix, _)) => format!("{sign}{number}{suffix}"),
            None => format!("{sign}{number}"),
        }
    }

    /// The value, if it is whole, not negative, and fits.
    pub fn whole(&self) -> Option<u128> {
        if self.is_negative() { None } else { self.whole_magnitude() }
    }

    fn whole_magnitude(&self) -> Option<u128> {
        if !self.is_whole() {
            return None;
        }
        let zeros = usize::try_from(self.exponent.max(0)).ok()?;
        let dropped = usize::try_from(self.exponent.min(0).unsigned_abs()).ok()?;
        let kept = self.digits.len().saturating_sub(dropped);
        let digits = self.digits.iter().take(kept).copied().chain(std::iter::repeat_n(0, zeros));
        digits.into_iter().try_fold(0_u128, |number, digit| number.checked_mul(10)?.checked_add(u128::from(digit)))
    }

    fn round_up_to(&mut self, least: i32) {
        if self.digits.is_empty() {
            self.exponent = self.exponent.max(least);
        }
        let mut inexact = false;
        while self.exponent < least {
            inexact |= self.digits.pop().is_some_and(|digit| digit != 0);
            self.exponent += 1;
        }
        if inexact {
            self.text = None;
            increment(&mut self.digits);
        }
    }

    fn cap(&mut self) {
        let most = i64::MAX.unsigned_abs();
        let limit = Self {
            negative: false,
            digits: most.to_string().bytes().map(|digit| digit - b'0').collect(),
            exponent: 0,
            format: Format::Binary,
            text: None,
        };
        if self.magnitude(&limit) == Ordering::Greater {
            *self = Self { negative: self.negative, ..limit };
        }
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        let common = self.exponent.min(other.exponent);
        let aligned = |quantity: &Self| {
            let zeros = usize::try_from(quantity.exponent.saturating_sub(common)).unwrap_or_default();
            let mut digits = quantity.digits.clone();
            if !digits.is_empty() {
                digits.extend(std::iter::repeat_n(0, zeros));
            }
            digits
        };
        let (left, right) = (aligned(self), aligned(other));
        left.len().cmp(&right.len()).then_with(|| left.cmp(&right))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, &'static str> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let after = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
        let exponent = after.strip_prefix(['-', '+']).unwrap_or(after);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(FORMAT);
        }
        // A sign or a dot alone is zero, as in apimachinery.
        let whole = if whole.is_empty() { "0" } else { whole };
        Ok(Self { negative, whole, fraction, suffix })
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn interpret(suffix: &str) -> Result<(Format, i32, u32), &'static str> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Ok((Format::Decimal, *exponent, 0));
    }
    if let Some((_, shift)) = BINARY.iter().find(|(known, _)| *known == suffix) {
        return Ok((Format::Binary, 0, *shift));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).and_then(|exponent| exponent.parse::<i32>().ok());
    let exponent = exponent.filter(|exponent| usize::try_from(exponent.unsigned_abs()).is_ok_and(|size| size <= LONGEST));
    exponent.map(|exponent| (Format::Exponent, exponent, 0)).ok_or(SUFFIX)
}

/// Returns whether the text is kept: if it is short and looks canonical.
fn is_kept(parts: &Parts<'_>, digits: &[u8], format: Format, exponent: i32, shift: u32) -> bool {
    // Leading zeros do not count, nor does a zero before the fraction, as in apimachinery.
    let whole = parts.whole.trim_start_matches('0').len().max(1);
    let length = whole + parts.fraction.len();
    match format {
        Format::Binary => {
            let number = digits.iter().try_fold(0_u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(*digit)));
            let room = 15_i64 - i64::try_from(length).unwrap_or(i64::MAX) - i64::from(shift) * 3 / 10 - 1;
            parts.fraction.is_empty() && room >= 0 && number.is_some_and(|number| number & 7 != 0)
        }
        Format::Decimal | Format::Exponent => {
            let scale = exponent - i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
            let first = if parts.whole.trim_start_matches('0').is_empty() { Some(b'0') } else { Some(b'1') };
            length <= 18 && scale >= NANO && scale % 3 == 0 && !digits.ends_with(&[0, 0, 0]) && first != Some(b'0')
        }
    }
}

fn strip_leading_zeros(digits: &mut Vec<u8>) {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..zeros);
}

fn double(digits: &mut Vec<u8>) {
    let mut carry = 0;
    for digit in digits.iter_mut().rev() {
        let doubled = *digit * 2 + carry;
        *digit = doubled % 10;
        carry = doubled / 10;
    }
    if carry > 0 {
        digits.insert(0, carry);
    }
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// A quantity and its value in units of 10^-12.
    fn amounts() -> impl Strategy<Value = (String, i128)> {
        let decimal = select(DECIMAL.as_slice()).prop_filter("fits", |(_, exponent)| (-3..=9).contains(exponent));
        let decimal = decimal.prop_map(|(suffix, exponent)| (suffix.to_owned(), 10_i128.pow((exponent + 6) as u32)));
        let exponent = (-3_i32..=9).prop_map(|exponent| (format!("e{exponent}"), 10_i128.pow((exponent + 6) as u32)));
        let binary = select(BINARY.as_slice()).prop_filter("fits", |(_, shift)| *shift <= 30);
        let binary = binary.prop_map(|(suffix, shift)| (suffix.to_owned(), 1_000_000 << shift));
        let number = (any::<bool>(), 0_u32..40, 0_u32..4, any::<bool>());
        (number, prop_oneof![decimal, exponent, binary]).prop_map(|((negative, whole, quarters, zeros), (suffix, unit))| {
            let sign = if negative { "-" } else { "" };
            let zeros = if zeros { "00" } else { "" };
            let hundredths = quarters * 25;
            let worth = i128::from(whole * 100 + hundredths) * 10_000 * unit;
            (format!("{sign}{zeros}{whole}.{hundredths:02}{zeros}{suffix}"), if negative { -worth } else { worth })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn quantities_compare_as_what_they_amount_to((left, left_worth) in amounts(), (right, right_worth) in amounts()) {
            let compared = Quantity::parse(&left).unwrap().cmp(&Quantity::parse(&right).unwrap());
            prop_assert_eq!(compared, left_worth.cmp(&right_worth), "{} {}", left, right);
        }

        #[test]
        fn a_rendered_quantity_has_the_same_value((text, _) in amounts()) {
            let quantity = Quantity::parse(&text).unwrap();
            prop_assert_eq!(Quantity::parse(&quantity.canonical()).unwrap(), quantity, "{}", text);
        }

        #[test]
        fn any_text_is_a_quantity_or_refused(text in "[-+0-9.eEinumkKMGTPx ]{0,12}") {
            let _ = Quantity::parse(&text).map(|quantity| quantity.canonical());
        }
    }

    /// The rendering of a real API server: of a plain quantity, and in a resource list.
    const RENDERED: &[(&str, &str)] = &[
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("0.1m", "1m"),
        ("1.5", "1500m"),
        ("1e3", "1e3"),
        ("1.5Gi", "1536Mi"),
        ("100Ki", "100Ki"),
        ("+1", "+1"),
        ("0.5", "500m"),
        ("1E", "1E"),
        ("1E3", "1E3"),
        ("1000000", "1M"),
        ("1.0001Ki", "1024103m"),
        ("9999999999999999999999", "9999999999999999999999"),
        ("0", "0"),
        (" 1 ", "1"),
        ("1000Ki", "1000Ki"),
        ("0.5Gi", "512Mi"),
        ("1500m", "1500m"),
        (".5", "500m"),
        ("5.", "5."),
        ("1e-3", "1e-3"),
        ("12e6", "12e6"),
        ("1e+3", "1e+3"),
        ("0m", "0"),
        ("000", "0"),
        ("1k", "1k"),
        ("123456789n", "124m"),
        ("1000k", "1M"),
    ];

    #[test]
    fn quantities_are_rendered_as_a_real_server_does() {
        for (text, expected) in RENDERED {
            let mut quantity = Quantity::parse(text).unwrap();
            quantity.round_up_to_milli();
            assert_eq!(quantity.canonical(), *expected, "{text}");
        }
    }

    #[test]
    fn rendering_is_idempotent() {
        for (text, _) in RENDERED {
            let once = Quantity::parse(text).unwrap().canonical();
            assert_eq!(Quantity::parse(&once).unwrap().canonical(), once, "{text}");
        }
    }

    #[test]
    fn errors_about_quantities_are_those_of_a_real_server() {
        for (text, error) in
            [("", FORMAT), ("x", FORMAT), ("1x", FORMAT), ("1 2", FORMAT), ("1e", SUFFIX), ("1K", SUFFIX), ("1mm", SUFFIX)]
        {
            assert_eq!(Quantity::parse(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn quantities_are_ordered_by_what_they_amount_to() {
        let order = ["-1Gi", "-1", "0", "1n", "999m", "1", "1023", "1Ki", "1M", "1Mi", "1e18", "8Ei"];
        for pair in order.windows(2) {
            let [less, more] = pair else { continue };
            assert!(Quantity::parse(less).unwrap() < Quantity::parse(more).unwrap(), "{less} {more}");
        }
        assert_eq!(Quantity::parse("1000m").unwrap(), Quantity::parse("1").unwrap());
    }
}
