//! Derives the CustomResourceDefinition of a type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{DeriveInput, Ident, LitInt, LitStr, Token, Type};

use crate::attributes::documentation;
use crate::json::{self, Fragments};
use crate::schema;

/// The schema of the status fields of the host, without the description of the conditions.
const STATUS_OF_THE_HOST: &str = concat!(
    r#""observedGeneration":{"type":"integer","format":"int64","description":"The generation of the spec that this status is about."},"#,
    r#""conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],"items":{"type":"object","#,
    r#""required":["type","status","lastTransitionTime","reason","message"],"properties":{"#,
    r#""type":{"type":"string","maxLength":316},"status":{"type":"string","enum":["True","False","Unknown"]},"#,
    r#""observedGeneration":{"type":"integer","format":"int64","minimum":0},"#,
    r#""lastTransitionTime":{"type":"string","format":"date-time"},"reason":{"type":"string","minLength":1,"maxLength":1024},"#,
    r#""message":{"type":"string","maxLength":32768}}},"#,
);

/// Names of the attribute in other frameworks, and names that authors guess.
const FOREIGN: [&str; 4] = ["kube", "gyre", "crd", "custom_resource"];

const CONDITIONS: &str = "The conditions of the object, one for each type.";

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let resource = Resource::of(input)?;
    let schema = schema::derive(input)?;
    let (name, kind) = (&input.ident, &resource.kind);
    let api_version = format!("{}/{}", resource.group, resource.version);
    let crd = resource.crd(name, documentation(&input.attrs)).finish();
    let object = resource.object(input);
    Ok(quote! {
        #schema
        #object
        impl ::gyre_sdk::CustomResource for #name {
            const KIND: ::gyre_sdk::Kind = ::gyre_sdk::Kind::new(#api_version, #kind);
            const CRD: &'static str = {
                const FRAGMENTS: ::gyre_sdk::schema::Fragments = #crd;
                const BYTES: [u8; ::gyre_sdk::schema::length(FRAGMENTS)] = ::gyre_sdk::schema::joined(FRAGMENTS);
                ::gyre_sdk::schema::text(&BYTES)
            };
        }
    })
}

/// The arguments of `#[resource(…)]`.
#[derive(Default)]
struct Resource {
    group: String,
    version: String,
    kind: String,
    plural: Option<String>,
    short_names: Vec<String>,
    categories: Vec<String>,
    columns: Vec<String>,
    status: Option<Type>,
    conditions: Option<String>,
    has_no_status: bool,
    is_cluster_scoped: bool,
    is_spec_optional: bool,
}

impl Resource {
    fn of(input: &DeriveInput) -> syn::Result<Self> {
        let mut resource = Self::default();
        for attribute in &input.attrs {
            let path = attribute.path();
            if path.is_ident("resource") {
                attribute.parse_nested_meta(|meta| resource.read(&meta))?;
            } else if FOREIGN.iter().any(|foreign| path.is_ident(foreign)) {
                return Err(syn::Error::new_spanned(path, "write `resource`"));
            }
        }
        for (name, value) in [("group", &resource.group), ("version", &resource.version), ("kind", &resource.kind)] {
            if value.is_empty() {
                return Err(syn::Error::new_spanned(&input.ident, format!("add #[resource({name} = \"…\")]")));
            }
        }
        Ok(resource)
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let Some(name) = meta.path.get_ident().map(Ident::to_string) else { return Err(meta.error("expected a name")) };
        let text = || meta.value()?.parse::<LitStr>().map(|text| text.value());
        match name.as_str() {
            "group" => self.group = text()?,
            "version" => self.version = text()?,
            "kind" => self.kind = text()?,
            "plural" => self.plural = Some(text()?),
            "short_name" | "shortname" => self.short_names.push(json::string(&text()?)),
            "category" => self.categories.push(json::string(&text()?)),
            "status" => self.status = Some(read_type(meta)?),
            "conditions" => self.conditions = Some(text()?),
            "no_status" => self.has_no_status = true,
            "cluster_scoped" => self.is_cluster_scoped = true,
            "spec_optional" => self.is_spec_optional = true,
            "age" => self.columns.push(column("Age", "date", ".metadata.creationTimestamp", None)),
            "condition" => {
                let content;
                syn::parenthesized!(content in meta.input);
                let kind = content.parse::<LitStr>()?.value();
                let path = format!(".status.conditions[?(@.type==\"{kind}\")].status");
                self.columns.push(column(&kind, "string", &path, None));
            }
            "column" => self.columns.push(read_column(meta)?),
            "namespaced" => self.is_cluster_scoped = false,
            "printcolumn" => return Err(meta.error("write `column(\"Name\", \".spec.path\")`")),
            _ => {
                return Err(meta.error(
                    "expected one of group, version, kind, plural, short_name, category, status, conditions, no_status, cluster_scoped, \
                     spec_optional, age, condition, column",
                ));
            }
        }
        Ok(())
    }

    /// Returns the type of the objects, which has the name of the kind. Nothing if the spec has
    /// this name, or may be absent.
    fn object(&self, input: &DeriveInput) -> TokenStream {
        let Ok(kind) = syn::parse_str::<Ident>(&self.kind) else { return TokenStream::new() };
        let (spec, visibility) = (&input.ident, &input.vis);
        if self.is_spec_optional || kind == *spec || !input.generics.params.is_empty() {
            return TokenStream::new();
        }
        let documentation = format!("An object of the kind {kind}, with the spec [`{spec}`].");
        let status = self.status.as_ref().map(|status| quote!(, #status));
        quote! {
            #[doc = #documentation]
            #[allow(dead_code, private_interfaces)]
            #visibility type #kind = ::gyre_sdk::Object<#spec #status>;
        }
    }

    fn crd(&self, name: &Ident, documentation: Option<String>) -> Fragments {
        let Self { group, version, kind, .. } = self;
        let singular = kind.to_lowercase();
        let plural = self.plural.clone().unwrap_or_else(|| plural(&singular));
        let mut crd = Fragments::default();
        let scope = if self.is_cluster_scoped { "Cluster" } else { "Namespaced" };
        let mut names = format!(
            "\"kind\":{},\"listKind\":{},\"plural\":{},\"singular\":{}",
            json::string(kind),
            json::string(&format!("{kind}List")),
            json::string(&plural),
            json::string(&singular),
        );
        for (field, list) in [("shortNames", &self.short_names), ("categories", &self.categories)] {
            if !list.is_empty() {
                names += &format!(",\"{field}\":{}", json::array(list));
            }
        }
        crd.text(&format!(
            "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{{\"name\":{}}},\
             \"spec\":{{\"group\":{},\"scope\":\"{scope}\",\"names\":{{{names}}},\"versions\":[{{\"name\":{},\"served\":true,\
             \"storage\":true,",
            json::string(&format!("{plural}.{group}")),
            json::string(group),
            json::string(version),
        ));
        if !self.has_no_status {
            crd.text(r#""subresources":{"status":{}},"#);
        }
        if !self.columns.is_empty() {
            crd.text(&format!("\"additionalPrinterColumns\":{},", json::array(&self.columns)));
        }
        crd.text(r#""schema":{"openAPIV3Schema":{"type":"object","#);
        if let Some(documentation) = documentation {
            crd.text(&schema::description_of(&documentation));
        }
        if !self.is_spec_optional {
            crd.text(r#""required":["spec"],"#);
        }
        crd.text(
            r#""properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"},"spec":{"#,
        );
        crd.nested(&quote!(<#name as ::gyre_sdk::Schema>::KEYWORDS)).text("}");
        if !self.has_no_status {
            let conditions = json::string(self.conditions.as_deref().unwrap_or(CONDITIONS));
            crd.text(r#","status":{"type":"object","properties":{"#);
            crd.text(STATUS_OF_THE_HOST).text(&format!("\"description\":{conditions}}}"));
            if let Some(status) = &self.status {
                crd.nested(&quote!(<#status as ::gyre_sdk::schema::Properties>::PROPERTIES));
            }
            crd.text("}}");
        }
        crd.text("}}}}]}}");
        crd
    }
}

/// Reads a type, also one in quotation marks, as kube's derive has it.
fn read_type(meta: &ParseNestedMeta<'_>) -> syn::Result<Type> {
    let value = meta.value()?;
    if value.peek(LitStr) { value.parse::<LitStr>()?.parse() } else { value.parse() }
}

/// Reads a column, with or without the names of its arguments.
fn read_column(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    let ahead = meta.input.fork();
    let content;
    syn::parenthesized!(content in ahead);
    if content.peek2(Token![=]) { read_named_column(meta) } else { read_positional_column(meta) }
}

/// Reads `column("Name", ".path", "date", 1)`. The type and the priority are optional.
fn read_positional_column(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    let content;
    syn::parenthesized!(content in meta.input);
    let name = content.parse::<LitStr>()?.value();
    content.parse::<Token![,]>()?;
    let path = content.parse::<LitStr>()?.value();
    let (mut of, mut priority) = ("string".to_owned(), None);
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        if content.peek(LitInt) {
            priority = Some(content.parse::<LitInt>()?.base10_parse::<u32>()?);
        } else {
            of = content.parse::<LitStr>()?.value();
        }
    }
    Ok(column(&name, &of, &path, priority))
}

/// Reads `column(name = "Name", path = ".path", type = "date", priority = 1)`. Clippy reports two
/// such columns of the same type as duplicates.
fn read_named_column(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    let (mut name, mut path, mut of, mut priority) = (None, None, None, None);
    meta.parse_nested_meta(|argument| {
        let is = |name: &str| argument.path.is_ident(name);
        if is("name") {
            name = Some(argument.value()?.parse::<LitStr>()?.value());
        } else if is("path") || is("json_path") {
            path = Some(argument.value()?.parse::<LitStr>()?.value());
        } else if is("type") {
            of = Some(argument.value()?.parse::<LitStr>()?.value());
        } else if is("priority") {
            priority = Some(argument.value()?.parse::<LitInt>()?.base10_parse::<u32>()?);
        } else {
            return Err(argument.error("expected name, path, type or priority"));
        }
        Ok(())
    })?;
    let (Some(name), Some(path)) = (name, path) else {
        return Err(meta.error("write `column(\"Name\", \".spec.path\")`; a type such as \"date\" and a priority may follow"));
    };
    Ok(column(&name, of.as_deref().unwrap_or("string"), &path, priority))
}

fn column(name: &str, of: &str, path: &str, priority: Option<u32>) -> String {
    let priority = priority.map(|priority| format!(",\"priority\":{priority}")).unwrap_or_default();
    let [name, of, path] = [name, of, path].map(json::string);
    format!("{{\"name\":{name},\"type\":{of},\"jsonPath\":{path}{priority}}}")
}

/// Returns the plural like kubebuilder, in most cases.
fn plural(singular: &str) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| singular.ends_with(ending));
    match singular.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if ends(&["s", "x", "z", "ch", "sh"]) => format!("{singular}es"),
        _ => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_formed_as_kubebuilder_forms_them() {
        let plurals = ["echo", "policy", "gateway", "mesh", "box"].map(plural);
        assert_eq!(plurals, ["echos", "policies", "gateways", "meshes", "boxes"]);
    }
}
