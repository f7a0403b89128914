//! The words of a label selector.

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Error,
    End,
    ClosedParenthesis,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    GreaterThan,
    Identifier,
    In,
    LessThan,
    NotEquals,
    NotIn,
    OpenParenthesis,
}

/// A word and how it is written.
pub(super) type Word<'a> = (Token, &'a str);

/// The words of `text`; the last one is [`Token::End`]. A zero byte ends the text, as it does for
/// the API server.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut rest = text.split('\0').next().unwrap_or_default();
    let mut words = Vec::new();
    loop {
        rest = rest.trim_start_matches(is_blank);
        let word = next_word(rest);
        words.push(word);
        match word {
            (Token::End, _) => return words,
            (Token::Error, _) => {
                words.push((Token::End, ""));
                return words;
            }
            (_, text) => rest = rest.strip_prefix(text).unwrap_or_default(),
        }
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(character: char) -> bool {
    matches!(character, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn next_word(rest: &str) -> Word<'_> {
    if rest.is_empty() {
        return (Token::End, "");
    }
    let symbols = [
        ("==", Token::DoubleEquals),
        ("!=", Token::NotEquals),
        ("=", Token::Equals),
        ("!", Token::Not),
        ("(", Token::OpenParenthesis),
        (")", Token::ClosedParenthesis),
        (",", Token::Comma),
        (">", Token::GreaterThan),
        ("<", Token::LessThan),
    ];
    if let Some((symbol, token)) = symbols.into_iter().find(|(symbol, _)| rest.starts_with(symbol)) {
        return (token, symbol);
    }
    let end = rest.find(|character| is_blank(character) || is_symbol(character)).unwrap_or(rest.len());
    let Some(text) = rest.get(..end) else { return (Token::Error, rest) };
    match text {
        "in" => (Token::In, text),
        "notin" => (Token::NotIn, text),
        _ => (Token::Identifier, text),
    }
}
