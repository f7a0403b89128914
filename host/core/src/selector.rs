//! Label selectors, as the API server reads them (`k8s.io/apimachinery/pkg/labels`): in the syntax
//! of `kubectl get -l`, or as the `metav1.LabelSelector` of an object.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::names;

/// Requirements that a matching object meets, all of them; without any, every object matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Requirement {
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Operator {
    Exists,
    DoesNotExist,
    Equals,
    /// Also met by an object without the label.
    NotEquals,
    In,
    /// Also met by an object without the label.
    NotIn,
    GreaterThan,
    LessThan,
}

/// The reason why a text or an object is not a selector, with the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl FromStr for Selector {
    type Err = Error;

    /// Reads e.g. `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1`.
    fn from_str(text: &str) -> Result<Self, Error> {
        // The API server stops at a zero byte, too.
        let mut words = Words { rest: text.split('\0').next().unwrap_or_default() };
        let mut requirements = Vec::new();
        if words.peek().is_empty() {
            return Ok(Self::default());
        }
        loop {
            requirements.push(words.requirement()?);
            match words.next() {
                "" => return Ok(Self::of(requirements)),
                "," => {}
                other => return Err(unexpected(other, "`,` or the end")),
            }
        }
    }
}

impl Selector {
    /// Reads a `metav1.LabelSelector`: `matchLabels` and `matchExpressions`. An empty one selects
    /// everything.
    ///
    /// # Errors
    ///
    /// A key, a value or an operator is invalid, or the values do not fit the operator.
    pub fn from_object(selector: &Value) -> Result<Self, Error> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut requirements = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            requirements.push(Requirement::new(key, Operator::Equals, BTreeSet::from([text(Some(value))]))?);
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = match text(expression.get("operator")).as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(Error(format!("`{other}` is not an operator of a selector"))),
            };
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.map(|value| text(Some(value))).collect();
            requirements.push(Requirement::new(&text(expression.get("key")), operator, values)?);
        }
        Ok(Self::of(requirements))
    }

    /// Returns whether an object with these labels matches.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<Cow<'a, str>>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(label(&requirement.key).as_deref()))
    }

    /// Returns whether every object matches.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The order of requirements has no meaning, and the API server shows them by key.
    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Self(requirements)
    }
}

/// Writes a selector as the API server does, e.g. `app=echo,tier in (a,b)`.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, operator, values }) in self.0.iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            let values = values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
            f.write_str(separator)?;
            match operator {
                Operator::Exists => f.write_str(key),
                Operator::DoesNotExist => write!(f, "!{key}"),
                Operator::Equals => write!(f, "{key}={values}"),
                Operator::NotEquals => write!(f, "{key}!={values}"),
                Operator::In => write!(f, "{key} in ({values})"),
                Operator::NotIn => write!(f, "{key} notin ({values})"),
                Operator::GreaterThan => write!(f, "{key}>{values}"),
                Operator::LessThan => write!(f, "{key}<{values}"),
            }?;
        }
        Ok(())
    }
}

impl Requirement {
    fn new(key: &str, operator: Operator, values: BTreeSet<String>) -> Result<Self, Error> {
        if !names::is_label_key(key) {
            return Err(Error(format!("`{key}` is not a label key")));
        }
        if let Some(value) = values.iter().find(|value| !names::is_label_value(value)) {
            return Err(Error(format!("`{value}` is not a label value")));
        }
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                return Err(Error(format!("the operator of `{key}` needs values")));
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                return Err(Error(format!("the operator of `{key}` takes no values")));
            }
            Operator::GreaterThan | Operator::LessThan => {
                if let Some(value) = values.iter().find(|value| value.parse::<i64>().is_err()) {
                    return Err(Error(format!("`{value}` is not an integer")));
                }
            }
            _ => {}
        }
        Ok(Self { key: key.to_owned(), operator, values })
    }

    fn matches(&self, label: Option<&str>) -> bool {
        match self.operator {
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::In | Operator::Equals => label.is_some_and(|label| self.values.contains(label)),
            Operator::NotIn | Operator::NotEquals => label.is_none_or(|label| !self.values.contains(label)),
            Operator::GreaterThan => self.numbers(label).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.numbers(label).is_some_and(|(label, bound)| label < bound),
        }
    }

    /// The label and the bound as integers; `None` if the label is not an integer.
    fn numbers(&self, label: Option<&str>) -> Option<(i64, i64)> {
        Some((label?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
/// The longer ones first.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

/// The words of a selector: symbols, and names between them. The word at the end is empty.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn peek(&self) -> &'a str {
        let rest = self.rest.trim_start_matches(BLANKS);
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            return symbol;
        }
        let end = rest.find(|character| BLANKS.contains(&character) || is_symbol(character));
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
    }

    fn next(&mut self) -> &'a str {
        let word = self.peek();
        self.rest = self.rest.trim_start_matches(BLANKS).get(word.len()..).unwrap_or_default();
        word
    }

    fn name(&mut self, expected: &str) -> Result<&'a str, Error> {
        match self.next() {
            word if word.is_empty() || word.starts_with(is_symbol) => Err(unexpected(word, expected)),
            name => Ok(name),
        }
    }

    fn requirement(&mut self) -> Result<Requirement, Error> {
        if self.peek() == "!" {
            self.next();
            return Requirement::new(self.name("a key")?, Operator::DoesNotExist, BTreeSet::new());
        }
        let key = self.name("a key")?;
        if matches!(self.peek(), "" | ",") {
            return Requirement::new(key, Operator::Exists, BTreeSet::new());
        }
        let operator = match self.next() {
            "=" | "==" => Operator::Equals,
            "!=" => Operator::NotEquals,
            "in" => Operator::In,
            "notin" => Operator::NotIn,
            ">" => Operator::GreaterThan,
            "<" => Operator::LessThan,
            other => return Err(unexpected(other, "in, notin, =, ==, !=, < or >")),
        };
        let values = match (operator, self.peek()) {
            (Operator::In | Operator::NotIn, _) => self.values()?,
            (_, "" | ",") => BTreeSet::from([String::new()]),
            _ => BTreeSet::from([self.name("a value")?.to_owned()]),
        };
        Requirement::new(key, operator, values)
    }

    /// Reads `(a,b)`. If there is nothing between two of the symbols, the value is empty.
    fn values(&mut self) -> Result<BTreeSet<String>, Error> {
        match self.next() {
            "(" => {}
            other => return Err(unexpected(other, "`(`")),
        }
        let mut values = BTreeSet::new();
        loop {
            let value = if matches!(self.peek(), "," | ")") { "" } else { self.name("a value")? };
            values.insert(value.to_owned());
            match self.next() {
                "," => {}
                ")" => return Ok(values),
                other => return Err(unexpected(other, "`,` or `)`")),
            }
        }
    }
}

fn is_symbol(character: char) -> bool {
    "=!(),><".contains(character)
}

fn unexpected(found: &str, expected: &str) -> Error {
    match found {
        "" => Error(format!("it ends where {expected} is expected")),
        _ => Error(format!("found `{found}` where {expected} is expected")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(selector: &str, expected: Result<bool, &str>) {
        let label = |key: &str| match key {
            "app" => Some("web".into()),
            "tier" => Some("front".into()),
            "in" => Some("x".into()),
            "n" => Some("7".into()),
            "empty" => Some("".into()),
            "example.com/a" => Some("b".into()),
            _ => None,
        };
        let found = selector.parse::<Selector>().map(|selector| selector.matches(label));
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{selector}");
    }

    #[test]
    fn selectors_match_as_in_kubectl() {
        for (selector, matches) in [
            ("", true),
            (" ", true),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("app=web", true),
            ("app==web , tier = front", true),
            ("app=web,tier=back", false),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (api, web),tier", true),
            ("app in (api)", false),
            ("app notin (api,web)", false),
            ("other notin (web)", true),
            ("other in (web)", false),
            ("n>6", true),
            ("n>7", false),
            ("n<8", true),
            ("app<8", false),
            ("empty=", true),
            ("empty in ()", true),
            ("empty in (,x)", true),
            ("empty in (x,,y)", true),
            ("app=web,tier in (front, back),!gone , n>1", true),
            ("in in (x)", true),
            ("in in (in,notin)", false),
            ("example.com/a=b", true),
            ("app=web\0!", true),
        ] {
            check(selector, Ok(matches));
        }
    }

    /// The API server refuses them all.
    #[test]
    fn the_error_says_where_a_selector_is_wrong() {
        let long = "a".repeat(64);
        for (selector, error) in [
            ("app=web,", "it ends where a key is expected"),
            ("=web", "found `=` where a key is expected"),
            ("!", "it ends where a key is expected"),
            ("a,,b", "found `,` where a key is expected"),
            ("app among (web)", "found `among` where in, notin, =, ==, !=, < or > is expected"),
            ("app web", "found `web` where in, notin, =, ==, !=, < or > is expected"),
            ("app)", "found `)` where in, notin, =, ==, !=, < or > is expected"),
            ("a!x", "found `!` where in, notin, =, ==, !=, < or > is expected"),
            ("a in x", "found `x` where `(` is expected"),
            ("a in (x", "it ends where `,` or `)` is expected"),
            ("a in (x y)", "found `y` where `,` or `)` is expected"),
            ("a notin (=)", "found `=` where a value is expected"),
            ("a=b=c", "found `=` where `,` or the end is expected"),
            ("a=b c", "found `c` where `,` or the end is expected"),
            ("!a=b", "found `=` where `,` or the end is expected"),
            ("a>b", "`b` is not an integer"),
            ("-a=b", "`-a` is not a label key"),
            ("/b", "`/b` is not a label key"),
            ("a=-b", "`-b` is not a label value"),
            (&format!("a={long}"), &format!("`{long}` is not a label value")),
        ] {
            check(selector, Err(error));
        }
    }

    #[test]
    fn selectors_of_objects_are_written_and_matched() {
        let selector = json!({
            "matchLabels": { "app": "e" },
            "matchExpressions": [
                { "key": "x", "operator": "NotIn", "values": ["b", "a"] },
                { "key": "a", "operator": "DoesNotExist" },
            ],
        });
        let selector = Selector::from_object(&selector).unwrap();
        assert_eq!(selector.to_string(), "!a,app=e,x notin (a,b)");
        let matches = |labels: &[(&str, &str)]| {
            let labels: BTreeMap<_, _> = labels.iter().copied().collect();
            selector.matches(|key| labels.get(key).map(|value| Cow::from(*value)))
        };
        assert!(matches(&[("app", "e"), ("x", "c")]));
        assert!(!matches(&[("app", "e"), ("x", "a")]));
        assert!(Selector::from_object(&json!({})).unwrap().is_empty());
        for expression in [
            json!({ "key": "x", "operator": "Like" }),
            json!({ "key": "x", "operator": "In" }),
            json!({ "key": "x", "operator": "Exists", "values": ["a"] }),
            json!({ "key": "-", "operator": "Exists" }),
            json!({ "key": "x", "operator": "In", "values": ["-"] }),
        ] {
            let selector = json!({ "matchExpressions": [expression] });
            assert!(Selector::from_object(&selector).is_err(), "{selector}");
        }
    }

    type Meets = fn(Option<&str>, &[&str]) -> bool;

    /// A requirement as text, and its meaning for a key and values.
    fn requirements() -> impl Strategy<Value = (String, Meets, &'static str, Vec<&'static str>)> {
        let key = proptest::sample::select(vec!["app", "tier", "example.com/zone"]);
        let values = proptest::collection::vec(proptest::sample::select(vec!["", "a", "b", "c"]), 1..3);
        (key, values, 0..6_u8).prop_map(|(key, values, form)| {
            let (first, list) = (values[0], values.join(", "));
            let (text, meets): (String, Meets) = match form {
                0 => (key.to_owned(), |value, _| value.is_some()),
                1 => (format!("!{key}"), |value, _| value.is_none()),
                2 => (format!("{key}={first}"), |value, values| value == values.first().copied()),
                3 => (format!("{key} != {first}"), |value, values| value != values.first().copied()),
                4 => (format!("{key} in ({list})"), |value, values| value.is_some_and(|value| values.contains(&value))),
                _ => (format!("{key} notin ({list})"), |value, values| value.is_none_or(|value| !values.contains(&value))),
            };
            (text, meets, key, values)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn an_object_matches_if_it_meets_every_requirement(
            requirements in proptest::collection::vec(requirements(), 0..4),
            labels in proptest::collection::btree_map(
                proptest::sample::select(vec!["app", "tier", "example.com/zone"]),
                proptest::sample::select(vec!["", "a", "b", "c"]),
                0..4,
            ),
        ) {
            let texts: Vec<&str> = requirements.iter().map(|(text, ..)| text.as_str()).collect();
            let selector: Selector = texts.join(",").parse().expect("a selector");
            let labels: BTreeMap<&str, &str> = labels;
            let expected = requirements.iter().all(|(_, meets, key, values)| meets(labels.get(key).copied(), values));
            let found = selector.matches(|key| labels.get(key).map(|value| Cow::from(*value)));
            prop_assert_eq!(found, expected, "{} for {:?}", texts.join(","), labels);
            prop_assert_eq!(selector.is_empty(), requirements.is_empty());
            prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
        }

        #[test]
        fn any_text_is_a_selector_or_an_error(text in "([a-c]|in|notin|[=!<>(),\\\\ \\x00]|\\PC){0,20}") {
            let _: Result<Selector, Error> = text.parse();
        }
    }
}
