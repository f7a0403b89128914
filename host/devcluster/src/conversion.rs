use std::borrow::Cow;

use serde_json::Value;

use crate::builtin;
use crate::kinds::{FieldValidation, Kind, Kinds, Origin};
use crate::object;

pub(crate) fn convert<'a>(kinds: &Kinds, kind: &Kind, value: &'a Value) -> Cow<'a, Value> {
    let stored_as = object::text(value, "apiVersion");
    if stored_as == kind.api_version() {
        return kind.as_read(value).map_or(Cow::Borrowed(value), Cow::Owned);
    }
    let from = kinds.by_kind(stored_as, object::text(value, "kind"));
    match (&kind.origin, from) {
        (Origin::Builtin, Some(from)) => Cow::Owned(builtin::convert(value, from, kind)),
        _ => {
            // The storage version prunes and sets defaults; the requested version prunes again.
            let read = from.and_then(|from| from.as_read(value));
            let mut value = read.unwrap_or_else(|| value.clone());
            if let Some(storage) = kinds.storage_version(kind) {
                storage.default(&mut value);
            }
            if let Some(object) = value.as_object_mut() {
                object.insert("apiVersion".to_owned(), Value::from(kind.api_version()));
            }
            let _ = kind.decode(&mut value, FieldValidation::Ignore);
            Cow::Owned(value)
        }
    }
}
