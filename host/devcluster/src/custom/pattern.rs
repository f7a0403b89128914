//! Regular expressions in the dialect of Go's `regexp` package, written for the engine that there
//! is here.
//!
//! The two agree on how expressions match, and differ in what they read: Go's `\d`, `\w`, `\s` and
//! `\b` know ASCII only, its classes hold no classes, a `{` that begins no repetition is a
//! character, and it says otherwise what is wrong. So an expression is read as Go's parser does
//! (`regexp/syntax/parse.go`), with its messages, and written anew without anything that the two
//! read differently.

use std::fmt::Write as _;

use regex::Regex;

/// The maximum product of nested repetition counts.
const REPEAT_LIMIT: u64 = 1000;

/// The scripts with names of four letters. All other names of four letters are short names of
/// scripts, which Go does not know.
const SHORT_SCRIPTS: [&str; 7] = ["ahom", "cham", "kawi", "lisu", "newa", "thai", "toto"];
const POSIX_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// Compiles a Go expression.
///
/// # Errors
///
/// The error of Go.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern).map_err(|error| format!("error parsing regexp: {error}"))?;
    // What is left is that it is too large or nests too deeply.
    Regex::new(&translated).map_err(|_| format!("error parsing regexp: expression too large: `{pattern}`"))
}

/// The expression for the engine, or Go's error.
fn translate(pattern: &str) -> Result<String, String> {
    let mut parser = Parser { whole: pattern, at: 0, out: String::new(), groups: vec![Group::default()], last_repeat: None };
    while parser.at < pattern.len() {
        parser.step()?;
    }
    match parser.groups.len() {
        1 => Ok(parser.out),
        _ => Err(error("missing closing )", pattern)),
    }
}

fn error(what: &str, shown: &str) -> String {
    format!("{what}: `{shown}`")
}

/// The content of a group.
#[derive(Default)]
struct Group {
    /// The largest count of repetitions within, nested ones multiplied.
    count: u64,
    /// The item that a repetition would repeat: none at the beginning, and after a `|`.
    last: Option<Item>,
}

#[derive(Clone, Copy)]
struct Item {
    /// The end of the item in the pattern.
    end: usize,
    count: u64,
}

struct Parser<'a> {
    whole: &'a str,
    at: usize,
    out: String,
    groups: Vec<Group>,
    /// The start of the repetition that was read just before.
    last_repeat: Option<usize>,
}

/// One thing in a class.
enum ClassItem {
    /// As the engine writes it.
    Written(String),
    Range(u32, u32),
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.whole.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &'a str {
        self.whole.get(start..self.at).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Ends an item that was written.
    fn end_item(&mut self, count: u64) {
        let end = self.out.len();
        if let Some(group) = self.groups.last_mut() {
            group.count = group.count.max(count);
            group.last = Some(Item { end, count });
        }
    }

    fn item(&mut self, text: &str) {
        self.out.push_str(text);
        self.end_item(1);
    }

    fn literal(&mut self, code: u32) {
        let text = match char::from_u32(code) {
            Some(character) => regex::escape(character.encode_utf8(&mut [0; 4])),
            // Half of a surrogate pair, which no text has.
            None => class_text(false, &[]),
        };
        self.item(&text);
    }

    fn step(&mut self) -> Result<(), String> {
        let start = self.at;
        let Some(next) = self.peek() else { return Ok(()) };
        let mut repeat = None;
        match next {
            '(' if self.rest().starts_with("(?") => self.flags()?,
            '(' => {
                self.at += 1;
                self.open("(?:");
            }
            '|' => {
                self.at += 1;
                self.out.push('|');
                if let Some(group) = self.groups.last_mut() {
                    group.last = None;
                }
            }
            ')' => {
                self.at += 1;
                self.close()?;
            }
            '^' | '$' | '.' => {
                self.at += 1;
                self.item(next.encode_utf8(&mut [0; 4]));
            }
            '[' => self.class()?,
            '*' | '+' | '?' => {
                self.at += 1;
                self.repeat(start, next.encode_utf8(&mut [0; 4]), None)?;
                repeat = Some(start);
            }
            '{' => match self.counts() {
                Some((least, most)) => {
                    let is_valid = least.is_some_and(|least| least <= REPEAT_LIMIT)
                        && most.is_none_or(|most| most <= REPEAT_LIMIT && least.is_some_and(|least| least <= most));
                    let Some(least) = least.filter(|_| is_valid) else {
                        return Err(error("invalid repeat count", self.since(start)));
                    };
                    let most_text = most.map_or_else(String::new, |most| most.to_string());
                    self.repeat(start, &format!("{{{least},{most_text}}}"), Some((least, most)))?;
                    repeat = Some(start);
                }
                None => {
                    self.at += 1;
                    self.literal(u32::from('{'));
                }
            },
            '\\' => self.escape()?,
            other => {
                self.take();
                self.literal(u32::from(other));
            }
        }
        self.last_repeat = repeat;
        Ok(())
    }

    fn open(&mut self, text: &str) {
        self.out.push_str(text);
        self.groups.push(Group::default());
    }

    fn close(&mut self) -> Result<(), String> {
        if self.groups.len() < 2 {
            return Err(error("unexpected )", self.whole));
        }
        let count = self.groups.pop().map_or(1, |group| group.count);
        self.out.push(')');
        self.end_item(count.max(1));
        Ok(())
    }

    /// `counts`: of a repetition between braces.
    fn repeat(&mut self, start: usize, operator: &str, counts: Option<(u64, Option<u64>)>) -> Result<(), String> {
        let is_lazy = self.rest().starts_with('?');
        if is_lazy {
            self.at += 1;
        }
        if let Some(last) = self.last_repeat {
            return Err(error("invalid nested repetition operator", self.since(last)));
        }
        let shown = self.since(start);
        let Some(Item { end, count }) = self.groups.last().and_then(|group| group.last) else {
            return Err(error("missing argument to repetition operator", shown));
        };
        let mut repeated = count;
        if let Some((least, most)) = counts {
            repeated = most.unwrap_or(least).saturating_mul(count);
            let is_counted = least >= 2 || most.is_some_and(|most| most >= 2);
            if is_counted && repeated > REPEAT_LIMIT {
                return Err(error("invalid repeat count", shown));
            }
        }
        // A change of flags may lie between.
        let text = if is_lazy { format!("{operator}?") } else { operator.to_owned() };
        self.out.insert_str(end, &text);
        if let Some(group) = self.groups.last_mut() {
            group.count = group.count.max(repeated);
            group.last = Some(Item { end: end + text.len(), count: repeated });
        }
        Ok(())
    }

    /// Returns the counts of `{2}`, `{2,}` or `{2,3}`, or `None` for other text. A count that does
    /// not fit is `None` inside.
    fn counts(&mut self) -> Option<(Option<u64>, Option<u64>)> {
        let (inside, _) = self.rest().strip_prefix('{')?.split_once('}')?;
        let number = |text: &str| -> Option<Option<u64>> {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            (is_number && (text.len() == 1 || !text.starts_with('0')))
                .then(|| text.parse().ok().filter(|number| *number < 100_000_000))
        };
        let counts = match inside.split_once(',') {
            None => number(inside).map(|count| (count, count)),
            Some((least, "")) => number(least).map(|least| (least, None)),
            Some((least, most)) => {
                let (least, most) = (number(least)?, number(most)?);
                Some(if most.is_none() { (None, None) } else { (least, most) })
            }
        }?;
        self.at += inside.len() + 2;
        Some(counts)
    }

    /// `(?i)`, `(?i:`, `(?P<name>` and the like.
    fn flags(&mut self) -> Result<(), String> {
        let (start, rest) = (self.at, self.rest());
        let name_at = if rest.starts_with("(?P<") && rest.len() > 4 {
            Some(4)
        } else {
            (rest.starts_with("(?<") && rest.len() > 3).then_some(3)
        };
        if let Some(name_at) = name_at {
            let Some(end) = rest.find('>') else { return Err(error("invalid named capture", rest)) };
            let name = rest.get(name_at..end).unwrap_or_default();
            self.at += end + 1;
            if name.is_empty() || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
                return Err(error("invalid named capture", self.since(start)));
            }
            self.open("(?:");
            return Ok(());
        }
        self.at += 2;
        let (mut on, mut off) = (String::new(), String::new());
        let (mut is_negative, mut is_said) = (false, false);
        while let Some(next) = self.take() {
            match next {
                'i' | 'm' | 's' | 'U' => {
                    is_said = true;
                    let (set, other) = if is_negative { (&mut off, &mut on) } else { (&mut on, &mut off) };
                    other.retain(|flag| flag != next);
                    if !set.contains(next) {
                        set.push(next);
                    }
                }
                '-' if !is_negative => (is_negative, is_said) = (true, false),
                ':' | ')' if !is_negative || is_said => {
                    let minus = if off.is_empty() { "" } else { "-" };
                    match next {
                        ':' => self.open(&format!("(?{on}{minus}{off}:")),
                        _ if on.is_empty() && off.is_empty() => {}
                        _ => self.out.push_str(&format!("(?{on}{minus}{off})")),
                    }
                    return Ok(());
                }
                _ => return Err(error("invalid or unsupported Perl syntax", self.since(start))),
            }
        }
        Err(error("invalid or unsupported Perl syntax", self.since(start)))
    }

    /// A backslash outside of a class.
    fn escape(&mut self) -> Result<(), String> {
        let start = self.at;
        let written = match self.rest().chars().nth(1) {
            Some('A') => r"\A",
            Some('z') => r"\z",
            Some('b') => r"(?-u:\b)",
            Some('B') => r"(?-u:\B)",
            Some('C') => {
                self.at += 2;
                return Err(error("invalid escape sequence", self.since(start)));
            }
            Some('Q') => {
                let (quoted, length) = match self.rest().get(2..).unwrap_or_default().split_once(r"\E") {
                    Some((quoted, _)) => (quoted, quoted.len() + 4),
                    None => (self.rest().get(2..).unwrap_or_default(), self.rest().len()),
                };
                self.at += length;
                quoted.chars().for_each(|character| self.literal(u32::from(character)));
                return Ok(());
            }
            _ => "",
        };
        if !written.is_empty() {
            self.at += 2;
            self.item(written);
            return Ok(());
        }
        if let Some(class) = self.group_class()? {
            self.item(&class_text(false, &[ClassItem::Written(class)]));
            return Ok(());
        }
        let code = self.escaped_character()?;
        self.literal(code);
        Ok(())
    }

    /// `\d`, `\pL` and the like, as they are written within a class.
    fn group_class(&mut self) -> Result<Option<String>, String> {
        let (start, rest) = (self.at, self.rest());
        let perl = match rest.as_bytes().get(1).filter(|_| rest.starts_with('\\')) {
            Some(b'd') => "0-9",
            Some(b'D') => "[^0-9]",
            Some(b's') => r"\t\n\x0c\r\x20",
            Some(b'S') => r"[^\t\n\x0c\r\x20]",
            Some(b'w') => "0-9A-Za-z_",
            Some(b'W') => "[^0-9A-Za-z_]",
            Some(b'p' | b'P') => return self.unicode_class(start).map(Some),
            _ => return Ok(None),
        };
        self.at += 2;
        Ok(Some(perl.to_owned()))
    }

    /// `\pL`, `\p{Greek}`, `\P{^Lu}`.
    fn unicode_class(&mut self, start: usize) -> Result<String, String> {
        let mut is_negative = self.rest().starts_with(r"\P");
        self.at += 2;
        let mut name = match self.take() {
            Some('{') => {
                let Some((name, _)) = self.rest().split_once('}') else {
                    return Err(error("invalid character class range", self.whole.get(start..).unwrap_or_default()));
                };
                self.at += name.len() + 1;
                name
            }
            Some(letter) => self.whole.get(self.at - letter.len_utf8()..self.at).unwrap_or_default(),
            None => "",
        };
        if let Some(rest) = name.strip_prefix('^') {
            (is_negative, name) = (!is_negative, rest);
        }
        unicode_class_text(name, is_negative).ok_or_else(|| error("invalid character class range", self.since(start)))
    }

    fn escaped_character(&mut self) -> Result<u32, String> {
        let start = self.at;
        self.at += 1;
        let Some(next) = self.take() else { return Err(error("trailing backslash at end of expression", "")) };
        let is_octal = |parser: &Self| parser.peek().is_some_and(|digit| ('0'..='7').contains(&digit));
        let code = match next {
            'a' => Some(7),
            'f' => Some(12),
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            'v' => Some(11),
            // A single digit would refer to a group.
            '1'..='7' if !is_octal(self) => None,
            '0'..='7' => {
                let mut code = next.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    if is_octal(self) {
                        code = code * 8 + self.take().and_then(|digit| digit.to_digit(8)).unwrap_or_default();
                    }
                }
                Some(code)
            }
            'x' => self.hexadecimal(),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Some(u32::from(other)),
            _ => None,
        };
        code.ok_or_else(|| error("invalid escape sequence", self.since(start)))
    }

    /// Reads the digits after `\x`: two digits, or any number of them in braces.
    fn hexadecimal(&mut self) -> Option<u32> {
        let first = self.take()?;
        if first != '{' {
            let second = self.take();
            return Some(first.to_digit(16)? * 16 + second?.to_digit(16)?);
        }
        let (mut code, mut digits) = (0_u32, 0);
        loop {
            match self.take()? {
                '}' => return Some(code).filter(|_| digits > 0),
                digit => {
                    code = (code * 16 + digit.to_digit(16)?).min(u32::from(char::MAX) + 1);
                    if code > u32::from(char::MAX) {
                        return None;
                    }
                    digits += 1;
                }
            }
        }
    }

    /// `[…]`.
    fn class(&mut self) -> Result<(), String> {
        let start = self.at;
        self.at += 1;
        let is_negative = self.rest().starts_with('^');
        if is_negative {
            self.at += 1;
        }
        let mut items = Vec::new();
        let mut is_first = true;
        while is_first || self.peek() != Some(']') {
            is_first = false;
            if let Some(class) = self.named_class()? {
                items.push(ClassItem::Written(class));
            } else if let Some(class) = self.group_class()? {
                items.push(ClassItem::Written(class));
            } else {
                let range_start = self.at;
                let low = self.class_character(start)?;
                let mut high = low;
                let mut ahead = self.rest().chars();
                if ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']') {
                    self.at += 1;
                    high = self.class_character(start)?;
                    if high < low {
                        return Err(error("invalid character class range", self.since(range_start)));
                    }
                }
                items.push(ClassItem::Range(low, high));
            }
        }
        self.at += 1;
        self.item(&class_text(is_negative, &items));
        Ok(())
    }

    fn class_character(&mut self, class_start: usize) -> Result<u32, String> {
        match self.peek() {
            None => Err(error("missing closing ]", self.whole.get(class_start..).unwrap_or_default())),
            Some('\\') => self.escaped_character(),
            Some(other) => {
                self.take();
                Ok(u32::from(other))
            }
        }
    }

    /// `[:alpha:]`.
    fn named_class(&mut self) -> Result<Option<String>, String> {
        let Some((name, _)) = self.rest().strip_prefix("[:").and_then(|rest| rest.split_once(":]")) else { return Ok(None) };
        let start = self.at;
        self.at += name.len() + 4;
        match POSIX_CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            true => Ok(Some(self.since(start).to_owned())),
            false => Err(error("invalid character class range", self.since(start))),
        }
    }
}

/// A class of Unicode, if Go knows its name: a general category or its alias, or else a script. As
/// in Go 1.25 and later, case, spaces, hyphens and underscores in names do not matter.
fn unicode_class_text(name: &str, is_negative: bool) -> Option<String> {
    let is_separator = |c: char| matches!(c, ' ' | '-' | '_');
    let name: String = name.chars().filter(|c| !is_separator(*c)).map(|c| c.to_ascii_lowercase()).collect();
    // The engine ignores "is" before a name.
    if name.is_empty() || name.starts_with("is") || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    match name.as_str() {
        // No text has surrogates.
        "cs" | "surrogate" if is_negative => return Some(r"\x00-\x{10ffff}".to_owned()),
        "cs" | "surrogate" => return Some(r"[^\x00-\x{10ffff}]".to_owned()),
        _ => {}
    }
    let letter = if is_negative { 'P' } else { 'p' };
    let category = format!(r"\{letter}{{gc={name}}}");
    if Regex::new(&category).is_ok() {
        return Some(category);
    }
    let script = format!(r"\{letter}{{sc={name}}}");
    let is_known = name.len() != 4 || SHORT_SCRIPTS.contains(&name.as_str());
    (is_known && Regex::new(&script).is_ok()).then_some(script)
}

/// A class, all of whose characters are written by their numbers.
fn class_text(is_negative: bool, items: &[ClassItem]) -> String {
    /// The numbers that are no characters.
    const SURROGATES: (u32, u32) = (0xd800, 0xdfff);
    let mut inside = String::new();
    for item in items {
        match item {
            ClassItem::Written(text) => inside.push_str(text),
            ClassItem::Range(low, high) => {
                let is_character = |code: u32| !(SURROGATES.0..=SURROGATES.1).contains(&code);
                let low = if is_character(*low) { *low } else { SURROGATES.1 + 1 };
                let high = if is_character(*high) { *high } else { SURROGATES.0 - 1 };
                if low <= high {
                    // Writing to a String cannot fail.
                    let _ = write!(inside, r"\x{{{low:x}}}-\x{{{high:x}}}");
                }
            }
        }
    }
    match (inside.is_empty(), is_negative) {
        // Not `[]`, which is read otherwise: nothing, and anything.
        (true, false) => r"[^\x00-\x{10ffff}]".to_owned(),
        (true, true) => r"[\x00-\x{10ffff}]".to_owned(),
        (false, false) => format!("[{inside}]"),
        (false, true) => format!("[^{inside}]"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The results of the `regexp` of Go 1.26 for patterns: `e` is its error, `m` which of the
    /// texts `t` match.
    const GO: &str = include_str!("pattern/go.json");

    #[test]
    fn patterns_are_read_as_go_reads_them() {
        let cases: Vec<Value> = serde_json::from_str(GO).unwrap();
        assert!(cases.len() > 150, "{}", cases.len());
        for case in cases {
            let pattern = case["p"].as_str().unwrap();
            match compile(pattern) {
                Err(error) => assert_eq!(case["e"], error.as_str(), "{pattern}"),
                Ok(regex) => {
                    assert_eq!(case["e"], Value::Null, "{pattern}");
                    let texts = case["t"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
                    let matches: Vec<(&str, bool)> = texts.map(|text| (text, regex.is_match(text))).collect();
                    let expected = case["m"].as_array().unwrap().iter().map(|matches| matches.as_bool().unwrap());
                    let expected: Vec<(&str, bool)> = matches.iter().map(|(text, _)| *text).zip(expected).collect();
                    assert_eq!(matches, expected, "{pattern} is {}", regex.as_str());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_an_error(pattern in r"([\[\](){}*+?|^$.\\:,<>!=&~i1aw-]|\PC){0,24}") {
            if let Ok(translated) = translate(&pattern) {
                prop_assert!(Regex::new(&translated).is_ok(), "{pattern} becomes {translated}, which cannot be read");
            }
        }

        #[test]
        fn quoted_text_matches_itself_and_nothing_else(text in r"\PC{0,12}", other in r"\PC{0,12}") {
            prop_assume!(!text.contains(r"\E"));
            let regex = compile(&format!(r"^\Q{text}\E$")).unwrap();
            prop_assert!(regex.is_match(&text));
            prop_assert_eq!(regex.is_match(&other), text == other);
        }
    }
}
