//! Errors for types that no schema can be derived from.

use syn::{DeriveInput, parse_str};

use crate::{resource, schema};

#[track_caller]
fn check_schema(item: &str, expected: &str) {
    check(schema::derive(&parse_str::<DeriveInput>(item).unwrap()), expected);
}

#[track_caller]
fn check_resource(attributes: &str, expected: &str) {
    let item = format!("#[resource({attributes})] struct Spec {{}}");
    check(resource::derive(&parse_str::<DeriveInput>(&item).unwrap()), expected);
}

#[track_caller]
fn check(derived: syn::Result<proc_macro2::TokenStream>, expected: &str) {
    let error = derived.unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn forms_of_types_without_a_schema_are_errors() {
    check_schema("struct S<T> { a: T }", "no schema can be derived for a generic type");
    check_schema("struct S(u8, u8);", "a schema is derived for structs with named fields, or with one field");
    check_schema("enum E { A(u8) }", "a schema is derived for enums without fields: give the field one by");
    check_schema("struct S { #[serde(flatten)] a: A }", "no schema can be derived with this attribute: give the field one by");
    check_schema("#[serde(rename_all = \"Title Case\")] struct S { a: u8 }", "serde has no rule \"Title Case\"");
}

#[test]
fn keywords_that_mean_nothing_are_errors() {
    check_schema("struct S { #[schema(min_lenght = 1)] a: String }", "expected one of elements, json, rule, default, format");
    check_schema("struct S { #[schema(minimum = -1)] a: u32 }", "this type has no negative values");
    check_schema("struct S { #[schema(format = \"int32\")] a: Option<i64> }", "this type has a format of its own");
    check_schema("struct S { #[schema(elements(minimum = 1))] a: i64 }", "this type has no elements");
    check_schema("struct S { #[schema(json = \"true\")] a: A }", "expected a JSON object");
    check_schema("struct S { #[schema(default = A)] a: A }", "expected a number, a string or a Boolean");
}

#[test]
fn a_definition_needs_a_group_a_version_and_a_kind() {
    check_resource("version = \"v1\", kind = \"A\"", "add #[resource(group = \"…\")]");
    check_resource("group = \"a.b\", kind = \"A\"", "add #[resource(version = \"…\")]");
    check_resource("group = \"a.b\", version = \"v1\"", "add #[resource(kind = \"…\")]");
    check_resource("groop = \"a.b\"", "expected one of group, version, kind, plural");
    let of_kube = "#[kube(group = \"a.b\", version = \"v1\", kind = \"A\")] struct Spec {}";
    check(resource::derive(&parse_str::<DeriveInput>(of_kube).unwrap()), "write `resource`");
    check_resource("column(\"A\", \".a\", width = 1)", "expected string literal");
    check_resource("column(width = 1)", "expected name, path, type or priority");
    check_resource("column()", "unexpected end of input, expected string literal");
    check_resource("column(name = \"A\")", "write `column(\"Name\", \".spec.path\")`");
}

#[test]
fn the_arguments_of_a_column_may_have_names() {
    let derived = |column: &str| {
        let of = format!("#[resource(group = \"a.b\", version = \"v1\", kind = \"A\", {column})] struct Spec {{}}");
        resource::derive(&parse_str::<DeriveInput>(&of).unwrap()).unwrap().to_string()
    };
    let with_names = derived("column(name = \"A\", path = \".a\", type = \"date\", priority = 1)");
    assert_eq!(with_names, derived("column(\"A\", \".a\", \"date\", 1)"));
    assert!(with_names.contains("jsonPath"));
}

#[test]
fn a_minimum_of_an_unsigned_number_takes_the_place_of_zero() {
    let derived = |limits: &str, number: &str| {
        let of = format!("struct S {{ #[schema({limits})] a: {number} }}");
        schema::derive(&parse_str::<DeriveInput>(&of).unwrap()).unwrap().to_string()
    };
    for (number, signed) in [("u8", "i32"), ("u16", "i32"), ("u32", "i64"), ("u64", "i64"), ("Option<u64>", "i64")] {
        let keywords = format!("< {signed} as :: gyre_sdk :: Schema > :: KEYWORDS");
        assert!(derived("minimum = 1, maximum = 9", number).contains(&keywords), "{number}");
        assert!(!derived("maximum = 9", number).contains(&keywords), "{number}");
    }
}

#[test]
fn limits_of_a_number_may_have_short_names() {
    let derived = |limits: &str| {
        let of = format!("struct S {{ #[schema({limits})] a: i32 }}");
        schema::derive(&parse_str::<DeriveInput>(&of).unwrap()).unwrap().to_string()
    };
    assert_eq!(derived("min = 1, max = 9"), derived("minimum = 1, maximum = 9"));
}
