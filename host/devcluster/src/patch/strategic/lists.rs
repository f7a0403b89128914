use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::{
    DIRECTIVE, List, Status, failure, merge_map, no_merge_key, rejected, same_type, unknown_directive, without_directives,
    wrong_type,
};

pub(super) fn bad_element_order() -> Status {
    Status::bad_request("invalid patch format of setElementOrder list")
}

pub(super) fn merge(live: Vec<Value>, patch: Vec<Value>, list: List<'_>) -> Result<Vec<Value>, Status> {
    if live.is_empty() && patch.is_empty() {
        return Ok(live);
    }
    let (live, patch, merged) = match element(&[&live, &patch])? {
        Element::Scalar => {
            let mut seen = BTreeSet::new();
            let both = live.iter().chain(&patch).filter(|item| seen.insert(item.to_string())).cloned().collect();
            (live, patch, both)
        }
        Element::Object => {
            if list.merge_key.is_empty() {
                return Err(failure("cannot merge lists without merge key for struct"));
            }
            let (live, patch) = follow_directives(live, patch, list.merge_key)?;
            let merged = merge_objects(live.clone(), patch.clone(), list)?;
            (live, patch, merged)
        }
    };
    arrange(merged, &patch, &live, list.merge_key)
}

pub(super) fn delete(live: Vec<Value>, unwanted: Vec<Value>, list: List<'_>) -> Result<Vec<Value>, Status> {
    if live.is_empty() && unwanted.is_empty() {
        return Ok(live);
    }
    match element(&[&live, &unwanted])? {
        Element::Scalar => {
            let unwanted: BTreeSet<String> = unwanted.iter().map(Value::to_string).collect();
            Ok(live.into_iter().filter(|item| !unwanted.contains(&item.to_string())).collect())
        }
        Element::Object => merge(live, unwanted, list),
    }
}

/// Merges `patch` into `live`, in the order of `$setElementOrder/…`; `None` if both are absent.
pub(super) fn merge_in_order(
    live: Option<Vec<Value>>,
    patch: Option<Vec<Value>>,
    order: &[Value],
    list: List<'_>,
) -> Result<Option<Vec<Value>>, Status> {
    check_order(patch.as_deref().unwrap_or_default(), order, list.merge_key)?;
    let merged = match (live.clone(), patch.clone()) {
        (None, None) => return Ok(None),
        (Some(live), None) => live,
        (None, Some(patch)) => patch.into_iter().filter_map(without_directives).collect(),
        (Some(live), Some(patch)) if list.merged => merge(live, patch, list)?,
        (Some(_), Some(patch)) => patch,
    };
    let live = live.unwrap_or_default();
    element(&[&live, patch.as_deref().unwrap_or_default()])?;
    arrange(merged, order, &live, list.merge_key).map(Some)
}

enum Element {
    Object,
    Scalar,
}

fn element(lists: &[&[Value]]) -> Result<Element, Status> {
    let mut items = lists.iter().copied().flatten();
    let first = items.next().ok_or_else(|| failure("no elements in any of the given slices"))?;
    if first.is_array() {
        return Err(rejected());
    }
    if items.any(|item| !same_type(item, first)) {
        return Err(failure("the items of the list and of the patch are not all of one type"));
    }
    Ok(if first.is_object() { Element::Object } else { Element::Scalar })
}

fn follow_directives(mut live: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>), Status> {
    let mut plain = Vec::new();
    let mut deleted = BTreeSet::new();
    let mut replaces = false;
    for item in patch {
        let Some(directive) = item.get(DIRECTIVE) else {
            plain.push(item);
            continue;
        };
        let fields = item.as_object().cloned().unwrap_or_default();
        match directive.as_str() {
            Some("delete") => {
                let value = fields.get(key).ok_or_else(|| no_merge_key(&fields, key))?;
                deleted.insert(value.to_string());
            }
            Some("replace") => replaces = true,
            Some("merge") => return Err(failure("merging lists cannot yet be specified in the patch")),
            _ => return Err(unknown_directive(directive)),
        }
    }
    if replaces {
        return Ok((plain, Vec::new()));
    }
    live.retain(|item| item.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    Ok((live, plain))
}

fn merge_objects(mut live: Vec<Value>, patch: Vec<Value>, list: List<'_>) -> Result<Vec<Value>, Status> {
    let mut places: HashMap<String, usize> = HashMap::new();
    for (index, item) in live.iter().enumerate() {
        if let Some(value) = item.get(list.merge_key) {
            places.entry(value.to_string()).or_insert(index);
        }
    }
    for item in patch {
        let Value::Object(fields) = item else { return Err(wrong_type("object", &item)) };
        let value = fields.get(list.merge_key).ok_or_else(|| no_merge_key(&fields, list.merge_key))?.to_string();
        match places.get(&value).and_then(|index| live.get_mut(*index)) {
            Some(Value::Object(old)) => match list.items {
                Some(schema) => merge_map(old, fields, schema)?,
                None => return Err(failure("the schema of the items is unknown")),
            },
            _ => {
                places.insert(value, live.len());
                live.push(Value::Object(fields));
            }
        }
    }
    Ok(live)
}

fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), Status> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut expected = order.iter();
    for item in patch {
        if !key.is_empty() {
            item.as_object().ok_or_else(|| wrong_type("object", item))?;
        }
        // The order does not contain deleted items.
        if item.get(DIRECTIVE).is_some() {
            continue;
        }
        let mut found = false;
        for candidate in expected.by_ref() {
            if identity(candidate, key)? == identity(item, key)? {
                found = true;
                break;
            }
        }
        if !found {
            return Err(failure("the list of the patch is not in the order of its $setElementOrder"));
        }
    }
    Ok(())
}

fn identity(item: &Value, key: &str) -> Result<String, Status> {
    if key.is_empty() {
        return Ok(item.to_string());
    }
    let fields: &Map<String, Value> = item.as_object().ok_or_else(|| wrong_type("object", item))?;
    Ok(fields.get(key).ok_or_else(|| no_merge_key(fields, key))?.to_string())
}

/// Orders the items of `order`, and keeps the others near to their neighbours in `live`.
fn arrange(merged: Vec<Value>, order: &[Value], live: &[Value], key: &str) -> Result<Vec<Value>, Status> {
    let places = |items: &[Value]| -> Result<HashMap<String, usize>, Status> {
        let mut places = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            places.entry(identity(item, key)?).or_insert(index);
        }
        Ok(places)
    };
    if !key.is_empty()
        && let Some(index) = order.iter().position(|item| !item.is_object())
    {
        return Err(failure(format!("value for key {index} is not a map")));
    }
    let (ordered_places, live_places) = (places(order)?, places(live)?);
    let (mut ordered, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let identity = identity(&item, key)?;
        let live_place = live_places.get(&identity).copied();
        match ordered_places.get(&identity) {
            Some(place) => ordered.push((*place, live_place, item)),
            None => others.push((live_place.unwrap_or(usize::MAX), live_place, item)),
        }
    }
    ordered.sort_by_key(|(place, _, _)| *place);
    others.sort_by_key(|(place, _, _)| *place);

    let mut arranged = Vec::with_capacity(ordered.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, live_place, item) in ordered {
        while let Some((_, _, other)) =
            others.next_if(|(_, other, _)| matches!((other, live_place), (Some(a), Some(b)) if *a < b))
        {
            arranged.push(other);
        }
        arranged.push(item);
    }
    arranged.extend(others.map(|(_, _, other)| other));
    Ok(arranged)
}
