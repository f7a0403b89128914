//! Leaves the fields of other managers out of an object that is applied.

use serde_json::{Map, Value};

use super::{Conflict, Hold};

/// An object without the fields of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Skipped {
    /// The object that is applied.
    pub object: Map<String, Value>,
    /// The conflicts whose fields were left out.
    pub conflicts: Vec<Conflict>,
}

/// Leaves out the fields that other managers will set again; if there are none, all fields of the
/// conflicts, because edits were reverted too often. Returns `None` if a field cannot be left out:
/// the marks of a child must be applied, and a field may be named in an unknown way.
pub fn skip(object: &Map<String, Value>, conflicts: &[Conflict]) -> Option<Skipped> {
    let is_firm = |conflict: &&Conflict| conflict.hold != Hold::Updated;
    let firm: Vec<Conflict> = conflicts.iter().filter(is_firm).cloned().collect();
    let skipped = if firm.is_empty() { conflicts.to_vec() } else { firm };
    if skipped.is_empty() || skipped.iter().any(|conflict| is_mark(&conflict.field)) {
        return None;
    }
    let mut rest = Value::Object(object.clone());
    for conflict in &skipped {
        remove(&mut rest, &conflict.field)?;
    }
    match rest {
        Value::Object(object) => Some(Skipped { object, conflicts: skipped }),
        _ => None,
    }
}

fn is_mark(field: &str) -> bool {
    let is_below = |parent: &str| {
        let rest = field.strip_prefix(parent);
        rest.is_some_and(|rest| {
            rest.is_empty() || [".gyre.dev/", ".fields.gyre.dev/"].iter().any(|mark| rest.starts_with(mark))
        })
    };
    field.starts_with(".metadata.ownerReferences") || is_below(".metadata.labels") || is_below(".metadata.annotations")
}

/// Whether a value has members after the removal of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Something,
    Nothing,
}

/// Removes the field at a path as the API server writes it, such as
/// `.spec.containers[name="a"].image` (`PathElement.String` in
/// `sigs.k8s.io/structured-merge-diff/fieldpath`). An object that becomes empty is removed, too.
fn remove(value: &mut Value, path: &str) -> Option<Left> {
    match value {
        Value::Object(fields) => remove_field(fields, path.strip_prefix('.')?),
        Value::Array(items) => {
            let (element, rest) = element(path)?;
            let index = items.iter().position(|item| is_element(item, element)).or_else(|| element.parse().ok())?;
            if rest.is_empty() {
                (index < items.len()).then(|| items.remove(index))?;
                return Some(if items.is_empty() { Left::Nothing } else { Left::Something });
            }
            // An element keeps its keys, so it is never empty.
            remove(items.get_mut(index)?, rest)?;
            Some(Left::Something)
        }
        _ => None,
    }
}

fn remove_field(fields: &mut Map<String, Value>, path: &str) -> Option<Left> {
    // Names may contain dots, as in labels, and the path does not quote them.
    let rest_of =
        |name: &String| path.strip_prefix(name.as_str()).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let mut candidates: Vec<(String, &str)> = fields.keys().filter_map(|name| Some((name.clone(), rest_of(name)?))).collect();
    candidates.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let found = candidates.into_iter().find_map(|(name, rest)| {
        let left = if rest.is_empty() { Left::Nothing } else { remove(fields.get_mut(&name)?, rest)? };
        Some((name, left))
    });
    let (name, left) = found?;
    if left == Left::Nothing {
        fields.remove(&name);
    }
    Some(if fields.is_empty() { Left::Nothing } else { Left::Something })
}

/// Splits `[ELEMENT]REST`. Strings in the element may contain brackets.
fn element(path: &str) -> Option<(&str, &str)> {
    let inner = path.strip_prefix('[')?;
    let end = unquoted(inner).find(|(_, character)| *character == ']')?.0;
    Some((inner.get(..end)?, inner.get(end + 1..)?))
}

/// The characters outside of strings.
fn unquoted(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut in_string, mut is_escaped) = (false, false);
    text.char_indices().filter(move |(_, character)| {
        let was_in_string = in_string;
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        !was_in_string
    })
}

/// Returns whether an item of a list is `=VALUE`, or has the keys `NAME=VALUE,…`. Keys with default
/// values may be missing in the item.
fn is_element(item: &Value, element: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    if let Some(text) = element.strip_prefix('=') {
        return value(text).as_ref() == Some(item);
    }
    let commas: Vec<usize> = unquoted(element).filter(|(_, character)| *character == ',').map(|(index, _)| index).collect();
    let starts = std::iter::once(0).chain(commas.iter().map(|comma| comma + 1));
    let ends = commas.iter().copied().chain([element.len()]);
    let keys = starts.zip(ends).map(|(start, end)| element.get(start..end)?.split_once('='));
    let mut has_equal_key = false;
    for key in keys {
        let Some((name, text)) = key else { return false };
        match (item.get(name), value(text)) {
            (Some(of_item), Some(wanted)) if *of_item == wanted => has_equal_key = true,
            (None, Some(_)) => {}
            _ => return false,
        }
    }
    has_equal_key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn conflict(field: &str, hold: Hold) -> Conflict {
        Conflict { field: field.to_owned(), manager: "other".to_owned(), hold }
    }

    fn deployment() -> Value {
        json!({
            "metadata": {"name": "it", "labels": {"app": "it", "app.kubernetes.io/name": "it", "gyre.dev/plugin": "p"}},
            "spec": {
                "replicas": 2, "strategy": {"type": "Recreate"},
                "template": {"containers": [
                    {"name": "a", "image": "a:1", "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 81}]},
                    {"name": "b]\"", "image": "b:1"},
                ]},
                "finalizers": ["x", "y"],
            },
        })
    }

    fn check(field: &str, pointer: &str) {
        let mut expected = deployment();
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        match expected.pointer_mut(parent).unwrap() {
            Value::Object(fields) => drop(fields.remove(&last.replace("~1", "/")).unwrap()),
            Value::Array(items) => drop(items.remove(last.parse().unwrap())),
            other => panic!("{other}"),
        }
        let skipped = skip(deployment().as_object().unwrap(), &[conflict(field, Hold::Applied)]).unwrap();
        assert_eq!(Value::Object(skipped.object), expected, "{field}");
    }

    #[test]
    fn fields_are_found_by_the_api_servers_names_of_them() {
        check(".spec.replicas", "/spec/replicas");
        check(".metadata.labels.app", "/metadata/labels/app");
        check(".metadata.labels.app.kubernetes.io/name", "/metadata/labels/app.kubernetes.io~1name");
        check(r#".spec.template.containers[name="a"].image"#, "/spec/template/containers/0/image");
        check(r#".spec.template.containers[name="b]\""].image"#, "/spec/template/containers/1/image");
        check(
            r#".spec.template.containers[name="a"].ports[containerPort=80,protocol="TCP"].name"#,
            "/spec/template/containers/0/ports/0/name",
        );
        check(
            r#".spec.template.containers[name="a"].ports[containerPort=81,protocol="TCP"]"#,
            "/spec/template/containers/0/ports/1",
        );
        check(r#".spec.finalizers[="y"]"#, "/spec/finalizers/1");
        check(".spec.finalizers[0]", "/spec/finalizers/0");
        check(".spec.strategy.type", "/spec/strategy");
    }

    #[test]
    fn edits_are_left_out_only_if_nothing_else_conflicts() {
        let (edit, claim) = (conflict(".spec.replicas", Hold::Updated), conflict(".spec.strategy", Hold::Subresource));
        let left_out = |conflicts: &[Conflict]| skip(deployment().as_object().unwrap(), conflicts).map(|it| it.conflicts);
        assert_eq!(left_out(&[edit.clone(), claim.clone()]), Some(vec![claim]));
        assert_eq!(left_out(std::slice::from_ref(&edit)), Some(vec![edit]));
        assert_eq!(left_out(&[]), None);
    }

    #[test]
    fn marks_and_unknown_fields_are_not_left_out() {
        for field in [
            ".metadata.labels.gyre.dev/plugin",
            ".metadata.annotations.gyre.dev/desired-digest",
            ".metadata.labels",
            r#".metadata.ownerReferences[uid="u"]"#,
            ".spec.absent",
            ".spec.replicas.more",
            r#".spec.template.containers[name="c"].image"#,
            ".spec.finalizers[7]",
            ".spec.finalizers[",
            "spec",
            "",
        ] {
            assert_eq!(skip(deployment().as_object().unwrap(), &[conflict(field, Hold::Applied)]), None, "{field}");
        }
    }

    proptest! {
        #[test]
        fn any_words_of_a_field_are_read(field in r#"[.\[\]="a-z,\\0-9]{0,30}"#) {
            let skipped = skip(deployment().as_object().unwrap(), &[conflict(&field, Hold::Applied)]);
            prop_assert!(skipped.is_none_or(|skipped| Value::Object(skipped.object) != deployment()));
        }
    }
}
