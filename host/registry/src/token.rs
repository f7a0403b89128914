//! The answer of a realm: a token and how long it is valid.
//!
//! See the [token authentication] of distribution, and its OAuth2 variant.
//!
//! [token authentication]: https://distribution.github.io/distribution/spec/auth/token/

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use crate::bounds;

/// The validity of a token whose answer does not say one, as the specification demands.
const DEFAULT_SECONDS: f64 = 60.0;
/// The longest validity that is believed. A token that ends earlier is replaced anyway, because
/// the registry refuses it.
const MOST_SECONDS: f64 = 24.0 * 60.0 * 60.0;

/// A token for requests to a registry.
#[derive(Clone, PartialEq)]
pub struct Token {
    value: String,
    expires_in: Duration,
}

/// Without the value, which is a secret.
impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Token").field("expires_in", &self.expires_in).finish_non_exhaustive()
    }
}

impl Token {
    /// The token, a secret.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// The time from its issue to its end.
    pub fn expires_in(&self) -> Duration {
        self.expires_in
    }

    /// Reads an answer.
    ///
    /// # Errors
    ///
    /// If it contains no token that can be sent. No error quotes the answer.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() as u64 > bounds::TOKEN {
            return Err(Error::Size(bytes.len()));
        }
        let answer: Answer = serde_json::from_slice(bytes).map_err(|_| Error::Json)?;
        let is_given = |token: &String| !token.is_empty();
        let value = answer.token.filter(is_given).or(answer.access_token).filter(is_given).ok_or(Error::Missing)?;
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Letters);
        }
        let seconds = answer.expires_in.unwrap_or(DEFAULT_SECONDS).clamp(0.0, MOST_SECONDS);
        Ok(Self { value, expires_in: Duration::from_secs_f64(seconds) })
    }
}

#[derive(Deserialize)]
struct Answer {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<f64>,
}

/// An error about the answer of a realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is too long.
    #[error("the answer has {0} bytes, which is more than {limit}", limit = bounds::TOKEN)]
    Size(usize),
    /// It is not JSON with the expected fields.
    #[error("the answer cannot be read as JSON with a token")]
    Json,
    /// It has no token.
    #[error("the answer has neither \"token\" nor \"access_token\"")]
    Missing,
    /// The token cannot be sent in a header.
    #[error("the token has letters that a header cannot have")]
    Letters,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(answer: &str, expected: Result<(&str, u64), Error>) {
        let found = Token::parse(answer.as_bytes()).map(|token| (token.value().to_owned(), token.expires_in().as_secs()));
        assert_eq!(found, expected.map(|(value, seconds)| (value.to_owned(), seconds)), "{answer}");
    }

    #[test]
    fn a_token_has_two_names_and_a_default_validity() {
        check(r#"{"token":"a","expires_in":300,"issued_at":"2026-11-22T00:00:00Z"}"#, Ok(("a", 300)));
        check(r#"{"access_token":"b"}"#, Ok(("b", 60)));
        check(r#"{"token":"a","access_token":"b"}"#, Ok(("a", 60)));
        check(r#"{"token":"","access_token":"b","expires_in":null}"#, Ok(("b", 60)));
        check(r#"{"token":"a","expires_in":-1}"#, Ok(("a", 0)));
        check(r#"{"token":"a","expires_in":1e300}"#, Ok(("a", 86_400)));
    }

    #[test]
    fn other_answers_are_refused_without_quoting_them() {
        check("secret", Err(Error::Json));
        check(r#"{"token":1}"#, Err(Error::Json));
        check("{}", Err(Error::Missing));
        check(r#"{"token":""}"#, Err(Error::Missing));
        check(r#"{"token":"a\r\nHost: b"}"#, Err(Error::Letters));
        check(r#"{"token":"ä"}"#, Err(Error::Letters));
        let long = vec![b' '; bounds::TOKEN as usize + 1];
        assert_eq!(Token::parse(&long), Err(Error::Size(long.len())));
        let token = Token::parse(br#"{"token":"secret"}"#).unwrap();
        assert!(!format!("{token:?}").contains("secret"));
    }

    proptest! {
        #[test]
        fn any_answer_is_refused_or_can_be_sent(
            bytes: Vec<u8>,
            token in "\\PC{0,20}",
            seconds: f64
        ) {
            let _ = Token::parse(&bytes);
            let answer = serde_json::json!({"token": token, "expires_in": seconds}).to_string();
            if let Ok(token) = Token::parse(answer.as_bytes()) {
                let header = format!("Bearer {}", token.value());
                prop_assert!(http::HeaderValue::from_str(&header).is_ok());
            }
        }
    }
}
