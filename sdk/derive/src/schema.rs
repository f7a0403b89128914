//! Derives the schema of a type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataEnum, DataStruct, DeriveInput, Field, Fields};

use crate::attributes::{Serde, documentation, renamed};
use crate::json::{self, Fragments};
use crate::keywords::{Keywords, is_optional};

/// Status fields that the host writes and describes.
const OF_THE_HOST: [&str; 2] = ["conditions", "observedGeneration"];

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(&input.generics, "no schema can be derived for a generic type"));
    }
    let serde = Serde::of(&input.attrs)?;
    let keywords = Keywords::of(&input.attrs)?;
    let (mut schema, properties) = match &input.data {
        Data::Struct(fields) => of_struct(fields, &serde)?,
        Data::Enum(variants) => (of_enum(variants, &serde)?, None),
        Data::Union(_) => return Err(syn::Error::new_spanned(&input.ident, "a union has no schema")),
    };
    keywords.add_to(&mut schema);

    let mut description = Fragments::default();
    if let Some(documentation) = documentation(&input.attrs) {
        description.text(&description_of(&documentation));
    }
    let (name, schema, description) = (&input.ident, schema.finish(), description.finish());
    let properties = properties.map(|properties| {
        let properties = properties.finish();
        quote! {
            impl ::gyre_sdk::schema::Properties for #name {
                const PROPERTIES: ::gyre_sdk::schema::Fragments = #properties;
            }
        }
    });
    Ok(quote! {
        impl ::gyre_sdk::schema::Schema for #name {
            const KEYWORDS: ::gyre_sdk::schema::Fragments = #schema;
            const DESCRIPTION: ::gyre_sdk::schema::Fragments = #description;
        }
        #properties
    })
}

/// Returns the keyword with a comma after it.
pub(crate) fn description_of(documentation: &str) -> String {
    format!("\"description\":{},", json::string(documentation))
}

/// Returns the schema of a struct, and its fields alone, each with a comma before it.
fn of_struct(data: &DataStruct, serde: &Serde) -> syn::Result<(Fragments, Option<Fragments>)> {
    let fields = match &data.fields {
        Fields::Named(fields) => fields.named.iter(),
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            let field = fields.unnamed.iter().next().into_iter();
            let schemas: syn::Result<Vec<Fragments>> =
                field.map(|field| Keywords::of(&field.attrs)?.schema_of(&field.ty)).collect();
            return Ok((schemas?.pop().unwrap_or_default(), None));
        }
        other => {
            return Err(syn::Error::new_spanned(other, "a schema is derived for structs with named fields, or with one field"));
        }
    };
    let (mut schema, mut properties, mut required) = (Fragments::default(), Fragments::default(), Vec::new());
    schema.text(r#""type":"object","properties":{"#);
    let mut is_first = true;
    for field in fields {
        let Some(property) = Property::of(field, serde)? else { continue };
        if !is_first {
            schema.text(",");
        }
        is_first = false;
        schema.append(&property.schema);
        if !OF_THE_HOST.contains(&property.name.as_str()) {
            properties.text(",").append(&property.schema);
        }
        if property.is_required {
            required.push(json::string(&property.name));
        }
    }
    schema.text("}");
    if !required.is_empty() {
        schema.text(&format!(",\"required\":{}", json::array(&required)));
    }
    Ok((schema, Some(properties)))
}

struct Property {
    name: String,
    /// Includes the name.
    schema: Fragments,
    is_required: bool,
}

impl Property {
    fn of(field: &Field, container: &Serde) -> syn::Result<Option<Self>> {
        let serde = Serde::of(&field.attrs)?;
        let Some(ident) = &field.ident else { return Ok(None) };
        if serde.is_skipped {
            return Ok(None);
        }
        let ident_text = ident.to_string();
        let ident_text = ident_text.strip_prefix("r#").unwrap_or(&ident_text);
        let name = match serde.rename {
            Some(name) => name,
            None => renamed(ident_text, container.rename_all.as_deref())
                .map_err(|message| syn::Error::new_spanned(ident, message))?,
        };
        let keywords = Keywords::of(&field.attrs)?;
        let of = &field.ty;
        let mut schema = Fragments::default();
        schema.text(&format!("{}:{{", json::string(&name)));
        if let Some(documentation) = documentation(&field.attrs) {
            schema.text(&description_of(&documentation));
        } else if !keywords.is_replaced() {
            schema.nested(&quote!(<#of as ::gyre_sdk::Schema>::DESCRIPTION));
        }
        schema.append(&keywords.schema_of(of)?).text("}");
        let is_required = !is_optional(of) && !serde.has_default && !container.has_default && !keywords.has_default();
        Ok(Some(Self { name, schema, is_required }))
    }
}

fn of_enum(data: &DataEnum, serde: &Serde) -> syn::Result<Fragments> {
    let mut names = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            let message = "a schema is derived for enums without fields: give the field one by #[schema(json = \"{…}\")]";
            return Err(syn::Error::new_spanned(variant, message));
        }
        let of_variant = Serde::of(&variant.attrs)?;
        if of_variant.is_skipped {
            continue;
        }
        let name = match of_variant.rename {
            Some(name) => name,
            None => renamed(&variant.ident.to_string(), serde.rename_all.as_deref())
                .map_err(|message| syn::Error::new_spanned(variant, message))?,
        };
        names.push(json::string(&name));
    }
    let mut schema = Fragments::default();
    schema.text(&format!("\"type\":\"string\",\"enum\":{}", json::array(&names)));
    Ok(schema)
}
