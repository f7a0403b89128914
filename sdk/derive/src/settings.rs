//! Derives the JSON Schema of settings.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::schema;

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let schema = schema::derive(input)?;
    let name = &input.ident;
    Ok(quote! {
        #schema
        impl ::gyre_sdk::Settings for #name {
            const SCHEMA: Option<&'static str> = {
                const FRAGMENTS: ::gyre_sdk::schema::Fragments = &[
                    ::gyre_sdk::schema::Fragment::Text(r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","#),
                    ::gyre_sdk::schema::Fragment::Nested(<#name as ::gyre_sdk::Schema>::DESCRIPTION),
                    ::gyre_sdk::schema::Fragment::Nested(<#name as ::gyre_sdk::Schema>::KEYWORDS),
                    ::gyre_sdk::schema::Fragment::Text(r#","additionalProperties":false}"#),
                ];
                const BYTES: [u8; ::gyre_sdk::schema::length(FRAGMENTS)] = ::gyre_sdk::schema::joined(FRAGMENTS);
                Some(::gyre_sdk::schema::text(&BYTES))
            };
        }
    })
}
