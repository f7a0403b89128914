//! Texts for people: cuts those of any length, escapes control characters, and joins errors with
//! their sources.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write as _};

const MARK: char = '…';

/// The text, or as many of its characters as fit in `limit` bytes with an ellipsis.
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let Some(room) = limit.checked_sub(MARK.len_utf8()) else { return String::new() };
    let kept = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
    format!("{kept}{MARK}")
}

/// As [`cut`], without a copy if the text fits.
pub fn cut_owned(text: String, limit: usize) -> String {
    if text.len() <= limit { text } else { cut(&text, limit) }
}

/// The displayed value as [`cut`] would leave it. Formatting stops when the limit is reached.
pub fn displayed(value: &(impl fmt::Display + ?Sized), limit: usize) -> String {
    let mut bounded = Bounded { text: String::new(), limit };
    // The only error is that the limit is reached.
    let _ = write!(bounded, "{value}");
    cut_owned(bounded.text, limit)
}

/// `a, b and c`.
pub fn list(words: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let mut words: Vec<String> = words.into_iter().map(|word| format!("{word}")).collect();
    match (words.pop(), words.is_empty()) {
        (None, _) => "none".to_owned(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} and {last}", words.join(", ")),
    }
}

/// Escapes control characters: a line break could begin a forged log line.
pub fn without_control(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if letter.is_control() { plain.extend(letter.escape_default()) } else { plain.push(letter) }
    }
    Cow::Owned(plain)
}

/// An error with its sources, each once: some errors repeat their source.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    error_chain_with(error, |_| None)
}

/// As [`error_chain`], where `whole` returns the text of an error that says all of its sources.
pub fn error_chain_with(error: &(dyn Error + 'static), whole: impl Fn(&(dyn Error + 'static)) -> Option<String>) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let (own, rest) = match whole(error) {
            Some(own) => (own, None),
            None => (error.to_string(), error.source()),
        };
        let own = without_code(&without_source(&own, rest), error);
        if !own.is_empty() && !text.contains(&own) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&own);
        }
        next = rest;
    }
    text
}

fn without_source(text: &str, source: Option<&(dyn Error + 'static)>) -> String {
    let source = source.map(ToString::to_string).unwrap_or_default();
    match text.split_once(&source) {
        Some((before, _)) if !source.is_empty() => before.trim_end_matches([' ', ':', '(']).to_owned(),
        _ => text.to_owned(),
    }
}

fn without_code(text: &str, error: &(dyn Error + 'static)) -> String {
    let code = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    code.map_or_else(|| text.to_owned(), |code| text.replace(&format!(" (os error {code})"), ""))
}

struct Bounded {
    text: String,
    limit: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = (self.limit + 1).saturating_sub(self.text.len());
        if text.len() <= room {
            self.text.push_str(text);
            return Ok(());
        }
        self.text.push_str(text.get(..text.ceil_char_boundary(room)).unwrap_or_default());
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_of_a_plugin_stays_one() {
        assert_eq!(without_control("two \"words\" – ü"), "two \"words\" – ü");
        assert_eq!(without_control("a\n2026-01-01 ERROR\r\t\u{1b}[31m\u{85}"), "a\\n2026-01-01 ERROR\\r\\t\\u{1b}[31m\\u{85}");
    }

    #[test]
    fn a_text_is_cut_between_characters_and_marked_as_cut() {
        for (text, limit, expected) in [
            ("", 0, ""),
            ("Grüße", 7, "Grüße"),
            ("Grüße", 6, "Gr…"),
            ("Grüße", 5, "Gr…"),
            ("Grüße", 3, "…"),
            ("Grüße", 2, ""),
            ("Grüße, all", 7, "Grü…"),
        ] {
            assert_eq!(cut(text, limit), expected, "{text:?} in {limit} bytes");
        }
    }

    #[test]
    fn no_more_is_displayed_than_there_is_room_for() {
        struct Endless(std::cell::Cell<usize>);
        impl fmt::Display for Endless {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    self.0.set(self.0.get() + 1);
                    formatter.write_str("and so on, ")?;
                }
            }
        }
        let endless = Endless(std::cell::Cell::new(0));
        assert_eq!(displayed(&endless, 20), "and so on, and so…");
        assert_eq!(endless.0.get(), 2);
    }

    proptest! {
        #[test]
        fn a_cut_text_is_within_its_limit_and_a_prefix_of_the_text(text in "\\PC{0,40}", limit in 0_usize..60) {
            let kept = cut(&text, limit);
            prop_assert!(kept.len() <= limit);
            prop_assert!(text.starts_with(kept.trim_end_matches(MARK)) || kept == text);
            prop_assert_eq!(kept == text, text.len() <= limit);
            prop_assert_eq!(displayed(&text, limit), kept.clone());
            prop_assert_eq!(cut_owned(text, limit), kept);
        }
    }
}
