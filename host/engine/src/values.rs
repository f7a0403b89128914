//! The generated values of Secrets: how they are shown, and the key of their digests.
//!
//! ```text
//!   cache ── Secret ──▶ shown ──▶ call, recording, shadow      (placeholders)
//!                  └──▶ writes::apply::values ──▶ API server   (values)
//! ```
//!
//! `gyre_core::generated` decides, and `gyre_values` makes values.

pub(crate) mod digests;
pub(crate) mod issuers;

use gyre_core::generated::{self, DigestKey, GENERATED_ANNOTATION};
use gyre_core::object::GroupVersionKind;
use gyre_sandbox::Bytes;
pub use gyre_values::Randomness;
use serde_json::Value;

pub use self::digests::{KEY_TYPE, KeySecret};
use crate::cluster::object::Object;

/// Returns whether a kind is that of Secrets.
pub(crate) fn is_secret(kind: &GroupVersionKind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

/// Returns whether an object may have generated values.
pub(crate) fn may_have_values(kind: &GroupVersionKind, object: &Object) -> bool {
    is_secret(kind) && object.json().contains(GENERATED_ANNOTATION)
}

/// An object as calls and recordings get it.
pub(crate) struct Shown {
    pub(crate) json: Bytes,
    /// Whether placeholders lack their digests, because the key is unknown.
    pub(crate) lacks_digests: bool,
}

/// Returns an object with placeholders of its generated values.
pub(crate) fn shown(kind: &GroupVersionKind, object: &Object, digests: Option<&DigestKey>) -> Shown {
    let unchanged = || Shown { json: Bytes::from(object.shared_json()), lacks_digests: false };
    if !may_have_values(kind, object) {
        return unchanged();
    }
    let Ok(value) = serde_json::from_str::<Value>(object.json()) else { return unchanged() };
    match generated::shown(&value, digests) {
        Some(value) => Shown { json: Bytes::from(value.to_string().into_bytes()), lacks_digests: digests.is_none() },
        None => unchanged(),
    }
}
