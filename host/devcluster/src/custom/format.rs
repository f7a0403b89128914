//! The values of `format` that the server checks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::Date;
use regex::Regex;

use crate::validation::syntax;

const FORMATS: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Returns whether the server knows `format` for type `kind`. Other formats are ignored.
pub(crate) fn is_known(kind: &str, int_or_string: bool, format: &str) -> bool {
    match kind {
        _ if int_or_string => false,
        "" | "string" => FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Returns whether `text` matches `format`, or `None` for a format that is not checked.
pub(crate) fn check(format: &str, text: &str) -> Option<bool> {
    let valid = match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && is_hex(text),
        "uri" => is_uri(text),
        "email" => is_email(text),
        "hostname" => text.len() <= 255 && matches(&HOSTNAME, text) && text.split('.').all(|label| label.len() <= 63),
        "ipv4" => is_ipv4(text),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => matches(&MAC, text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(format, text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => matches(&SSN, text),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && is_hex(digits)
        }
        "rgbcolor" => matches(&RGB, text),
        "byte" => is_base64(text),
        "password" => true,
        "date" => text.len() == 10 && text.parse::<Date>().is_ok(),
        "datetime" => is_date_time(text),
        "duration" => duration(text).is_some(),
        "k8sshortname" => text.len() <= 63 && syntax::is_label(text),
        "k8slongname" => text.len() <= 253 && syntax::is_subdomain(text),
        _ => return None,
    };
    Some(valid)
}

type Expression = LazyLock<Option<Regex>>;

fn matches(expression: &Expression, text: &str) -> bool {
    expression.as_ref().is_some_and(|regex| regex.is_match(text))
}

static HOSTNAME: Expression = LazyLock::new(|| {
    Regex::new(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    )
    .ok()
});
static MAC: Expression = LazyLock::new(|| {
    Regex::new(r"^([0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}(([:-][0-9a-fA-F]{2}){2}|([:-][0-9a-fA-F]{2}){14})?|[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){2}((\.[0-9a-fA-F]{4})|(\.[0-9a-fA-F]{4}){7})?)$").ok()
});
static SSN: Expression = LazyLock::new(|| Regex::new(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$").ok());
static RGB: Expression = LazyLock::new(|| {
    let byte = "(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])";
    Regex::new(&format!(r"^rgb\(\s*{byte}\s*,\s*{byte}\s*,\s*{byte}\s*\)$")).ok()
});
static CREDIT_CARD: Expression = LazyLock::new(|| {
    Regex::new(r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$").ok()
});
static DATE_TIME: Expression =
    LazyLock::new(|| Regex::new(r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$").ok());

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_uri(text: &str) -> bool {
    let scheme = |text: &str| {
        text.split_once(':').is_some_and(|(scheme, rest)| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
                && !rest.is_empty()
        })
    };
    !text.contains(|c: char| c.is_control() || c == ' ') && (text.starts_with('/') || scheme(text))
}

fn is_email(text: &str) -> bool {
    let address = match text.rsplit_once('<') {
        Some((_, rest)) => rest.strip_suffix('>').unwrap_or_default(),
        None => text,
    };
    address.rsplit_once('@').is_some_and(|(local, domain)| {
        let atom = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_control() || " ()<>[]:;@\\,\"".contains(c));
        local.split('.').all(atom) && domain.split('.').all(atom)
    })
}

/// Allows leading zeros.
fn is_ipv4(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 3
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.parse::<u16>().is_ok_and(|n| n < 256)
    };
    text.parse::<Ipv4Addr>().is_ok() || text.split('.').count() == 4 && text.split('.').all(part)
}

fn is_cidr(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, bits)| {
        let most = match address.parse::<IpAddr>() {
            Ok(IpAddr::V6(_)) => 128,
            Ok(IpAddr::V4(_)) => 32,
            Err(_) if is_ipv4(address) => 32,
            Err(_) => return false,
        };
        bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
    })
}

fn is_uuid(format: &str, text: &str) -> bool {
    let version = format.strip_prefix("uuid").and_then(|version| version.chars().next());
    let groups = match text.len() {
        32..=36 => text,
        _ => return false,
    };
    // Dashes are optional, but only allowed between the groups.
    let mut digits = String::with_capacity(32);
    for character in groups.chars() {
        match character {
            '-' if matches!(digits.len(), 8 | 12 | 16 | 20) => {}
            digit if digit.is_ascii_hexdigit() => digits.push(digit.to_ascii_lowercase()),
            _ => return false,
        }
    }
    let variant = version == Some('3') || version.is_none() || digits.chars().nth(16).is_some_and(|c| "89ab".contains(c));
    digits.len() == 32
        && !text.contains("--")
        && version.is_none_or(|version| digits.chars().nth(12) == Some(version))
        && variant
}

fn isbn_digits(text: &str) -> Vec<u32> {
    text.chars().filter(|c| !matches!(c, '-' | ' ')).map(|c| if c == 'X' { 10 } else { c.to_digit(10).unwrap_or(99) }).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = isbn_digits(text);
    let tens = digits.iter().take(9).all(|digit| *digit < 10) && digits.last().is_some_and(|digit| *digit <= 10);
    digits.len() == 10 && tens && (1..).zip(&digits).map(|(weight, digit)| weight * digit).sum::<u32>() % 11 == 0
}

fn is_isbn13(text: &str) -> bool {
    let digits = isbn_digits(text);
    let weighted = digits.iter().enumerate().map(|(index, digit)| if index % 2 == 0 { *digit } else { 3 * digit });
    digits.len() == 13 && digits.iter().all(|digit| *digit < 10) && weighted.sum::<u32>() % 10 == 0
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let luhn = digits.bytes().rev().enumerate().map(|(index, byte)| {
        let digit = u32::from(byte.saturating_sub(b'0'));
        let weighed = if index % 2 == 1 { digit * 2 } else { digit };
        if weighed > 9 { weighed - 9 } else { weighed }
    });
    matches(&CREDIT_CARD, &digits) && luhn.sum::<u32>() % 10 == 0
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

fn is_date_time(text: &str) -> bool {
    matches(&DATE_TIME, text) && text.to_ascii_uppercase().parse::<Timestamp>().is_ok()
}

/// Parses a duration like Go's (`1h30m`) or in words (`2 days`) into nanoseconds.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut rest = rest.trim();
    let mut total: f64 = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits)?;
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        let nanoseconds = match unit.to_lowercase().as_str() {
            "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1.0,
            "us" | "µs" | "μs" | "micro" | "micros" | "microsecond" | "microseconds" => 1e3,
            "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1e6,
            "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
            "m" | "min" | "mins" | "minute" | "minutes" => 60e9,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600e9,
            "d" | "day" | "days" => 86_400e9,
            "w" | "wk" | "week" | "weeks" => 604_800e9,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * nanoseconds;
        rest = after.trim_start();
    }
    let total = if negative { -total } else { total };
    (total.abs() < 9.2e18).then_some(total as i64)
}
