//! JSON Patch (RFC 6902), with the extensions of the API server's library: negative indices,
//! `replace` of absent fields, and absent values that are null in `test` and `copy`.

use std::io;

use http::StatusCode;
use serde_json::{Map, Value};

use super::{rejected, undecodable};
use crate::status::Status;

/// The API server's `maxJSONPatchOperations`.
const OPERATIONS_LIMIT: usize = 10_000;

/// The API server's `JSONPatchMaxCopyBytes`, because each copy could double the object.
const COPIED_BYTES_LIMIT: usize = 3 << 20;

/// The maximum depth of a patched object, as of JSON text: copies into themselves could double it.
const DEPTH_LIMIT: usize = 128;

/// Returns the object after all operations.
///
/// # Errors
///
/// `BadRequest` if the patch is not a list of operations, `RequestEntityTooLarge` for more than
/// 10,000, `Invalid` if one does not apply.
pub(crate) fn apply(object: &Value, patch: &Value) -> Result<Value, Status> {
    let operations = operations(patch)?;
    if operations.len() > OPERATIONS_LIMIT {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {OPERATIONS_LIMIT}, got {}",
            operations.len()
        );
        return Err(Status::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message));
    }
    let mut document = Document { root: object.clone(), copied_bytes: 0 };
    for operation in operations {
        operation.as_object().and_then(|operation| document.run(operation)).ok_or_else(rejected)?;
    }
    Ok(document.root)
}

/// Returns the warnings about unknown fields, e.g. `json patch unknown field "[0].foo"`.
pub(crate) fn unknown_fields(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    operations
        .flat_map(|(index, operation)| {
            let names = operation.as_object().into_iter().flat_map(Map::keys);
            names.filter(|name| !matches!(name.as_str(), "op" | "path" | "from" | "value")).map(move |name| (index, name))
        })
        .map(|(index, name)| format!("json patch unknown field \"[{index}].{name}\""))
        .collect()
}

fn operations(patch: &Value) -> Result<&[Value], Status> {
    let operations = match patch {
        Value::Null => &[],
        Value::Array(operations) => operations.as_slice(),
        other => return Err(not_decoded(&undecodable(other, "array"))),
    };
    for operation in operations {
        let fields = match operation {
            Value::Null => continue,
            Value::Object(fields) => fields,
            other => return Err(not_decoded(&undecodable(other, "object"))),
        };
        for name in ["op", "path", "from"] {
            match fields.get(name) {
                None | Some(Value::Null | Value::String(_)) => {}
                Some(other) => return Err(not_decoded(&format!("{name}: {}", undecodable(other, "string")))),
            }
        }
    }
    Ok(operations)
}

fn not_decoded(why: &str) -> Status {
    Status::bad_request(format!("error decoding patch: {why}"))
}

struct Document {
    root: Value,
    copied_bytes: usize,
}

impl Document {
    fn run(&mut self, operation: &Map<String, Value>) -> Option<()> {
        let path = operation.get("path")?.as_str()?;
        let value = operation.get("value");
        match operation.get("op")?.as_str()? {
            "add" => self.add(path, value.cloned().unwrap_or_default()),
            "remove" => self.remove(path).map(drop),
            "replace" => self.replace(path, value.cloned()),
            "move" => {
                let moved = self.remove(operation.get("from")?.as_str()?)?;
                self.add(path, moved)
            }
            "copy" => {
                let copied = self.read(operation.get("from")?.as_str()?)?.cloned().unwrap_or_default();
                self.copied_bytes = self.copied_bytes.saturating_add(size(&copied));
                if self.copied_bytes > COPIED_BYTES_LIMIT {
                    return None;
                }
                self.add(path, copied)
            }
            "test" => {
                let found = if path.is_empty() { Some(&self.root) } else { self.read(path)? };
                (found.unwrap_or(&Value::Null) == value.unwrap_or(&Value::Null)).then_some(())
            }
            _ => None,
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Option<()> {
        within_depth(path, &value)?;
        match self.place(path)? {
            (Value::Object(fields), key) => {
                fields.insert(key, value);
            }
            (Value::Array(items), key) => {
                // The end is a valid position, also when counted from the end.
                let index = if key == "-" { items.len() } else { index(&key, items.len() + 1)? };
                items.insert(index, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn remove(&mut self, path: &str) -> Option<Value> {
        match self.place(path)? {
            (Value::Object(fields), key) => fields.remove(&key),
            (Value::Array(items), key) => {
                let index = index(&key, items.len())?;
                Some(items.remove(index))
            }
            _ => None,
        }
    }

    fn replace(&mut self, path: &str, value: Option<Value>) -> Option<()> {
        if path.is_empty() {
            self.root = value.filter(|value| value.is_object() || value.is_array())?;
            return Some(());
        }
        let value = value.unwrap_or_default();
        within_depth(path, &value)?;
        match self.place(path)? {
            (Value::Object(fields), key) => {
                fields.insert(key, value);
            }
            (Value::Array(items), key) => {
                let index = index(&key, items.len())?;
                *items.get_mut(index)? = value;
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the value at a path; `Some(None)` for an absent field of an existing object.
    fn read(&mut self, path: &str) -> Option<Option<&Value>> {
        match self.place(path)? {
            (Value::Object(fields), key) => Some(fields.get(&key)),
            (Value::Array(items), key) => {
                let index = index(&key, items.len())?;
                Some(items.get(index))
            }
            _ => None,
        }
    }

    fn place(&mut self, path: &str) -> Option<(&mut Value, String)> {
        // The library ignores text before the first slash.
        let (_, steps) = path.split_once('/')?;
        let (parents, last) = steps.rsplit_once('/').map_or((None, steps), |(parents, last)| (Some(parents), last));
        let mut at = &mut self.root;
        for step in parents.into_iter().flat_map(|parents| parents.split('/')) {
            let key = unescaped(step);
            at = match at {
                Value::Object(fields) => fields.get_mut(&key)?,
                Value::Array(items) => {
                    let index = index(&key, items.len())?;
                    items.get_mut(index)?
                }
                _ => return None,
            };
        }
        Some((at, unescaped(last)))
    }
}

/// Parses an index; a negative one counts from the end.
fn index(key: &str, length: usize) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    let index = match u64::try_from(index) {
        Ok(index) => usize::try_from(index).ok()?,
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
    };
    (index < length).then_some(index)
}

fn within_depth(path: &str, value: &Value) -> Option<()> {
    fn depth(value: &Value) -> usize {
        match value {
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    (path.matches('/').count() + depth(value) <= DEPTH_LIMIT).then_some(())
}

/// Decodes a step of RFC 6901 in one pass, because `~01` means `~1`.
fn unescaped(step: &str) -> String {
    let mut text = String::with_capacity(step.len());
    let mut rest = step;
    while let Some((before, after)) = rest.split_once('~') {
        text.push_str(before);
        (text, rest) = match (after.strip_prefix('0'), after.strip_prefix('1')) {
            (Some(after), _) => (text + "~", after),
            (_, Some(after)) => (text + "/", after),
            _ => (text + "~", after),
        };
    }
    text + rest
}

fn size(value: &Value) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
