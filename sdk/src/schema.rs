//! Schemas of types for CustomResourceDefinitions.
//!
//! ```text
//!   #[derive(Schema)] ──▶ fragments of JSON, some of other types ──▶ joined: CustomResource::CRD
//! ```
//!
//! A component contains the finished text of its CRD, not the code that builds it.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::labels::Labels;

/// A text in parts.
pub type Fragments = &'static [Fragment];

/// A part of a text.
#[derive(Clone, Copy, Debug)]
pub enum Fragment {
    /// A literal text.
    Text(&'static str),
    /// The parts of another type.
    Nested(Fragments),
}

/// A type with a structural schema (OpenAPI v3 of Kubernetes). Use [`derive@crate::Schema`].
#[doc(alias = "JsonSchema")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no schema",
    note = "add `#[derive(gyre_sdk::Schema)]` to it, or `#[schema(json = \"…\")]` to the field"
)]
pub trait Schema {
    /// The keywords of the schema without braces, e.g. `"type":"string"`.
    const KEYWORDS: Fragments;

    /// The keyword `description` with a comma after it, or nothing without documentation.
    const DESCRIPTION: Fragments = &[];
}

/// A struct with a schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no struct with a schema",
    note = "add `#[derive(serde::Serialize, gyre_sdk::Schema)]` to it"
)]
pub trait Properties: Schema {
    /// The fields, each with a comma before it, e.g. `,"message":{"type":"string"}`.
    const PROPERTIES: Fragments;
}

macro_rules! schemas {
    ($($type:ty: $keywords:literal)*) => {
        $(
            impl Schema for $type {
                const KEYWORDS: Fragments = &[Fragment::Text($keywords)];
            }
        )*
    };
}

schemas! {
    String: r#""type":"string""#
    bool: r#""type":"boolean""#
    i8: r#""type":"integer","format":"int32""#
    i16: r#""type":"integer","format":"int32""#
    i32: r#""type":"integer","format":"int32""#
    i64: r#""type":"integer","format":"int64""#
    u8: r#""type":"integer","format":"int32","minimum":0"#
    u16: r#""type":"integer","format":"int32","minimum":0"#
    u32: r#""type":"integer","format":"int64","minimum":0"#
    u64: r#""type":"integer","format":"int64","minimum":0"#
    f32: r#""type":"number","format":"float""#
    f64: r#""type":"number","format":"double""#
    Value: r#""x-kubernetes-preserve-unknown-fields":true"#
    crate::time::Time: r#""type":"string","format":"date-time""#
    Labels: r#""type":"object","additionalProperties":{"type":"string"}"#
}

macro_rules! transparent {
    ($($type:ty)*) => {
        $(
            impl<T: Schema> Schema for $type {
                const KEYWORDS: Fragments = T::KEYWORDS;
                const DESCRIPTION: Fragments = T::DESCRIPTION;
            }
        )*
    };
}

transparent! { Option<T> Box<T> }

impl<T: Schema> Schema for Vec<T> {
    const KEYWORDS: Fragments = &[
        Fragment::Text(r#""type":"array","items":{"#),
        Fragment::Nested(T::DESCRIPTION),
        Fragment::Nested(T::KEYWORDS),
        Fragment::Text("}"),
    ];
}

macro_rules! maps {
    ($($type:ty)*) => {
        $(
            impl<T: Schema> Schema for $type {
                const KEYWORDS: Fragments = &[
                    Fragment::Text(r#""type":"object","additionalProperties":{"#),
                    Fragment::Nested(T::DESCRIPTION),
                    Fragment::Nested(T::KEYWORDS),
                    Fragment::Text("}"),
                ];
            }
        )*
    };
}

maps! { BTreeMap<String, T> HashMap<String, T> }

/// Returns the total number of bytes of the parts.
pub const fn length(fragments: Fragments) -> usize {
    let (mut length, mut left) = (0, fragments);
    while let [first, rest @ ..] = left {
        length += match first {
            Fragment::Text(text) => text.len(),
            Fragment::Nested(fragments) => self::length(fragments),
        };
        left = rest;
    }
    length
}

/// Returns the bytes of all parts. `N` is their [`length`].
pub const fn joined<const N: usize>(fragments: Fragments) -> [u8; N] {
    let mut bytes = [0; N];
    append(fragments, &mut bytes, 0);
    bytes
}

/// Writes the parts from this index on, and returns the index after them.
const fn append(fragments: Fragments, bytes: &mut [u8], mut end: usize) -> usize {
    let mut left = fragments;
    while let [first, rest @ ..] = left {
        match first {
            Fragment::Nested(fragments) => end = append(fragments, bytes, end),
            Fragment::Text(text) => {
                let (_, place) = bytes.split_at_mut(end);
                let (place, _) = place.split_at_mut(text.len());
                place.copy_from_slice(text.as_bytes());
                end += text.len();
            }
        }
        left = rest;
    }
    end
}

/// Returns the text of [`joined`] bytes.
pub const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

#[cfg(test)]
mod tests;
