//! Label selectors, as in `?labelSelector=` and as in the `selector` of an object.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::lexer::{Token, Word, words};
use crate::object;
use crate::status::{FieldError, Status};

/// A selector by labels. The default matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    DoesNotExist,
    Equals,
    DoubleEquals,
    NotEquals,
    In,
    NotIn,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1`.
    ///
    /// # Errors
    ///
    /// `BadRequest`, saying what was found and what expected.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let requirements = Parser { words: words(text), position: 0 }.selector().map_err(Status::bad_request)?;
        Ok(Self::of(requirements))
    }

    /// The selector that a `metav1.LabelSelector` describes: an absent one matches nothing, an
    /// empty one everything.
    ///
    /// # Errors
    ///
    /// The error of the server.
    pub(crate) fn from_object(selector: Option<&Value>) -> Result<Self, String> {
        let Some(selector) = selector.filter(|selector| !selector.is_null()) else {
            return Ok(Self { nothing: true, ..Self::default() });
        };
        let mut requirements = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            let values = BTreeSet::from([value.as_str().unwrap_or_default().to_owned()]);
            requirements.push(Requirement::new(key, Operator::Equals, values)?);
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = match object::text(expression, "operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{other:?} is not a valid label selector operator")),
            };
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
            requirements.push(Requirement::new(object::text(expression, "key"), operator, values)?);
        }
        Ok(Self::of(requirements))
    }

    /// Returns whether it matches everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Returns whether an object's labels are as required.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        !self.nothing
            && self.requirements.iter().all(|requirement| requirement.matches(object::label(object, &requirement.key)))
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements, nothing: false }
    }
}

/// As the server writes it, e.g. `app=echo,tier in (a,b)`.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            write!(f, "{separator}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let values = self.values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        match self.operator {
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

impl Requirement {
    fn new(key: &str, operator: Operator, values: BTreeSet<String>) -> Result<Self, String> {
        let mut errors: Vec<FieldError> = Vec::new();
        if let Some(why) = key_fault(key) {
            errors.push(FieldError::invalid("key", key, why));
        }
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                let why = "for 'in', 'notin' operators, values set can't be empty";
                errors.push(FieldError::invalid("values", Value::Array(Vec::new()), why));
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                let why = "values set must be empty for exists and does not exist";
                let values = values.iter().map(|value| Value::from(value.as_str())).collect();
                errors.push(FieldError::invalid("values", Value::Array(values), why));
            }
            Operator::GreaterThan | Operator::LessThan => {
                for (index, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
                    let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                    errors.push(FieldError::invalid(format!("values[{index}]"), value.as_str(), why));
                }
            }
            _ => {}
        }
        for (index, value) in values.iter().enumerate() {
            if let Some(why) = value_fault(value) {
                errors.push(FieldError::invalid(format!("values[{index}][{key}]"), value.as_str(), why));
            }
        }
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        match texts.as_slice() {
            [] => Ok(Self { key: key.to_owned(), operator, values }),
            [one] => Err(one.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    fn matches(&self, label: Option<&str>) -> bool {
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(|label| self.values.contains(label)),
            Operator::NotIn | Operator::NotEquals => label.is_none_or(|label| !self.values.contains(label)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compare(label).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.compare(label).is_some_and(|(label, bound)| label < bound),
        }
    }

    /// The label and the bound as numbers, if they are.
    fn compare(&self, label: Option<&str>) -> Option<(i64, i64)> {
        Some((label?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

/// The context of words: `in` and `notin` are operators after a key, and names elsewhere.
#[derive(Clone, Copy)]
enum Context {
    Operator,
    Name,
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    position: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self, context: Context) -> Word<'a> {
        let (token, text) = self.words.get(self.position).copied().unwrap_or((Token::End, ""));
        match (context, token) {
            (Context::Name, Token::In | Token::NotIn) => (Token::Identifier, text),
            _ => (token, text),
        }
    }

    fn next(&mut self, context: Context) -> Word<'a> {
        let word = self.peek(context);
        self.position += 1;
        word
    }

    fn selector(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek(Context::Name) {
                (Token::Identifier | Token::Not, _) => {
                    let requirement = self.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
                    requirements.push(requirement);
                    match self.next(Context::Name) {
                        (Token::End, _) => return Ok(requirements),
                        (Token::Comma, _) => match self.peek(Context::Name) {
                            (Token::Identifier | Token::Not, _) => {}
                            (_, text) => return Err(format!("found '{text}', expected: identifier after ','")),
                        },
                        (_, text) => return Err(format!("found '{text}', expected: ',' or 'end of string'")),
                    }
                }
                (Token::End, _) => return Ok(requirements),
                (_, text) => return Err(format!("found '{text}', expected: !, identifier, or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut word = self.next(Context::Name);
        let negated = word.0 == Token::Not;
        if negated {
            word = self.next(Context::Name);
        }
        let (Token::Identifier, key) = word else {
            return Err(format!("found '{}', expected: identifier", word.1));
        };
        if let Some(why) = key_fault(key) {
            return Err(FieldError::invalid("<nil>", key, why).to_string());
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, BTreeSet::new());
        }
        if matches!(self.peek(Context::Name).0, Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, BTreeSet::new());
        }
        let operator = match self.next(Context::Operator) {
            (Token::In, _) => Operator::In,
            (Token::NotIn, _) => Operator::NotIn,
            (Token::Equals, _) => Operator::Equals,
            (Token::DoubleEquals, _) => Operator::DoubleEquals,
            (Token::NotEquals, _) => Operator::NotEquals,
            (Token::GreaterThan, _) => Operator::GreaterThan,
            (Token::LessThan, _) => Operator::LessThan,
            (_, text) => return Err(format!("found '{text}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => BTreeSet::from([self.value()?]),
        };
        Requirement::new(key, operator, values)
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(Context::Name).0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next(Context::Name) {
            (Token::Identifier, text) => Ok(text.to_owned()),
            (_, text) => Err(format!("found '{text}', expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        match self.next(Context::Name) {
            (Token::OpenParenthesis, _) => {}
            (_, text) => return Err(format!("found '{text}' expected: '('")),
        }
        match self.peek(Context::Name) {
            (Token::Identifier | Token::Comma, _) => {
                let values = self.list()?;
                self.next(Context::Name);
                Ok(values)
            }
            (Token::ClosedParenthesis, _) => {
                self.next(Context::Name);
                Ok(BTreeSet::from([String::new()]))
            }
            (_, text) => Err(format!("found '{text}', expected: ',', ')' or identifier")),
        }
    }

    /// Values up to the closing parenthesis; what is missing beside a comma is the empty value.
    fn list(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            match self.next(Context::Name) {
                (Token::Identifier, text) => {
                    values.insert(text.to_owned());
                    match self.peek(Context::Name) {
                        (Token::Comma, _) => {}
                        (Token::ClosedParenthesis, _) => return Ok(values),
                        (_, text) => return Err(format!("found '{text}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek(Context::Name).0 {
                        Token::ClosedParenthesis => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, text) => return Err(format!("found '{text}', expected: ',', or identifier")),
            }
        }
    }
}

/// Returns the error of a label's key.
fn key_fault(key: &str) -> Option<String> {
    let mut faults = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            return Some(
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
                    .to_owned(),
            );
        }
        Some((prefix, name)) => {
            faults.extend(prefix_faults(prefix));
            name
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified(name) {
        faults.push(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
             character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                .to_owned(),
        );
    }
    (!faults.is_empty()).then(|| faults.join("; "))
}

fn prefix_faults(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut faults = Vec::new();
    if prefix.len() > 253 {
        faults.push("prefix part must be no more than 253 bytes".to_owned());
    }
    let is_label = |label: &str| {
        let ends = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let bytes = label.as_bytes();
        ends(bytes.first())
            && ends(bytes.last())
            && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    };
    if !prefix.split('.').all(is_label) {
        faults.push(
            "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    faults
}

/// Returns the error of a label's value.
fn value_fault(value: &str) -> Option<String> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push("must be no more than 63 bytes");
    }
    if !value.is_empty() && !is_qualified(value) {
        faults.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
             with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        );
    }
    (!faults.is_empty()).then(|| faults.join("; "))
}

fn is_qualified(name: &str) -> bool {
    let bytes = name.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}
