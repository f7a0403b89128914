//! Differences between renderings of the chart, which are stored as YAML.
//!
//! A difference is a JSON merge patch (RFC 7386): it has the values that are set, and `null` for
//! fields that are removed. A list is replaced, or the difference names the entries that it
//! removes, changes and adds, and their `order` if they are not added at the end. Therefore a
//! change of one rendering leaves the difference as it is, unless it concerns the same fields.

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};

/// Returns the objects of a release, by kind, namespace and name.
///
/// Names begin with `gyre` instead of the name of the release, so that releases of different
/// names have the same keys. The order of objects and of RBAC rules is lost, because it has no
/// meaning. A text that is one of the `files` is replaced by its name.
///
/// # Errors
///
/// If there is no Deployment, or two objects have the same key.
pub fn by_name(objects: &[Value], files: &[(&str, String)]) -> anyhow::Result<Value> {
    let text = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let deployment = objects.iter().find(|object| text(object, "/kind") == "Deployment").context("no Deployment")?;
    let release = text(deployment, "/metadata/name");
    let mut named = Map::new();
    for object in objects {
        let name = text(object, "/metadata/name");
        let name = name.strip_prefix(&release).map_or(name.clone(), |rest| format!("gyre{rest}"));
        let key = match text(object, "/metadata/namespace").as_str() {
            "" => format!("{} {name}", text(object, "/kind")),
            namespace => format!("{} {namespace}/{name}", text(object, "/kind")),
        };
        let mut object = object.clone();
        if let Some(rules) = object.get_mut("rules") {
            *rules = by_text(rules.as_array().context("rules are a list")?);
        }
        for value in object.get_mut("data").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
            if let Some((name, _)) = files.iter().find(|(_, text)| value == text) {
                *value = json!(format!("the text of {name}"));
            }
        }
        ensure!(named.insert(key.clone(), object).is_none(), "two objects have the key {key}");
    }
    Ok(Value::Object(named))
}

/// Returns RBAC rules by their text, with the number of their occurrences.
fn by_text(rules: &[Value]) -> Value {
    let count = |rule| rules.iter().filter(|other| *other == rule).count();
    // YAML would escape double quotes. Names in RBAC rules have no quotes.
    let text = |rule: &Value| rule.to_string().replace('"', "'");
    rules.iter().map(|rule| (text(rule), json!(count(rule)))).collect()
}

/// Returns the difference that [`apply`] adds to `from` to get `to`.
///
/// A merge patch cannot set `null`, or replace a list by a map: callers check the result.
pub fn difference(from: &Value, to: &Value) -> Value {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            let removed = from.keys().filter(|key| !to.contains_key(*key)).map(|key| (key.clone(), Value::Null));
            let set = to.iter().filter(|(key, value)| from.get(*key) != Some(value));
            let set = set.map(|(key, value)| (key.clone(), from.get(key).map_or(value.clone(), |old| difference(old, value))));
            removed.chain(set).collect()
        }
        (Value::Array(from), Value::Array(list)) => {
            let mut entries = entries(from, list);
            let is_right = |entries: &Value| apply(entries, &Value::Array(from.clone())) == *to;
            if !is_right(&entries)
                && let Value::Object(parts) = &mut entries
            {
                parts.insert("order".to_owned(), list.iter().map(identity).cloned().collect());
            }
            // Lists that repeat an entry have no order.
            if is_right(&entries) && entries.to_string().len() < to.to_string().len() { entries } else { to.clone() }
        }
        _ => to.clone(),
    }
}

/// Returns the difference of two lists, by their entries.
fn entries(from: &[Value], to: &[Value]) -> Value {
    let find = |list: &[Value], entry: &Value| list.iter().find(|other| identity(other) == identity(entry)).cloned();
    let removed = from.iter().filter(|entry| find(to, entry).is_none()).map(|entry| identity(entry).clone());
    let added = to.iter().filter(|entry| find(from, entry).is_none()).cloned();
    let changed = from.iter().filter_map(|entry| {
        let new = find(to, entry).filter(|new| new != entry)?;
        Some((identity(entry).as_str()?.to_owned(), difference(entry, &new)))
    });
    let parts = [("remove", removed.collect()), ("change", changed.collect::<Map<_, _>>().into()), ("add", added.collect())];
    parts.into_iter().filter(|(_, part): &(_, Value)| *part != json!([]) && *part != json!({})).collect()
}

/// Returns the name of an entry of a list, or the whole entry if it has none.
fn identity(entry: &Value) -> &Value {
    entry.get("name").filter(|name| name.is_string()).unwrap_or(entry)
}

/// Adds a difference to a value.
pub fn apply(difference: &Value, to: &Value) -> Value {
    match (difference, to) {
        (Value::Object(difference), Value::Object(object)) => {
            let mut object = object.clone();
            for (key, value) in difference {
                let old = object.remove(key);
                if !value.is_null() {
                    object.insert(key.clone(), old.map_or(value.clone(), |old| apply(value, &old)));
                }
            }
            Value::Object(object)
        }
        (Value::Object(difference), Value::Array(list)) => {
            let part = |key: &str| difference.get(key).and_then(Value::as_array).into_iter().flatten();
            let change = |entry: &Value| difference.get("change")?.get(identity(entry).as_str()?);
            let kept = list.iter().filter(|entry| part("remove").all(|removed| removed != identity(entry)));
            let kept = kept.map(|entry| change(entry).map_or(entry.clone(), |change| apply(change, entry)));
            let mut list: Vec<Value> = kept.chain(part("add").cloned()).collect();
            let place = |entry: &Value| part("order").position(|other| other == identity(entry)).unwrap_or(usize::MAX);
            list.sort_by_key(place);
            Value::Array(list)
        }
        _ => difference.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the difference, and that it results in `to`.
    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        let [from, to, expected] = [from, to, expected].map(|yaml| serde_saphyr::from_str::<Value>(yaml).unwrap());
        assert_eq!(difference(&from, &to), expected);
        assert_eq!(apply(&expected, &from), to);
    }

    #[test]
    fn a_difference_has_only_what_differs() {
        check("{a: 1, b: {c: 2, d: 3}, e: 4}", "{a: 1, b: {c: 5, d: 3}, f: {g: 6}}", "{b: {c: 5}, e: null, f: {g: 6}}");
        check("{a: true}", "{a: 'true'}", "{a: 'true'}");
        check("{a: {b: 1}}", "{a: [1]}", "{a: [1]}");
        check("{a: 1}", "{a: 1}", "{}");
    }

    #[test]
    fn entries_of_lists_are_named() {
        let a = "name: a, text: it is shorter to name this entry than to repeat it";
        check(
            &format!("[{{{a}, b: 1}}, {{name: c}}, d]"),
            &format!("[{{{a}, b: 2}}, d, {{name: e}}]"),
            "{remove: [c], change: {a: {b: 2}}, add: [{name: e}]}",
        );
        check(&format!("[{{{a}}}, b]"), &format!("[b, {{{a}}}]"), "{order: [b, a]}");
        check(&format!("[{{{a}}}, b]"), &format!("[{{{a}}}, c, b]"), "{add: [c], order: [a, c, b]}");
        check(&format!("[{{{a}}}, b, b]"), &format!("[{{{a}}}, b]"), &format!("[{{{a}}}, b]"));
        check("[a, b]", "[a, c]", "[a, c]");
    }

    #[test]
    fn releases_of_different_names_have_the_same_keys() {
        let of = |name: &str, more: Value| {
            let deployment = json!({"kind": "Deployment", "metadata": {"name": name, "namespace": "team"}});
            by_name(&[deployment, more], &[("b.txt", "b\n".to_owned())])
        };
        let data = json!({"kind": "ConfigMap", "metadata": {"name": "other-a"}, "data": {"b": "b\n", "c": "b"}});
        let objects = of("other", data).unwrap();
        assert!(objects.get("Deployment team/gyre").is_some());
        assert_eq!(objects["ConfigMap gyre-a"]["data"], json!({"b": "the text of b.txt", "c": "b"}));
        let rule = json!({"verbs": ["get"]});
        let role = json!({"kind": "Role", "metadata": {"name": "a"}, "rules": [rule, rule]});
        assert_eq!(of("a", role).unwrap()["Role gyre"]["rules"], json!({"{'verbs':['get']}": 2}));
        let twice = json!({"kind": "Deployment", "metadata": {"name": "a", "namespace": "team"}});
        assert!(of("a", twice).is_err());
    }
}
