//! The derive macros of `gyre-sdk`, which re-exports and documents them.
//!
//! ```text
//!   attributes ──▶ keywords ──▶ schema: the fragments of a type ──▶ resource: those of a CRD
//! ```
//!
//! The macros write JSON. For another type they refer to its fragments, which the compiler joins.

mod attributes;
mod json;
mod keywords;
mod resource;
mod schema;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// See `gyre_sdk::Schema`.
#[proc_macro_derive(Schema, attributes(schema))]
pub fn derive_schema(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    schema::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// See `gyre_sdk::CustomResource`.
#[proc_macro_derive(CustomResource, attributes(resource, schema, kube, gyre, crd, custom_resource))]
pub fn derive_custom_resource(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    resource::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
