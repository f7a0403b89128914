//! Properties of built-in types that the OpenAPI documents lack: which absent and empty fields Go
//! encodes (`types.json`), and the defaults (`defaults.json`).

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::schema::Schema;

static TYPES: LazyLock<HashMap<String, Record>> =
    LazyLock::new(|| serde_json::from_str(include_str!("dump/types.json")).unwrap_or_default());

static DEFAULTS: LazyLock<Defaults> =
    LazyLock::new(|| serde_json::from_str(include_str!("dump/defaults.json")).unwrap_or_default());

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct Record {
    omit_zero: Vec<String>,
    omit_empty: Vec<String>,
    always: BTreeMap<String, Value>,
}

/// Defaults by definition and field, and by root kind and path if they differ between kinds.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Defaults {
    definitions: HashMap<String, BTreeMap<String, Value>>,
    paths: HashMap<String, BTreeMap<String, Value>>,
}

/// The defaults of one kind only: fields by the path of their struct. Lists in a path end in `[]`.
pub(super) type Places = HashMap<String, Vec<(String, Value)>>;

pub(super) fn complete(definition: &str, schema: &mut Schema) {
    if let Some(record) = TYPES.get(definition) {
        schema.omit_zero.clone_from(&record.omit_zero);
        schema.omit_empty.clone_from(&record.omit_empty);
        schema.always.clone_from(&record.always);
    }
    if let Some(defaults) = DEFAULTS.definitions.get(definition) {
        schema.defaulted.clone_from(defaults);
    }
}

pub(super) fn places(kind: &str) -> Option<&'static Places> {
    static PLACES: LazyLock<HashMap<String, Places>> = LazyLock::new(|| {
        let kinds = DEFAULTS.paths.iter().map(|(kind, paths)| {
            let mut places = Places::new();
            for (path, value) in paths {
                let (place, field) = path.rsplit_once('.').unwrap_or(("", path));
                places.entry(place.to_owned()).or_default().push((field.to_owned(), value.clone()));
            }
            (kind.clone(), places)
        });
        kinds.collect()
    });
    PLACES.get(kind)
}
