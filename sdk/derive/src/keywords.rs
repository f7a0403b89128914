//! Reads the attribute `#[schema(…)]` of a type or a field.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, ExprLit, ExprUnary, Lit, LitStr, Token, Type, UnOp};

use crate::json::{self, Fragments};

const LITERALS: [(&str, &str); 12] = [
    ("default", "default"),
    ("format", "format"),
    ("max_items", "maxItems"),
    ("max_length", "maxLength"),
    ("max_properties", "maxProperties"),
    ("maximum", "maximum"),
    ("min_items", "minItems"),
    ("min_length", "minLength"),
    ("min_properties", "minProperties"),
    ("minimum", "minimum"),
    ("multiple_of", "multipleOf"),
    ("pattern", "pattern"),
];

/// Short names, as the crate validator has them.
const SHORT: [(&str, &str); 2] = [("max", "maximum"), ("min", "minimum")];

/// Types whose schema has a format.
const FORMATTED: [&str; 10] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];

/// Types whose schema has the minimum 0, with those that have the same schema without it.
const UNSIGNED: [(&str, &str); 4] = [("u8", "i32"), ("u16", "i32"), ("u32", "i64"), ("u64", "i64")];

#[derive(Default)]
pub(crate) struct Keywords {
    replaced: Option<String>,
    /// E.g. `"minLength":1`.
    literals: Vec<(&'static str, String)>,
    rules: Vec<String>,
    elements: Option<Box<Keywords>>,
}

impl Keywords {
    pub(crate) fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut keywords = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("schema")) {
            attribute.parse_nested_meta(|meta| keywords.read(&meta))?;
        }
        Ok(keywords)
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if let Some((_, keyword)) = LITERALS.iter().chain(&SHORT).find(|(name, _)| meta.path.is_ident(name)) {
            self.literals.push((keyword, literal(&meta.value()?.parse()?)?));
        } else if meta.path.is_ident("rule") {
            let content;
            syn::parenthesized!(content in meta.input);
            let mut rule = format!("{{\"rule\":{}", json::string(&content.parse::<LitStr>()?.value()));
            if content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
                rule += &format!(",\"message\":{}", json::string(&content.parse::<LitStr>()?.value()));
            }
            self.rules.push(rule + "}");
        } else if meta.path.is_ident("json") {
            let text = meta.value()?.parse::<LitStr>()?;
            let keywords = text.value().trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map(str::to_owned);
            self.replaced = Some(keywords.ok_or_else(|| syn::Error::new(text.span(), "expected a JSON object"))?);
        } else if meta.path.is_ident("elements") {
            let mut elements = Self::default();
            meta.parse_nested_meta(|meta| elements.read(&meta))?;
            self.elements = Some(Box::new(elements));
        } else {
            let names: Vec<&str> = LITERALS.iter().map(|(name, _)| *name).collect();
            return Err(meta.error(format!("expected one of elements, json, rule, {}", names.join(", "))));
        }
        Ok(())
    }

    /// Returns the keywords of a type with these added.
    ///
    /// # Errors
    ///
    /// If the type already has one of them, or has no elements.
    pub(crate) fn schema_of(&self, of: &Type) -> syn::Result<Fragments> {
        let mut schema = Fragments::default();
        let wrong = |message: String| Err(syn::Error::new_spanned(of, message));
        let inner = last_argument_if(of, &["Option", "Box"]);
        let name = last_segment(inner);
        let given = |keyword: &str| self.literals.iter().find(|(name, _)| *name == keyword).map(|(_, value)| value);
        if given("format").is_some() && FORMATTED.iter().any(|of| name.as_deref() == Some(of)) {
            let what = "this type has a format of its own: give the whole schema by #[schema(json = \"{…}\")]";
            return wrong(what.to_owned());
        }
        let without_minimum = UNSIGNED.iter().find(|(of, _)| name.as_deref() == Some(of)).zip(given("minimum"));
        if without_minimum.is_some_and(|(_, minimum)| minimum.starts_with('-')) {
            return wrong("this type has no negative values: the minimum is at least 0".to_owned());
        }
        match (&self.replaced, &self.elements) {
            (Some(replaced), _) => {
                schema.text(replaced);
            }
            (None, Some(elements)) => {
                let map = r#""type":"object","additionalProperties":{"#;
                let (container, element) = match (name.as_deref(), last_argument(inner)) {
                    (Some("Vec"), Some(element)) => (r#""type":"array","items":{"#, element.clone()),
                    (Some("BTreeMap" | "HashMap"), Some(element)) => (map, element.clone()),
                    (Some("Labels"), _) => (map, syn::parse_quote!(::std::string::String)),
                    _ => return wrong("this type has no elements: they are for Vec, BTreeMap, HashMap and Labels".to_owned()),
                };
                schema.text(container).append(&elements.schema_of(&element)?).text("}");
            }
            (None, None) if let Some(((_, signed), _)) = without_minimum => {
                let signed = quote::format_ident!("{signed}");
                schema.nested(&quote::quote!(<#signed as ::gyre_sdk::Schema>::KEYWORDS));
            }
            (None, None) => {
                schema.nested(&quote::quote!(<#of as ::gyre_sdk::Schema>::KEYWORDS));
            }
        }
        self.add_to(&mut schema);
        Ok(schema)
    }

    pub(crate) fn add_to(&self, schema: &mut Fragments) {
        for (keyword, value) in &self.literals {
            schema.text(&format!(",\"{keyword}\":{value}"));
        }
        if !self.rules.is_empty() {
            schema.text(&format!(",\"x-kubernetes-validations\":{}", json::array(&self.rules)));
        }
    }

    pub(crate) fn has_default(&self) -> bool {
        self.literals.iter().any(|(keyword, _)| *keyword == "default")
    }

    pub(crate) fn is_replaced(&self) -> bool {
        self.replaced.is_some()
    }
}

fn literal(expression: &Expr) -> syn::Result<String> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(json::string(&text.value())),
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => Ok(number.base10_digits().to_owned()),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => Ok(number.base10_digits().to_owned()),
        Expr::Lit(ExprLit { lit: Lit::Bool(truth), .. }) => Ok(truth.value.to_string()),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => Ok(format!("-{}", literal(expr)?)),
        other => Err(syn::Error::new_spanned(other, "expected a number, a string or a Boolean")),
    }
}

/// Returns the name of a type without its path.
fn last_segment(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// Returns the `V` of a `Map<K, V>`.
fn last_argument(of: &Type) -> Option<&Type> {
    let Type::Path(path) = of else { return None };
    let syn::PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.last()? {
        syn::GenericArgument::Type(argument) => Some(argument),
        _ => None,
    }
}

fn last_argument_if<'a>(of: &'a Type, names: &[&str]) -> &'a Type {
    match (last_segment(of), last_argument(of)) {
        (Some(name), Some(argument)) if names.contains(&name.as_str()) => last_argument_if(argument, names),
        _ => of,
    }
}

pub(crate) fn is_optional(of: &Type) -> bool {
    last_segment(of).as_deref() == Some("Option")
}
