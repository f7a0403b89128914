//! The errors of an apply.

use std::collections::BTreeMap;
use std::fmt;

use http::StatusCode;
use serde_json::{Value, json};

use super::element::Path;
use super::ownership::{Operation, Owner};
use super::set::FieldSet;
use super::typed::Violations;
use crate::go;
use crate::object;
use crate::status::Status;

/// An error of an apply.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The apply would change fields that others own, and is not forced.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The applied object does not have the version and kind of the request.
    #[error("invalid object type: {0}")]
    Type(String),
    /// The applied object has `managedFields`.
    #[error("metadata.managedFields must be nil")]
    ManagedFields,
    /// An object does not match the schema.
    #[error("failed to create typed {role} object ({object}): {violations}")]
    Invalid {
        /// `patch` if it is the applied one, `live` if it is the stored one.
        role: &'static str,
        /// Namespace, name and type.
        object: String,
        /// The violations of the schema.
        violations: Violations,
    },
    /// The owners of the stored fields cannot be read.
    #[error("failed to decode managed fields: {0}")]
    Owners(String),
}

impl Error {
    /// The answer to the client.
    pub fn into_status(self) -> Status {
        let message = self.to_string();
        match self {
            Self::Conflicts(conflicts) => {
                let causes: Vec<Value> = conflicts.iter().map(Conflict::cause).collect();
                Status { details: Some(json!({ "causes": causes })), ..Status::new(StatusCode::CONFLICT, "Conflict", message) }
            }
            Self::Type(_) | Self::ManagedFields => Status::bad_request(message),
            // The server has no class for these, and so no reason.
            Self::Invalid { .. } | Self::Owners(_) => Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message),
        }
    }
}

/// A field that another owner owns.
#[derive(Clone, Debug)]
pub struct Conflict {
    pub(super) owner: Owner,
    pub(super) path: Path,
}

impl Conflict {
    /// The conflicts with one owner.
    pub(super) fn all(owner: &Owner, set: FieldSet) -> impl Iterator<Item = Self> {
        let owner = owner.clone();
        set.paths().into_iter().map(move |path| Self { owner: owner.clone(), path })
    }

    fn cause(&self) -> Value {
        json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {}", Shown(&self.owner)), "field": self.path.to_string() })
    }
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", Shown(&one.owner), one.path);
    }
    let mut paths_by_owner: BTreeMap<&Owner, Vec<&Path>> = BTreeMap::new();
    for conflict in conflicts {
        paths_by_owner.entry(&conflict.owner).or_default().push(&conflict.path);
    }
    let mut lines = Vec::new();
    for (owner, paths) in paths_by_owner {
        lines.push(format!("conflicts with {}:", Shown(owner)));
        lines.extend(paths.into_iter().map(|path| format!("- {path}")));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// An owner as conflicts name it.
struct Shown<'a>(&'a Owner);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Owner { name, operation, api_version, subresource, .. } = self.0;
        f.write_str(&go::quoted(name))?;
        if !subresource.is_empty() {
            write!(f, " with subresource {}", go::quoted(subresource))?;
        }
        match operation {
            Operation::Apply => Ok(()),
            Operation::Update => write!(f, " using {api_version}"),
        }
    }
}

/// `namespace/name; group/version, Kind=kind`, as errors name an object.
pub(super) fn described(object: &Value) -> String {
    let type_name = type_name(object::text(object, "apiVersion"), object::text(object, "kind"));
    format!("{}/{}; {type_name}", object::namespace(object), object::name(object))
}

/// `group/version, Kind=kind`; the core group is empty.
pub(super) fn type_name(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}
