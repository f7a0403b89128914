//! `resource.Quantity`: amounts such as `100m` and `1Gi`, in the form in which the API server
//! renders them.
//!
//! As in apimachinery, a text that is canonical enough is kept as it is (`1e3`, `+1`), and others
//! are rendered again (`1000m` is `1`).

use std::cmp::Ordering;

const FORMAT: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";
/// The API server computes with any number of digits.
const DIGITS: &str = "a quantity may not have more than 38 digits";

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const NANO: i32 = -9;
/// No resource is counted in larger or smaller powers of ten, and each digit of a rendered number
/// costs memory.
const LARGEST_EXPONENT: u32 = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// An amount: `mantissa` × 10^`exponent`.
#[derive(Clone, Debug)]
pub struct Quantity {
    negative: bool,
    mantissa: u128,
    /// At least that of a billionth.
    exponent: i32,
    format: Format,
    text: Option<String>,
}

impl Quantity {
    /// Reads a quantity.
    ///
    /// # Errors
    ///
    /// The text is not a quantity, in the API server's words, or it has too many digits to compute
    /// with.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err(FORMAT);
        }
        let parts = Parts::of(text)?;
        let (format, exponent, shift) = interpret(parts.suffix)?;
        let digits: u128 = format!("{}{}", parts.whole, parts.fraction).parse().map_err(|_| DIGITS)?;
        let is_kept = text == "0" || is_kept(&parts, digits, format, exponent, shift);
        let fraction = i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
        let mut quantity = Self {
            negative: parts.negative,
            mantissa: digits.checked_mul(1 << shift).ok_or(DIGITS)?,
            exponent: exponent.saturating_sub(fraction),
            format,
            text: is_kept.then(|| text.to_owned()),
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

    /// Adds another amount. The sum has the format of the first that is not zero. If it has more
    /// digits than are computed with, the larger amount stays.
    pub fn add(&mut self, other: &Self) {
        if self.mantissa == 0 {
            self.format = other.format;
        }
        let exponent = self.exponent.min(other.exponent);
        let sum = match (self.scaled(exponent), other.scaled(exponent)) {
            (Some(left), Some(right)) if self.negative == other.negative => left.checked_add(right),
            (Some(left), Some(right)) => Some(left.abs_diff(right)),
            _ => None,
        };
        let negative = if self.magnitude(other) == Ordering::Less { other.negative } else { self.negative };
        match sum {
            Some(mantissa) => *self = Self { negative, mantissa, exponent, format: self.format, text: None },
            None if *self < *other => *self = other.clone(),
            None => {}
        }
    }

    /// Returns whether it is less than nothing.
    pub fn is_negative(&self) -> bool {
        self.negative && self.mantissa > 0
    }

    /// Returns whether it has no fraction.
    pub fn is_whole(&self) -> bool {
        self.exponent >= 0 || self.mantissa.is_multiple_of(power_of_ten(self.exponent.unsigned_abs()).unwrap_or(1))
    }

    /// The canonical text.
    pub fn canonical(&self) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        if self.mantissa == 0 {
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
        let (mut mantissa, mut exponent) = (self.mantissa, self.exponent);
        while mantissa.is_multiple_of(10) {
            mantissa /= 10;
            exponent += 1;
        }
        // Suffixes stand for each third power, up to 10^18.
        let is_exponential = self.format == Format::Exponent;
        let shown = exponent - exponent.rem_euclid(3);
        let shown = if is_exponential { shown } else { shown.min(18) };
        let zeros = usize::try_from(exponent - shown).unwrap_or_default();
        let number = format!("{mantissa}{}", "0".repeat(zeros));
        match DECIMAL.iter().find(|(_, of)| *of == shown) {
            _ if is_exponential && shown != 0 => format!("{sign}{number}e{shown}"),
            Some((suffix, _)) => format!("{sign}{number}{suffix}"),
            None => format!("{sign}{number}"),
        }
    }

    /// Its number; `None` if that is not whole, is negative, or does not fit.
    pub fn whole(&self) -> Option<u128> {
        if self.is_negative() { None } else { self.whole_magnitude() }
    }

    /// Its number without its sign; `None` if that is not whole or does not fit.
    fn whole_magnitude(&self) -> Option<u128> {
        if self.exponent >= 0 {
            return self.scaled(0);
        }
        let unit = power_of_ten(self.exponent.unsigned_abs())?;
        self.is_whole().then_some(self.mantissa / unit)
    }

    fn round_up_to(&mut self, least: i32) {
        let mut is_exact = true;
        while self.exponent < least {
            is_exact &= self.mantissa.is_multiple_of(10);
            self.mantissa /= 10;
            self.exponent += 1;
        }
        if !is_exact {
            self.text = None;
            self.mantissa += 1;
        }
    }

    fn cap(&mut self) {
        let mantissa = i64::MAX.unsigned_abs().into();
        let limit = Self { negative: self.negative, mantissa, exponent: 0, format: Format::Binary, text: None };
        if self.magnitude(&limit) == Ordering::Greater {
            *self = limit;
        }
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        let common = self.exponent.min(other.exponent);
        match (self.scaled(common), other.scaled(common)) {
            (Some(left), Some(right)) => left.cmp(&right),
            // Only the one with the larger exponent is scaled, and then it is larger than any
            // mantissa.
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
        }
    }

    /// The mantissa with a smaller exponent, if it fits.
    fn scaled(&self, exponent: i32) -> Option<u128> {
        if self.mantissa == 0 {
            return Some(0);
        }
        self.mantissa.checked_mul(power_of_ten(u32::try_from(self.exponent - exponent).ok()?)?)
    }
}

fn power_of_ten(exponent: u32) -> Option<u128> {
    10_u128.checked_pow(exponent)
}

impl From<u32> for Quantity {
    fn from(number: u32) -> Self {
        Self { negative: false, mantissa: number.into(), exponent: 0, format: Format::Decimal, text: None }
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

/// Returns the format of a suffix, its power of ten, and its power of two.
fn interpret(suffix: &str) -> Result<(Format, i32, u32), &'static str> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Ok((Format::Decimal, *exponent, 0));
    }
    if let Some((_, shift)) = BINARY.iter().find(|(known, _)| *known == suffix) {
        return Ok((Format::Binary, 0, *shift));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).and_then(|exponent| exponent.parse::<i32>().ok());
    let exponent = exponent.filter(|exponent| exponent.unsigned_abs() <= LARGEST_EXPONENT);
    exponent.map(|exponent| (Format::Exponent, exponent, 0)).ok_or(SUFFIX)
}

/// Returns whether the text is kept as it is: it is small enough to be read fast, and looks
/// canonical at a glance.
fn is_kept(parts: &Parts<'_>, digits: u128, format: Format, exponent: i32, shift: u32) -> bool {
    // Leading zeros do not count, nor does a lone zero before the fraction: apimachinery puts it
    // back as one.
    let whole = parts.whole.trim_start_matches('0');
    let length = whole.len().max(1) + parts.fraction.len();
    match format {
        Format::Binary => {
            let room = 15_i64 - i64::try_from(length).unwrap_or(i64::MAX) - i64::from(shift) * 3 / 10 - 1;
            parts.fraction.is_empty() && room >= 0 && digits & 7 != 0
        }
        Format::Decimal | Format::Exponent => {
            let scale = exponent - i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
            length <= 18 && scale >= NANO && scale % 3 == 0 && !digits.is_multiple_of(1000) && !whole.is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// A quantity, and its amount in parts of 10^-12, which is exact for these suffixes and six
    /// places.
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
        fn quantities_add_up((left, left_worth) in amounts(), (right, right_worth) in amounts()) {
            let mut sum = Quantity::parse(&left).unwrap();
            sum.add(&Quantity::parse(&right).unwrap());
            prop_assert_eq!(sum.is_negative(), left_worth + right_worth < 0, "{} {}", left, right);
            let mut rest = Quantity::parse(&sum.canonical()).unwrap();
            let negated = right.strip_prefix('-').map_or_else(|| format!("-{right}"), str::to_owned);
            rest.add(&Quantity::parse(&negated).unwrap());
            prop_assert_eq!(rest, Quantity::parse(&left).unwrap(), "{} {}", left, right);
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

    /// Quantities in a resource list, and the texts that a real API server rendered.
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
    fn large_quantities_are_rendered() {
        for (text, expected) in [
            ("1e100", "10e99"),
            ("100000000000000000000000E", "100000000000000000000000E"),
            ("9999999999999Ti", "9223372036854775807"),
            ("-9999999999999Ti", "-9223372036854775807"),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().canonical(), expected, "{text}");
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
        for (text, error) in [
            ("", FORMAT),
            ("x", FORMAT),
            ("1x", FORMAT),
            ("1 2", FORMAT),
            ("1e", SUFFIX),
            ("1K", SUFFIX),
            ("1mm", SUFFIX),
            ("1e257", SUFFIX),
            (&"9".repeat(39), DIGITS),
        ] {
            assert_eq!(Quantity::parse(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn quantities_are_ordered_by_their_amount() {
        let order =
            ["-1e200", "-1Gi", "-1", "0", "1n", "999m", "1", "1023", "1Ki", "1M", "1Mi", "1e18", "8Ei", "1e199", "1e200"];
        for pair in order.windows(2) {
            let [less, more] = pair else { continue };
            assert!(Quantity::parse(less).unwrap() < Quantity::parse(more).unwrap(), "{less} {more}");
        }
        assert_eq!(Quantity::parse("1000m").unwrap(), Quantity::parse("1").unwrap());
    }
}
