//! Builds JSON as text with references to the text of other types.

use std::fmt::Write as _;

use proc_macro2::TokenStream;
use quote::quote;

pub(crate) fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

pub(crate) fn array(elements: &[String]) -> String {
    format!("[{}]", elements.join(","))
}

/// Parts of JSON, which become a constant of the type `Fragments`.
#[derive(Default)]
pub(crate) struct Fragments {
    parts: Vec<TokenStream>,
    text: String,
}

impl Fragments {
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    pub(crate) fn nested(&mut self, fragments: &TokenStream) -> &mut Self {
        self.end_text();
        self.parts.push(quote!(::gyre_sdk::schema::Fragment::Nested(#fragments)));
        self
    }

    pub(crate) fn append(&mut self, other: &Self) -> &mut Self {
        if other.parts.is_empty() {
            return self.text(&other.text);
        }
        self.end_text();
        self.parts.extend(other.parts.iter().cloned());
        self.text(&other.text)
    }

    pub(crate) fn finish(mut self) -> TokenStream {
        self.end_text();
        let parts = self.parts;
        quote!(&[#(#parts),*])
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.parts.push(quote!(::gyre_sdk::schema::Fragment::Text(#text)));
        }
    }
}
