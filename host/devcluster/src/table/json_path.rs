//! The JSONPath of printer columns, as in client-go. Nothing makes it panic or run for long.

mod parse;

use serde_json::{Number, Value};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    Descent,
    Slice(Slice),
    Union(Vec<JsonPath>),
    Filter { left: JsonPath, comparison: Option<(Comparison, JsonPath)> },
    Literal(Value),
}

/// `[start:end:step]`; `[index]` is a slice of one item.
#[derive(Clone, Debug, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Open,
    At(i64),
    Next,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// The maximum number of results, because wildcards and descents multiply them.
const RESULTS_LIMIT: usize = 10_000;

impl JsonPath {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        parse::path(text)
    }

    /// Returns the first value at the path; `None` if there is none or the path does not fit.
    pub(crate) fn first(&self, object: &Value) -> Option<Value> {
        self.walk(vec![object])?.first().map(|value| (*value).clone())
    }

    fn walk<'a>(&'a self, input: Vec<&'a Value>) -> Option<Vec<&'a Value>> {
        self.steps.iter().try_fold(input, |values, step| {
            let found = step.walk(values)?;
            (found.len() <= RESULTS_LIMIT).then_some(found)
        })
    }
}

impl Step {
    fn walk<'a>(&'a self, input: Vec<&'a Value>) -> Option<Vec<&'a Value>> {
        match self {
            Self::Field(name) => Some(input.into_iter().filter_map(|value| value.as_object()?.get(name)).collect()),
            Self::Wildcard => Some(input.into_iter().flat_map(children).collect()),
            Self::Descent => {
                let mut found = Vec::new();
                input.into_iter().try_for_each(|value| descend(value, &mut found))?;
                Some(found)
            }
            Self::Slice(slice) => {
                let mut found = Vec::new();
                for value in input.into_iter().filter(|value| !value.is_null()) {
                    found.extend(slice.of(value.as_array()?)?);
                }
                Some(found)
            }
            Self::Union(paths) => {
                let mut found = Vec::new();
                for path in paths {
                    found.extend(path.walk(input.clone())?);
                }
                Some(found)
            }
            Self::Filter { left, comparison } => {
                let mut found = Vec::new();
                for value in input {
                    for item in value.as_array()? {
                        if passes(item, left, comparison.as_ref())? {
                            found.push(item);
                        }
                    }
                }
                Some(found)
            }
            Self::Literal(value) => Some(input.into_iter().map(|_| value).collect()),
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

/// Adds the value and all values below it that have children.
fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>) -> Option<()> {
    let children = children(value);
    if !children.is_empty() {
        found.push(value);
        if found.len() > RESULTS_LIMIT {
            return None;
        }
    }
    children.into_iter().try_for_each(|child| descend(child, found))
}

fn passes(item: &Value, left: &JsonPath, comparison: Option<&(Comparison, JsonPath)>) -> Option<bool> {
    let left = left.walk(vec![item]);
    let Some((comparison, right)) = comparison else {
        return Some(left.is_some_and(|found| !found.is_empty()));
    };
    match (left?.as_slice(), right.walk(vec![item])?.as_slice()) {
        ([], _) | (_, []) => Some(false),
        ([left], [right]) => comparison.holds(left, right),
        _ => None,
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        use std::cmp::Ordering;
        let is_float = |number: &Number| number.is_f64();
        let ordering = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) if is_float(left) == is_float(right) => {
                match (left.as_i64(), right.as_i64()) {
                    (Some(left), Some(right)) => Some(left.cmp(&right)),
                    _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
                }
            }
            (Value::Bool(left), Value::Bool(right)) if matches!(self, Self::Equal | Self::NotEqual) => Some(left.cmp(right)),
            _ => None,
        }?;
        Some(match self {
            Self::Less => ordering == Ordering::Less,
            Self::LessOrEqual => ordering != Ordering::Greater,
            Self::Greater => ordering == Ordering::Greater,
            Self::GreaterOrEqual => ordering != Ordering::Less,
            Self::Equal => ordering == Ordering::Equal,
            Self::NotEqual => ordering != Ordering::Equal,
        })
    }
}

impl Slice {
    fn of<'a>(&self, items: &'a [Value]) -> Option<Vec<&'a Value>> {
        let length = i64::try_from(items.len()).ok()?;
        let from_end = |index: i64| if index < 0 { index.checked_add(length) } else { Some(index) };
        let start = from_end(self.start.unwrap_or(0))?;
        let end = match self.end {
            End::Open => length,
            End::At(end) => from_end(end)?,
            End::Next => start.checked_add(1)?,
        };
        if start == end {
            return Some(Vec::new());
        }
        let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
        if start >= items.len() {
            return None;
        }
        let step = usize::try_from(self.step.unwrap_or(1)).ok().filter(|step| *step > 0)?;
        Some(items.get(start..end)?.iter().step_by(step).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_the_first_value() {
        let object = json!({
            "a": { "b.c": 1, "list": ["x", "y", "z"], "n": [1, 2, 3], "null": null },
            "conditions": [
                { "type": "A", "status": "no", "n": 1 },
                { "type": "Ready", "status": "yes", "n": 2.5, "quoted": "a)b" },
            ],
        });
        for (path, expected) in [
            (".a.list[0]", Some(json!("x"))),
            (".a.list[-1]", Some(json!("z"))),
            (".a.list[3]", None),
            (".a.list[*]", Some(json!("x"))),
            (".a.list[1:]", Some(json!("y"))),
            (".a.list[0:0]", None),
            (".a.list[::2]", Some(json!("x"))),
            (".a.list[2,0]", Some(json!("z"))),
            ("$.a.n[1]", Some(json!(2))),
            (r".a.b\.c", Some(json!(1))),
            (r".a['b\.c']", Some(json!(1))),
            ("['a']['list'][0]", Some(json!("x"))),
            (".a.null", Some(json!(null))),
            (".a.none", None),
            (".a.list.x", None),
            (".a.list", Some(json!(["x", "y", "z"]))),
            (".a[0]", None),
            ("..status", Some(json!("no"))),
            (r#".conditions[?(@.type=="Ready")].status"#, Some(json!("yes"))),
            (".conditions[?(@.type=='Ready')].status", Some(json!("yes"))),
            (".conditions[?(@.type == 'Ready')].status", Some(json!("yes"))),
            (".conditions[?(@.quoted=='a)b')].status", Some(json!("yes"))),
            (".conditions[?(@.n)].type", Some(json!("A"))),
            (".conditions[?(@.quoted)].type", Some(json!("Ready"))),
            (".conditions[?(@.type!='A')].type", Some(json!("Ready"))),
            (".conditions[0].n", Some(json!(1))),
            (".conditions[?(@.n>0)].type", None),
            (".a[?(@.n)].type", None),
        ] {
            assert_eq!(JsonPath::parse(path).unwrap().first(&object), expected, "{path}");
        }
    }

    #[test]
    fn invalid_paths_are_refused() {
        for path in [".a[", ".a[x]", ".a[?(@.b", ".a[?(@.b)", ".a}", "{.a}", "....", ".a['b", "'a", "range", ".a[?()]"] {
            assert_eq!(JsonPath::parse(path), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_makes_it_panic(path in r#"[.\[\]a*:'"?()@$=<0-9,\\{} -]{0,30}"#, text in ".{0,20}") {
            let object = json!({ "a": { "a": [1, { "a": "a" }, [null]] } });
            for path in [path, text] {
                let _ = JsonPath::parse(&path).and_then(|path| path.first(&object));
            }
        }
    }
}
