//! Label selectors in the syntax of `kubectl get -l`.

use std::borrow::Cow;
use std::str::FromStr;

/// Requirements that an object must all meet. Without any, every object matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    /// Also met by an object without the label, as in Kubernetes.
    NotIn(String, Vec<String>),
}

/// Why a text is no selector, with the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let requirements = split_outside_parentheses(text);
        requirements.into_iter().map(Requirement::parse).collect::<Result<_, _>>().map(Self).map_err(Error)
    }
}

impl Selector {
    /// Returns whether an object with these labels matches.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<Cow<'a, str>>) -> bool {
        let is_among = |values: &[String], value: &str| values.iter().any(|candidate| candidate == value);
        self.0.iter().all(|requirement| match requirement {
            Requirement::Exists(key) => label(key).is_some(),
            Requirement::Absent(key) => label(key).is_none(),
            Requirement::In(key, values) => label(key).is_some_and(|value| is_among(values, &value)),
            Requirement::NotIn(key, values) => label(key).is_none_or(|value| !is_among(values, &value)),
        })
    }

    /// Returns whether every object matches.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Requirement {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((key, value)) = text.split_once("!=") {
            return Ok(Self::NotIn(parse_key(key)?, vec![parse_value(value)?]));
        }
        if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return Ok(Self::In(parse_key(key)?, vec![parse_value(value)?]));
        }
        if let Some(rest) = text.strip_suffix(')') {
            let (head, values) = rest.split_once('(').ok_or_else(|| format!("`{text}` lacks a `(`"))?;
            let values = values.split(',').map(parse_value).collect::<Result<_, _>>()?;
            return match head.split_whitespace().collect::<Vec<_>>().as_slice() {
                [key, "in"] => Ok(Self::In(parse_key(key)?, values)),
                [key, "notin"] => Ok(Self::NotIn(parse_key(key)?, values)),
                _ => Err(format!("`{text}` has neither `in` nor `notin` before the values")),
            };
        }
        match text.strip_prefix('!') {
            Some(key) => parse_key(key).map(Self::Absent),
            None => parse_key(text).map(Self::Exists),
        }
    }
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut is_inside = false;
    text.split(|character| {
        match character {
            '(' => is_inside = true,
            ')' => is_inside = false,
            _ => {}
        }
        character == ',' && !is_inside
    })
    .collect()
}

fn parse_key(text: &str) -> Result<String, String> {
    match parse_value(text)? {
        key if key.is_empty() => Err("a key is missing".to_owned()),
        key => Ok(key),
    }
}

fn parse_value(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/');
    if text.chars().all(is_allowed) { Ok(text.to_owned()) } else { Err(format!("`{text}` is neither a key nor a value")) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn check(selector: &str, expected: Result<bool, &str>) {
        let label = |key: &str| match key {
            "app" => Some("web".into()),
            "tier" => Some("front".into()),
            _ => None,
        };
        let found = selector.parse::<Selector>().map(|selector| selector.matches(label));
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{selector}");
    }

    #[test]
    fn selectors_match_as_in_kubectl() {
        check("", Ok(true));
        check("app", Ok(true));
        check("!app", Ok(false));
        check("!other", Ok(true));
        check("app=web", Ok(true));
        check("app==web , tier = front", Ok(true));
        check("app=web,tier=back", Ok(false));
        check("app!=web", Ok(false));
        check("other!=web", Ok(true));
        check("app in (api, web),tier", Ok(true));
        check("app notin (api,web)", Ok(false));
        check("other notin (web)", Ok(true));
    }

    #[test]
    fn parse_errors_name_the_place() {
        check("app=web,", Err("a key is missing"));
        check("=web", Err("a key is missing"));
        check("app among (web)", Err("`app among (web)` has neither `in` nor `notin` before the values"));
        check("app web", Err("`app web` is neither a key nor a value"));
        check("app)", Err("`app)` lacks a `(`"));
    }

    type Meets = fn(Option<&str>, &[&str]) -> bool;

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
        }

        #[test]
        fn any_text_is_a_selector_or_refused(text in "[a-c!=,() inot]{0,30}|\\PC{0,20}") {
            let _: Result<Selector, Error> = text.parse();
        }
    }
}
