//! The `WWW-Authenticate` header of a registry (RFC 9110, section 11.6.1): by which scheme it wants
//! requests to be authenticated, and where tokens come from.
//!
//! What is absent: the `scope` of a challenge. gyre asks for the scope that a request needs, so a
//! registry cannot make it ask for a token for something else.

use crate::bounds;

/// The most challenges, and the most parameters of one.
const MOST: usize = 16;

/// The scheme and the parameters of a challenge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The scheme in lower case, e.g. `bearer`.
    pub scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// The value of a parameter, whose name is in lower case. The first one counts.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut values = self.parameters.iter().filter(|(key, _)| key == name);
        values.next().map(|(_, value)| value.as_str())
    }
}

/// An error about a `WWW-Authenticate` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is too long.
    #[error("the WWW-Authenticate header has more than {} bytes", bounds::CHALLENGE)]
    Length,
    /// It has too many challenges or parameters.
    #[error("the WWW-Authenticate header has more than {} challenges or parameters", MOST)]
    Number,
    /// A quoted text does not end.
    #[error("the WWW-Authenticate header has a quoted text without an end")]
    Quote,
    /// A parameter comes before the first scheme.
    #[error("the WWW-Authenticate header begins with a parameter")]
    Scheme,
    /// A realm says itself what its tokens are for.
    #[error("the realm has a scope, a service or an account in its query")]
    Realm,
}

/// Reads all challenges of a header.
///
/// # Errors
///
/// If the header cannot be read. Challenges of unknown schemes are no error.
pub fn parse(header: &str) -> Result<Vec<Challenge>, Error> {
    if header.len() > bounds::CHALLENGE {
        return Err(Error::Length);
    }
    let mut reader = Reader { rest: header };
    let mut challenges: Vec<Challenge> = Vec::new();
    loop {
        reader.skip(|letter| matches!(letter, ' ' | '\t' | ','));
        if reader.rest.is_empty() {
            return Ok(challenges);
        }
        let word = reader.token();
        reader.skip_spaces();
        if word.is_empty() {
            // Neither a scheme nor a parameter, e.g. credentials of an unknown scheme.
            reader.skip(|letter| letter != ',');
        } else if reader.is_at('=') {
            let value = reader.value()?;
            let challenge = challenges.last_mut().ok_or(Error::Scheme)?;
            if challenge.parameters.len() == MOST {
                return Err(Error::Number);
            }
            challenge.parameters.extend(value.map(|value| (word.to_ascii_lowercase(), value)));
        } else if challenges.len() == MOST {
            return Err(Error::Number);
        } else {
            challenges.push(Challenge { scheme: word.to_ascii_lowercase(), parameters: Vec::new() });
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter: char| !is_part(letter)).unwrap_or(self.rest.len());
        let (part, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        part
    }

    fn skip(&mut self, is_part: impl Fn(char) -> bool) {
        self.take(is_part);
    }

    fn skip_spaces(&mut self) {
        self.skip(|letter| letter == ' ' || letter == '\t');
    }

    fn is_at(&self, letter: char) -> bool {
        self.rest.starts_with(letter)
    }

    /// Takes a token of RFC 9110, which may be empty.
    fn token(&mut self) -> &'a str {
        self.take(|letter| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter))
    }

    /// Takes `=` and a value; `None` if it is the end of credentials in base64, e.g. `abc==`.
    fn value(&mut self) -> Result<Option<String>, Error> {
        self.rest = self.rest.strip_prefix('=').unwrap_or(self.rest);
        self.skip_spaces();
        if self.is_at('"') {
            return self.quoted().map(Some);
        }
        let token = self.token();
        if token.is_empty() {
            self.skip(|letter| letter != ',');
            return Ok(None);
        }
        Ok(Some(token.to_owned()))
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let mut value = String::new();
        let mut letters = self.rest.chars();
        // The quote at the beginning.
        letters.next();
        loop {
            match letters.next().ok_or(Error::Quote)? {
                '"' => break,
                '\\' => value.push(letters.next().ok_or(Error::Quote)?),
                letter => value.push(letter),
            }
        }
        self.rest = letters.as_str();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn challenge(scheme: &str, parameters: &[(&str, &str)]) -> Challenge {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Challenge { scheme: scheme.to_owned(), parameters }
    }

    #[test]
    fn challenges_are_read() {
        let bearer = challenge(
            "bearer",
            &[
                ("realm", "https://auth.example.com/token"),
                ("service", "registry.example.com"),
                ("scope", "repository:a/b:pull,push"),
            ],
        );
        let basic = challenge("basic", &[("realm", "a \"registry\"")]);
        let text =
            r#"Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="repository:a/b:pull,push""#;
        for (header, expected) in [
            (text.to_owned(), vec![bearer.clone()]),
            (text.replace("Bearer", "BEARER").replace("realm", "Realm"), vec![bearer.clone()]),
            (format!("Basic realm=\"a \\\"registry\\\"\", {text}"), vec![basic.clone(), bearer.clone()]),
            (format!("{text} , Basic realm = \"a \\\"registry\\\"\""), vec![bearer.clone(), basic]),
            ("Basic realm=a".to_owned(), vec![challenge("basic", &[("realm", "a")])]),
            ("Basic".to_owned(), vec![challenge("basic", &[])]),
            (format!("Negotiate YWJj==, {text}"), vec![challenge("negotiate", &[]), bearer]),
            (String::new(), Vec::new()),
            (" ,, ".to_owned(), Vec::new()),
        ] {
            assert_eq!(parse(&header), Ok(expected), "{header}");
        }
        let twice = parse(r#"Bearer realm="a", realm="b""#).unwrap();
        assert_eq!(twice[0].parameter("realm"), Some("a"));
        assert_eq!(twice[0].parameter("service"), None);
    }

    #[test]
    fn headers_without_an_end_are_refused() {
        assert_eq!(parse(r#"Bearer realm="a"#), Err(Error::Quote));
        assert_eq!(parse("Bearer realm=\"a\\"), Err(Error::Quote));
        assert_eq!(parse("realm=a"), Err(Error::Scheme));
        assert_eq!(parse(&"a ".repeat(MOST + 1)), Err(Error::Number));
        assert_eq!(parse(&format!("a {}", "b=c,".repeat(MOST + 1))), Err(Error::Number));
        assert_eq!(parse(&"a".repeat(bounds::CHALLENGE + 1)), Err(Error::Length));
    }

    proptest! {
        #[test]
        fn any_header_is_refused_or_read(header in "[a-zA-Z=\", \\\\:/.]{0,60}|.{0,60}") {
            if let Ok(challenges) = parse(&header) {
                prop_assert!(challenges.len() <= MOST);
                for challenge in challenges {
                    prop_assert!(!challenge.scheme.is_empty() && challenge.parameters.len() <= MOST);
                }
            }
        }

        #[test]
        fn a_value_is_read_as_it_is_quoted(realm in "\\PC{0,40}") {
            let quoted = realm.replace('\\', "\\\\").replace('"', "\\\"");
            let challenges = parse(&format!("Bearer realm=\"{quoted}\", service=a")).unwrap();
            prop_assert_eq!(challenges.len(), 1);
            prop_assert_eq!(challenges[0].parameter("realm"), Some(realm.as_str()));
            prop_assert_eq!(challenges[0].parameter("service"), Some("a"));
        }
    }
}
