//! Generates texts by the pattern, format and length in a schema.

use std::net::Ipv6Addr;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

use super::dice::Dice;

const TEXTS: [&str; 16] = [
    "",
    "a",
    "hello",
    "Hello, world!",
    "0",
    "-1",
    "true",
    "null",
    "a/b",
    "../..",
    "UPPER_case",
    "-dash-",
    "naïve ☃ 𝕏",
    "line\nline",
    "{{name}} $(name) %s",
    "* * * * *",
];

/// The most repetitions beyond the minimum, where a pattern has no maximum.
const MOST_REPEATED: u64 = 3;
/// The longest text of a pattern in bytes. The API server accepts about a megabyte.
const MOST_BYTES: usize = 1 << 14;
/// How deep a pattern may nest. Go's limit is 1000.
const DEEPEST: u32 = 100;
const TRIES: usize = 20;

/// A text that the schema allows, as far as this module can tell, or `None` if it generated none.
pub(super) fn text(schema: &Value, sample: Option<&Value>, dice: &mut Dice) -> Option<Value> {
    let bound = |field: &str| schema.get(field).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok());
    let (least, most) = (bound("minLength").unwrap_or_default().min(1 << 16), bound("maxLength").unwrap_or(usize::MAX));
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str).filter(|pattern| !pattern.is_empty()) {
        // The sample is known to be valid.
        if sample.is_some() && dice.in_percent(20) {
            return sample.cloned();
        }
        let Some(pattern) = parse(pattern) else { return sample.cloned() };
        let drawn = (0..TRIES).find_map(|_| {
            let drawn = matching(&pattern, dice);
            (least..=most).contains(&drawn.chars().count()).then_some(drawn)
        });
        return drawn.map(Value::from).or_else(|| sample.cloned());
    }
    if let Some(drawn) = schema.get("format").and_then(Value::as_str).and_then(|format| formatted(format, dice)) {
        return Some(Value::from(drawn));
    }
    let mut text = if dice.in_percent(5) { "long".repeat(250) } else { (*dice.pick(&TEXTS)?).to_owned() };
    let missing = least.saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n('x', missing));
    Some(Value::from(text.chars().take(most).collect::<String>()))
}

/// A text of a format that API servers check, or `None` if they do not check it.
fn formatted(format: &str, dice: &mut Dice) -> Option<String> {
    let choices: &[&str] = match format.replace('-', "").as_str() {
        "datetime" => {
            let (year, month, day) = (dice.below(10_000), 1 + dice.below(12), 1 + dice.below(28));
            let zone = *dice.pick(&["Z", "+14:00", "-00:30", ".999999999Z"])?;
            return Some(format!("{year:04}-{month:02}-{day:02}T23:59:59{zone}"));
        }
        "date" => {
            return Some(format!("{:04}-{:02}-{:02}", 1 + dice.below(9999), 1 + dice.below(12), 1 + dice.below(28)));
        }
        "duration" => &["0s", "1s", "-1s", "1h30m0.5s", "100ms", "2562047h", "1ns"],
        "ipv4" => return Some(std::net::Ipv4Addr::from(dice.bits()).to_string()),
        "ipv6" => return Some(Ipv6Addr::from(dice.wide()).to_string()),
        "cidr" => return Some(format!("{}/{}", std::net::Ipv4Addr::from(dice.bits()), dice.below(33))),
        "mac" => &["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "02-00-5e-10-00-01"],
        "uri" => &[
            "https://example.com/",
            "http://[::1]:8080/a%20b?c=d#e",
            "urn:isbn:0451450523",
            "ftp://user@example.com",
            "/only/a/path",
        ],
        "email" => &["a@example.com", "first.last+tag@sub.example.com", "\"a b\"@example.com"],
        "hostname" => &["a", "example.com", "xn--nxasmq6b.example"],
        "uuid" | "uuid3" | "uuid4" | "uuid5" => {
            let kind = format.strip_prefix("uuid").and_then(|kind| kind.parse().ok()).unwrap_or(4_u128);
            let bits = dice.wide() & !(0xf << 76) & !(0b11 << 62) | (kind << 76) | (0b10 << 62);
            let text = format!("{bits:032x}");
            let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
            return Some([part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-"));
        }
        "byte" => &["", "AA==", "aGVsbG8=", "//79/A=="],
        "bsonobjectid" => return Some(format!("{:024x}", dice.wide() >> 32)),
        "isbn" | "isbn10" => &["0451450523", "080442957X"],
        "isbn13" => &["9780451450524"],
        "creditcard" => &["4111111111111111"],
        "ssn" => &["078-05-1120", "000000000"],
        "hexcolor" => &["#fff", "#00FF7f"],
        "rgbcolor" => &["rgb(0,0,0)", "rgb(255, 255, 255)"],
        "k8sshortname" => &["a", "a-1", "0"],
        "k8slongname" => &["a", "a.b-c.d", "0.1"],
        _ => return None,
    };
    Some((*dice.pick(choices)?).to_owned())
}

/// Rust's syntax is almost the same as Go's.
fn parse(pattern: &str) -> Option<Hir> {
    ParserBuilder::new().nest_limit(DEEPEST).build().parse(pattern).ok()
}

/// A text that matches except for word boundaries and the like, which the API server checks.
fn matching(pattern: &Hir, dice: &mut Dice) -> String {
    let mut text = String::new();
    append(pattern, &mut text, dice);
    text
}

fn append(pattern: &Hir, text: &mut String, dice: &mut Dice) {
    if text.len() >= MOST_BYTES {
        return;
    }
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(one_of(class, dice)),
        HirKind::Repetition(repetition) => {
            let least = u64::from(repetition.min);
            let spread = repetition.max.map_or(MOST_REPEATED, |most| u64::from(most).saturating_sub(least).min(MOST_REPEATED));
            let count = match repetition.max {
                Some(most) if dice.in_percent(10) => u64::from(most),
                _ => least + dice.below(spread + 1),
            };
            for _ in 0..count {
                if text.len() >= MOST_BYTES {
                    break;
                }
                let before = text.len();
                append(&repetition.sub, text, dice);
                if text.len() == before && !may_grow(&repetition.sub) {
                    break;
                }
            }
        }
        HirKind::Capture(capture) => append(&capture.sub, text, dice),
        HirKind::Concat(parts) => parts.iter().for_each(|part| append(part, text, dice)),
        HirKind::Alternation(choices) => {
            if let Some(choice) = dice.pick(choices) {
                append(choice, text, dice);
            }
        }
    }
}

/// Returns whether the pattern matches a text that is not empty: only such a pattern is repeated.
fn may_grow(pattern: &Hir) -> bool {
    let properties = pattern.properties();
    // A pattern that never matches has no minimum length.
    properties.minimum_len().is_some() && properties.maximum_len() != Some(0)
}

fn one_of(class: &Class, dice: &mut Dice) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => class.iter().map(|range| (range.start().into(), range.end().into())).collect(),
        Class::Bytes(class) => class.iter().map(|range| (range.start().into(), range.end().into())).collect(),
    };
    let typed: Vec<(u32, u32)> =
        ranges.iter().map(|(start, end)| (*start.max(&0x20), *end.min(&0x7e))).filter(|(start, end)| start <= end).collect();
    let from = if typed.is_empty() || dice.in_percent(5) { &ranges } else { &typed };
    let (start, end) = *dice.pick(from)?;
    let drawn = start + u32::try_from(dice.below(u64::from(end - start) + 1)).unwrap_or_default();
    // A range may contain surrogates, which are no characters.
    char::from_u32(drawn).or_else(|| char::from_u32(start))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drawn(schema: &Value) -> Vec<String> {
        let mut dice = Dice::new(0);
        let drawn = (0..200).map(|_| text(schema, None, &mut dice));
        drawn
            .map(|drawn| drawn.and_then(|drawn| drawn.as_str().map(str::to_owned)).unwrap_or_else(|| "none".to_owned()))
            .collect()
    }

    #[test]
    fn texts_of_a_pattern_match_it_and_differ() {
        for pattern in [
            "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            r"^(\d+)(ms|s|m|h)$",
            "^(a|b{2,4}|[^x]+)$",
            r"^\S+@\S+\.[a-z]{2,}$",
            "^.{3,5}$",
            r"^v\d{1,2}(alpha|beta)?\d*$",
            r"^(?i)on|off$",
            "^[α-ω]+$",
            "^([0-9]+[.]){2}x{1,1000}$",
        ] {
            let regex = regex::Regex::new(pattern).map_err(|error| error.to_string());
            let drawn = drawn(&json!({ "type": "string", "pattern": pattern }));
            let wrong: Vec<&String> =
                drawn.iter().filter(|text| regex.as_ref().is_ok_and(|regex| !regex.is_match(text))).collect();
            assert!(regex.is_ok() && wrong.is_empty(), "{pattern}: {wrong:?}");
            let different: std::collections::BTreeSet<_> = drawn.iter().collect();
            assert!(different.len() > 2, "{pattern}: {different:?}");
        }
    }

    #[test]
    fn texts_of_a_pattern_keep_to_their_length() {
        let drawn = drawn(&json!({ "type": "string", "pattern": "^[a-z]*$", "minLength": 1, "maxLength": 2 }));
        assert!(drawn.iter().all(|text| (1..=2).contains(&text.len())), "{drawn:?}");
    }

    #[test]
    fn no_pattern_takes_long_or_much() {
        for pattern in [
            "^((a{1000}){1000}){1000}$",
            "^(((()*)*){1000000}){1000000}$",
            "^(\\b{1000}){1000}$",
            r"^([^\s\S]{1000000}){1000000}$",
        ] {
            let drawn = drawn(&json!({ "type": "string", "pattern": pattern }));
            assert!(drawn.iter().all(|text| text.len() <= 2 * MOST_BYTES), "{pattern}");
        }
        assert_eq!(drawn(&json!({ "type": "string", "pattern": "(" }))[0], "none");
    }
}
