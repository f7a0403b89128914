//! Regular expressions in the dialect of Go's `regexp` package, for Rust's engine.
//!
//! The two agree on how an expression matches, but not on what they read: Go's `\d`, `\w`, `\s` and
//! `\b` are ASCII only, its classes contain no classes, and a `{` that begins no repetition is a
//! character. So this parser reads what Go's does (`regexp/syntax/parse.go`) into the tree of
//! `regex-syntax`, which the engine takes as text.

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::ClassAsciiKind;
use regex_syntax::hir::{Capture, Class, ClassUnicode, ClassUnicodeRange, Dot, Hir, HirKind, Look, Repetition};

/// Go's limit of a repetition count, and of the product of nested ones.
const REPEAT_LIMIT: u32 = 1000;

/// The engine compiles by recursion. Its default is 250, but trees are written with twice as many
/// groups.
const NEST_LIMIT: u32 = 500;

/// The scripts with names of four letters. All other names of four letters are short names, which
/// Go does not know.
const SHORT_SCRIPTS: [&str; 7] = ["ahom", "cham", "kawi", "lisu", "newa", "thai", "toto"];

/// Compiles a Go expression.
///
/// # Errors
///
/// Go would not read it, or it is too large; with the place.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let expression = translate(pattern)?;
    let compiled = RegexBuilder::new(&expression).nest_limit(NEST_LIMIT).build();
    compiled.map_err(|_| "the expression is too large".to_owned())
}

/// Returns the expression for the engine.
fn translate(pattern: &str) -> Result<String, String> {
    let mut parser = Parser { pattern, at: 0, flags: Flags::default(), groups: vec![Group::default()], repeated: false };
    match parser.run() {
        Ok(tree) => Ok(tree.to_string()),
        Err(why) => Err(format!("{why} before byte {}", parser.at)),
    }
}

type Parsed<T> = Result<T, &'static str>;

#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_matches_newline: bool,
    swap_greed: bool,
}

/// An open group, or the whole expression.
#[derive(Default)]
struct Group {
    outer_flags: Flags,
    alternatives: Vec<Hir>,
    /// The parts of the last alternative, each with its repetition count.
    parts: Vec<(Hir, u32)>,
    /// The largest count of all parts.
    count: u32,
}

impl Group {
    fn end_alternative(&mut self) {
        let parts = std::mem::take(&mut self.parts).into_iter().map(|(part, _)| part);
        self.alternatives.push(Hir::concat(parts.collect()));
    }
}

struct Parser<'a> {
    pattern: &'a str,
    at: usize,
    flags: Flags,
    /// The open groups, the innermost last.
    groups: Vec<Group>,
    /// If true, a repetition was read just before.
    repeated: bool,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Parsed<Hir> {
        while self.at < self.pattern.len() {
            let after_repetition = std::mem::take(&mut self.repeated);
            self.step(after_repetition)?;
        }
        let mut whole = self.groups.pop().unwrap_or_default();
        if !self.groups.is_empty() {
            return Err("missing `)`");
        }
        whole.end_alternative();
        Ok(Hir::alternation(whole.alternatives))
    }

    fn rest(&self) -> &'a str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// Reads up to `end`, and over it.
    fn until(&mut self, end: &str) -> Option<&'a str> {
        let (text, _) = self.rest().split_once(end)?;
        self.at += text.len() + end.len();
        Some(text)
    }

    fn push(&mut self, part: Hir, count: u32) {
        if let Some(group) = self.groups.last_mut() {
            group.count = group.count.max(count);
            group.parts.push((part, count));
        }
    }

    fn push_class(&mut self, class: ClassUnicode) {
        self.push(Hir::class(Class::Unicode(class)), 1);
    }

    fn step(&mut self, after_repetition: bool) -> Parsed<()> {
        if self.rest().starts_with('{')
            && let Some((least, most)) = self.counts()?
        {
            return self.repeat(least, most, after_repetition);
        }
        match self.rest().chars().next().unwrap_or_default() {
            '\\' => return self.escape(),
            '[' => return self.class(),
            _ => {}
        }
        match self.take().unwrap_or_default() {
            '*' => self.repeat(0, None, after_repetition)?,
            '+' => self.repeat(1, None, after_repetition)?,
            '?' => self.repeat(0, Some(1), after_repetition)?,
            '(' if self.eat("?") => self.flags_or_name()?,
            '(' => self.open(self.flags),
            ')' => self.close()?,
            '|' => {
                if let Some(group) = self.groups.last_mut() {
                    group.end_alternative();
                }
            }
            '.' => self.push(Hir::dot(if self.flags.dot_matches_newline { Dot::AnyChar } else { Dot::AnyCharExceptLF }), 1),
            '^' => self.push(Hir::look(if self.flags.multi_line { Look::StartLF } else { Look::Start }), 1),
            '$' => self.push(Hir::look(if self.flags.multi_line { Look::EndLF } else { Look::End }), 1),
            other => self.push_class(self.range(other.into(), other.into())),
        }
        Ok(())
    }

    fn open(&mut self, inner_flags: Flags) {
        self.groups.push(Group { outer_flags: self.flags, ..Group::default() });
        self.flags = inner_flags;
    }

    fn close(&mut self) -> Parsed<()> {
        let mut group = self.groups.pop().unwrap_or_default();
        if self.groups.is_empty() {
            return Err("unexpected `)`");
        }
        group.end_alternative();
        self.flags = group.outer_flags;
        self.push(Hir::alternation(group.alternatives), group.count.max(1));
        Ok(())
    }

    fn repeat(&mut self, min: u32, max: Option<u32>, after_repetition: bool) -> Parsed<()> {
        let greedy = self.eat("?") == self.flags.swap_greed;
        self.repeated = true;
        if after_repetition {
            return Err("repetition of a repetition");
        }
        let part = self.groups.last_mut().and_then(|group| group.parts.pop());
        let (part, count) = part.ok_or("nothing to repeat")?;
        let count = count.saturating_mul(max.unwrap_or(min.max(1)));
        if count > REPEAT_LIMIT {
            return Err("too many repetitions");
        }
        // Without parentheses, `(a{2})?` would be written like the lazy `a{2}?`.
        let part = match part.kind() {
            HirKind::Repetition(_) => Hir::capture(Capture { index: 1, name: None, sub: Box::new(part) }),
            _ => part,
        };
        self.push(Hir::repetition(Repetition { min, max, greedy, sub: Box::new(part) }), count);
        Ok(())
    }

    /// Reads `{2}`, `{2,}` or `{2,3}`; `None` if it is something else.
    fn counts(&mut self) -> Parsed<Option<(u32, Option<u32>)>> {
        let is_number = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
        };
        let Some((inside, _)) = self.rest().strip_prefix('{').and_then(|rest| rest.split_once('}')) else { return Ok(None) };
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        if !is_number(least) || !(is_number(most) || most.is_empty()) {
            return Ok(None);
        }
        self.at += inside.len() + 2;
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|number| *number <= REPEAT_LIMIT).ok_or("invalid repetition count");
        let least = number(least)?;
        let most = if most.is_empty() { None } else { Some(number(most)?) };
        if most.is_some_and(|most| most < least) { Err("invalid repetition count") } else { Ok(Some((least, most))) }
    }

    /// Reads `?i)`, `?i:`, `?P<name>` and the like without the question mark.
    fn flags_or_name(&mut self) -> Parsed<()> {
        if self.eat("P<") || self.eat("<") {
            let name = self.until(">").unwrap_or_default();
            self.open(self.flags);
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
            return if is_name { Ok(()) } else { Err("invalid name of a group") };
        }
        let mut flags = self.flags;
        let (mut value, mut has_flag) = (true, false);
        loop {
            let flag = match self.take() {
                Some('i') => &mut flags.ignore_case,
                Some('m') => &mut flags.multi_line,
                Some('s') => &mut flags.dot_matches_newline,
                Some('U') => &mut flags.swap_greed,
                Some('-') if value => {
                    (value, has_flag) = (false, false);
                    continue;
                }
                Some(end @ (':' | ')')) if value || has_flag => {
                    if end == ':' {
                        self.open(flags);
                    } else {
                        self.flags = flags;
                    }
                    return Ok(());
                }
                _ => return Err("invalid or unsupported group"),
            };
            *flag = value;
            has_flag = true;
        }
    }

    /// Reads a backslash outside of a class.
    fn escape(&mut self) -> Parsed<()> {
        if self.eat(r"\Q") {
            let rest = self.rest();
            let quoted = self.until(r"\E").unwrap_or_else(|| {
                self.at = self.pattern.len();
                rest
            });
            for character in quoted.chars() {
                self.push_class(self.range(character.into(), character.into()));
            }
            return Ok(());
        }
        let looks = [(r"\A", Look::Start), (r"\z", Look::End), (r"\b", Look::WordAscii), (r"\B", Look::WordAsciiNegate)];
        if let Some((_, look)) = looks.into_iter().find(|(text, _)| self.eat(text)) {
            self.push(Hir::look(look), 1);
            return Ok(());
        }
        let class = match self.named_class()? {
            Some(class) => class,
            None => {
                let code = self.escaped_character()?;
                self.range(code, code)
            }
        };
        self.push_class(class);
        Ok(())
    }

    fn escaped_character(&mut self) -> Parsed<u32> {
        const INVALID: &str = "invalid escape";
        self.eat("\\");
        let is_octal = |parser: &Self| parser.rest().starts_with(|digit| ('0'..='7').contains(&digit));
        match self.take().ok_or("a backslash at the end")? {
            'a' => Ok(7),
            'f' => Ok(12),
            'n' => Ok(10),
            'r' => Ok(13),
            't' => Ok(9),
            'v' => Ok(11),
            // A single digit other than 0 would refer to a group.
            first @ '0'..='7' if first == '0' || is_octal(self) => {
                let mut code = u32::from(first) - u32::from('0');
                for _ in 0..2 {
                    if is_octal(self) {
                        code = code * 8 + self.take().and_then(|digit| digit.to_digit(8)).unwrap_or_default();
                    }
                }
                Ok(code)
            }
            'x' => {
                let digits = match self.eat("{") {
                    true => self.until("}"),
                    false => self.rest().get(..2).inspect(|_| self.at += 2),
                };
                let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())).ok_or(INVALID)?;
                let code = u32::from_str_radix(digits, 16).ok().filter(|code| *code <= char::MAX.into());
                code.ok_or(INVALID)
            }
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(other.into()),
            _ => Err(INVALID),
        }
    }

    /// Reads `[…]`.
    fn class(&mut self) -> Parsed<()> {
        let is_negated = self.eat("[^");
        if !is_negated {
            self.eat("[");
        }
        let mut ranges: Vec<ClassUnicodeRange> = Vec::new();
        let mut is_first = true;
        while is_first || !self.eat("]") {
            is_first = false;
            let part = match self.named_class()? {
                Some(class) => class,
                None => {
                    let low = self.class_character()?;
                    let is_range = self.rest() != "-" && !self.rest().starts_with("-]") && self.eat("-");
                    let high = if is_range { self.class_character()? } else { low };
                    if high < low {
                        return Err("invalid range");
                    }
                    self.range(low, high)
                }
            };
            ranges.extend(part.iter());
        }
        let mut class = ClassUnicode::new(ranges);
        if is_negated {
            class.negate();
        }
        self.push_class(class);
        Ok(())
    }

    fn class_character(&mut self) -> Parsed<u32> {
        match self.rest().starts_with('\\') {
            true => self.escaped_character(),
            false => self.take().map(u32::from).ok_or("missing `]`"),
        }
    }

    /// Reads `\d`, `\pL` or, within brackets, `[:alpha:]`; `None` if it is something else.
    fn named_class(&mut self) -> Parsed<Option<ClassUnicode>> {
        let rest = self.rest();
        let (class, is_negated) = if let Some((name, _)) = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) {
            self.at += name.len() + 4;
            let (name, is_negated) = without_caret(name);
            let is_known = ClassAsciiKind::from_name(name).is_some();
            (is_known.then(|| class_of(&format!("[[:{name}:]]"))).flatten(), is_negated)
        } else if self.eat(r"\p") || self.eat(r"\P") {
            let (name, is_inverted) = without_caret(self.unicode_name().unwrap_or_default());
            (unicode_class(name), rest.starts_with(r"\P") != is_inverted)
        } else {
            let (class, is_negated) = match rest.get(..2) {
                Some(r"\d") => ("[0-9]", false),
                Some(r"\D") => ("[0-9]", true),
                Some(r"\s") => (r"[\t\n\x0c\r ]", false),
                Some(r"\S") => (r"[\t\n\x0c\r ]", true),
                Some(r"\w") => ("[0-9A-Za-z_]", false),
                Some(r"\W") => ("[0-9A-Za-z_]", true),
                _ => return Ok(None),
            };
            self.at += 2;
            (class_of(class), is_negated)
        };
        let mut class = class.ok_or("unknown class")?;
        if self.flags.ignore_case {
            class.case_fold_simple();
        }
        if is_negated {
            class.negate();
        }
        Ok(Some(class))
    }

    /// Reads the name after `\p`: a letter, or more of them in braces.
    fn unicode_name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        match self.take()? {
            '{' => self.until("}"),
            letter => rest.get(..letter.len_utf8()),
        }
    }

    /// The characters with these numbers, in both cases if case is ignored. No text has surrogates.
    fn range(&self, low: u32, high: u32) -> ClassUnicode {
        let low = char::from_u32(low).unwrap_or('\u{e000}');
        let high = char::from_u32(high).unwrap_or('\u{d7ff}');
        let mut class = ClassUnicode::new((low <= high).then(|| ClassUnicodeRange::new(low, high)));
        if self.flags.ignore_case {
            class.case_fold_simple();
        }
        class
    }
}

/// Returns the name of a class, and if a caret before it negates the class.
fn without_caret(name: &str) -> (&str, bool) {
    name.strip_prefix('^').map_or((name, false), |name| (name, true))
}

/// Returns a class of Unicode, if Go knows its name: a general category or its alias, or else a
/// script. As in Go 1.25 and later, case, spaces, hyphens and underscores in names do not matter.
fn unicode_class(name: &str) -> Option<ClassUnicode> {
    let is_separator = |c: char| matches!(c, ' ' | '-' | '_');
    let name: String = name.chars().filter(|c| !is_separator(*c)).map(|c| c.to_ascii_lowercase()).collect();
    // The engine ignores "is" before a name.
    if name.is_empty() || name.starts_with("is") || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    if matches!(name.as_str(), "cs" | "surrogate") {
        return Some(ClassUnicode::empty());
    }
    let script = || {
        let is_known = name.len() != 4 || SHORT_SCRIPTS.contains(&name.as_str());
        is_known.then(|| class_of(&format!(r"\p{{sc={name}}}"))).flatten()
    };
    class_of(&format!(r"\p{{gc={name}}}")).or_else(script)
}

/// Returns the class that an expression of the engine is.
fn class_of(expression: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(expression).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        // A class of one character.
        HirKind::Literal(literal) => {
            let character = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            Some(ClassUnicode::new([ClassUnicodeRange::new(character, character)]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The results of the `regexp` of Go 1.26 for patterns: its error `e`, and the matches `m` of
    /// the texts `t`.
    const GO: &str = include_str!("pattern/go.json");

    #[test]
    fn patterns_are_read_as_go_reads_them() {
        let cases: Vec<Value> = serde_json::from_str(GO).unwrap();
        assert!(cases.len() > 150, "{}", cases.len());
        for case in cases {
            let pattern = case["p"].as_str().unwrap();
            match compile(pattern) {
                Err(error) => assert!(case["e"].is_string(), "{pattern}: {error}"),
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
                prop_assert!(Regex::new(&translated).is_ok(), "{pattern} becomes {translated}, which is not read");
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
