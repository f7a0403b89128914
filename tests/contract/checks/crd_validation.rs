//! The effects of a custom resource's schema: pruning, defaults, validation.

use serde_json::{Value, json};

use crate::suite::objects::{any, widget, widget_crd, widget_crd_with_status};
use crate::suite::probe::{MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    unknown_fields_are_pruned,
    unknown_fields_are_kept_where_the_schema_says_so,
    defaults_are_set_on_writes_and_for_nulls,
    a_default_within_a_missing_parent_is_not_set,
    defaults_are_set_when_reading_older_objects,
    a_missing_required_field_is_named,
    an_enum_lists_what_is_supported,
    a_pattern_is_matched,
    lengths_are_limited,
    numbers_have_bounds_and_multiples,
    a_value_of_another_type_is_refused,
    null_is_dropped_from_objects_and_refused_in_lists_unless_nullable,
    int_or_string_takes_both,
    formats_are_validated,
    lists_have_a_least_and_a_largest_length,
    a_set_has_no_duplicates,
    a_list_map_has_no_duplicate_keys,
    additional_properties_are_validated,
    the_number_of_properties_is_limited,
    one_of_takes_exactly_one,
    any_of_all_of_and_not_are_validated,
    an_embedded_resource_is_validated_and_keeps_its_metadata,
    all_faults_are_reported_at_once,
    every_fault_of_a_long_list_is_reported,
    an_object_that_was_invalid_before_may_stay_so,
    metadata_of_a_custom_resource_is_validated,
    a_status_in_a_create_is_not_validated_when_it_is_a_subresource,
    dry_runs_are_validated_too,
    a_patch_is_validated_and_pruned,
}

const WIDGETS: &str = "{group}/v1/widgets";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}";

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

async fn refused(server: &Probe, spec: Value, expected: &str) {
    let answer = server.post(WIDGETS).body(widget("a", spec)).expect(422).await;
    assert!(answer.message().contains(expected), "{}", answer.message());
}

async fn accepted(server: &Probe, name: &str, spec: Value) -> Value {
    server.create(WIDGETS, widget(name, spec)).await["spec"].clone()
}

async fn unknown_fields_are_pruned(server: &Probe) {
    server.install(widget_crd(object(json!({"x": {"type": "integer"}, "o": object(json!({"y": {"type": "integer"}}))})))).await;
    let mut body = widget("a", json!({"x": 1, "z": 2, "o": {"y": 1, "z": 1}}));
    body["extra"] = 1.into();
    let answer = server.post(WIDGETS).query("fieldValidation=Ignore").body(body).expect(201).await;
    assert_eq!((&answer["spec"], answer.at("/extra")), (&json!({"x": 1, "o": {"y": 1}}), &Value::Null));
}

async fn unknown_fields_are_kept_where_the_schema_says_so(server: &Probe) {
    let mut free = object(json!({"known": object(json!({"y": {"type": "integer"}}))}));
    free["x-kubernetes-preserve-unknown-fields"] = true.into();
    server.install(widget_crd(object(json!({"free": free})))).await;
    let spec = accepted(server, "a", json!({"free": {"a": [1, {"b": null}], "known": {"y": 1, "z": 1}}, "z": 1})).await;
    assert_eq!(spec, json!({"free": {"a": [1, {"b": null}], "known": {"y": 1}}}));
}

async fn defaults_are_set_on_writes_and_for_nulls(server: &Probe) {
    server
        .install(widget_crd(object(json!({
            "x": {"type": "integer", "default": 1}, "n": {"type": "integer", "nullable": true, "default": 2},
            "o": {"type": "object", "default": {}, "properties": {"y": {"type": "string", "default": "z"}}},
            "l": {"type": "array", "items": object(json!({"p": {"type": "boolean", "default": true}}))},
        }))))
        .await;
    let spec = accepted(server, "a", json!({"l": [{}]})).await;
    assert_eq!(spec, json!({"x": 1, "n": 2, "o": {"y": "z"}, "l": [{"p": true}]}));
    let spec = accepted(server, "b", json!({"x": null, "n": null})).await;
    assert_eq!(spec, json!({"x": 1, "n": null, "o": {"y": "z"}}));
}

async fn a_default_within_a_missing_parent_is_not_set(server: &Probe) {
    server.install(widget_crd(object(json!({"o": object(json!({"y": {"type": "integer", "default": 1}}))})))).await;
    assert_eq!(accepted(server, "a", json!({})).await, json!({}));
    assert_eq!(accepted(server, "b", json!({"o": {}})).await, json!({"o": {"y": 1}}));
}

async fn defaults_are_set_when_reading_older_objects(server: &Probe) {
    server.install(widget_crd(object(json!({"x": {"type": "integer"}})))).await;
    server.create(WIDGETS, widget("a", json!({}))).await;
    let versions = widget_crd(object(json!({"x": {"type": "integer", "default": 9}})))["spec"]["versions"].clone();
    server.patch(CRD, MERGE_PATCH, json!({"spec": {"versions": versions}})).unrecorded().expect(200).await;
    server.until("{group}/v1/widgets/a", |answer| answer.at("/spec/x") == 9).await;
    assert_eq!(server.get("{group}/v1/widgets/a").expect(200).await["spec"], json!({"x": 9}));
}

async fn a_missing_required_field_is_named(server: &Probe) {
    let mut spec = object(
        json!({"x": {"type": "integer"}, "l": {"type": "array", "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}}}}),
    );
    spec["required"] = json!(["x"]);
    server.install(widget_crd(spec)).await;
    refused(server, json!({}), "spec.x: Required value").await;
    refused(server, json!({"x": 1, "l": [{"n": "a"}, {}]}), "spec.l[1].n: Required value").await;
}

async fn an_enum_lists_what_is_supported(server: &Probe) {
    server
        .install(widget_crd(object(
            json!({"c": {"type": "string", "enum": ["red", "blue"]}, "n": {"type": "integer", "enum": [1, 2]}}),
        )))
        .await;
    refused(server, json!({"c": "green"}), "spec.c: Unsupported value: \"green\": supported values: \"red\", \"blue\"").await;
    refused(server, json!({"n": 3}), "spec.n: Unsupported value: 3").await;
}

async fn a_pattern_is_matched(server: &Probe) {
    server.install(widget_crd(object(json!({"p": {"type": "string", "pattern": "^[a-z]+$"}})))).await;
    refused(server, json!({"p": "A1"}), "spec.p: Invalid value: \"A1\": spec.p in body should match '^[a-z]+$'").await;
    accepted(server, "b", json!({"p": "abc"})).await;
}

async fn lengths_are_limited(server: &Probe) {
    server.install(widget_crd(object(json!({"s": {"type": "string", "minLength": 2, "maxLength": 3}})))).await;
    refused(server, json!({"s": "a"}), "spec.s in body should be at least 2 chars long").await;
    refused(server, json!({"s": "abcd"}), "spec.s: Too long: may not be more than 3 bytes").await;
    accepted(server, "b", json!({"s": "äöü"})).await;
}

async fn numbers_have_bounds_and_multiples(server: &Probe) {
    server.install(widget_crd(object(json!({
        "a": {"type": "integer", "minimum": 1, "maximum": 5}, "b": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
        "c": {"type": "number", "multipleOf": 0.5}, "d": {"type": "number", "maximum": 1, "exclusiveMaximum": true},
    })))).await;
    refused(server, json!({"a": 0}), "spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 1").await;
    refused(server, json!({"a": 6}), "spec.a in body should be less than or equal to 5").await;
    refused(server, json!({"b": 0}), "spec.b in body should be greater than 0").await;
    refused(server, json!({"c": 0.7}), "spec.c in body should be a multiple of 0.5").await;
    refused(server, json!({"d": 1.0}), "spec.d in body should be less than 1").await;
    accepted(server, "b", json!({"a": 5, "b": 0.1, "c": 1.5, "d": 0.9})).await;
}

async fn a_value_of_another_type_is_refused(server: &Probe) {
    server
        .install(widget_crd(object(json!({
            "i": {"type": "integer"}, "s": {"type": "string"}, "b": {"type": "boolean"}, "n": {"type": "number"},
            "l": {"type": "array", "items": {"type": "string"}}, "o": {"type": "object"},
        }))))
        .await;
    refused(server, json!({"i": "1"}), "spec.i: Invalid value: \"string\": spec.i in body must be of type integer: \"string\"")
        .await;
    refused(server, json!({"i": 1.5}), "spec.i").await;
    refused(server, json!({"s": 1}), "spec.s in body must be of type string: \"integer\"").await;
    refused(server, json!({"b": "true"}), "spec.b in body must be of type boolean: \"string\"").await;
    refused(server, json!({"l": "x"}), "spec.l in body must be of type array: \"string\"").await;
    refused(server, json!({"l": [1]}), "spec.l[0]").await;
    refused(server, json!({"o": []}), "spec.o in body must be of type object: \"array\"").await;
    accepted(server, "b", json!({"i": 1.0, "n": 1})).await;
}

async fn null_is_dropped_from_objects_and_refused_in_lists_unless_nullable(server: &Probe) {
    server.install(widget_crd(object(json!({"x": {"type": "integer"}, "n": {"type": "integer", "nullable": true}, "l": {"type": "array", "items": {"type": "string"}}})))).await;
    assert_eq!(accepted(server, "c", json!({"x": null})).await, json!({}));
    refused(server, json!({"l": [null]}), "spec.l[0]").await;
    assert_eq!(accepted(server, "b", json!({"n": null})).await, json!({"n": null}));
}

async fn int_or_string_takes_both(server: &Probe) {
    server.install(widget_crd(object(json!({"p": {"x-kubernetes-int-or-string": true}})))).await;
    accepted(server, "b", json!({"p": 1})).await;
    accepted(server, "c", json!({"p": "50%"})).await;
    refused(server, json!({"p": 1.5}), "spec.p").await;
    refused(server, json!({"p": true}), "spec.p in body must be of type integer,string: \"boolean\"").await;
}

async fn formats_are_validated(server: &Probe) {
    server.install(widget_crd(object(json!({
        "t": {"type": "string", "format": "date-time"}, "u": {"type": "string", "format": "uuid"}, "i": {"type": "string", "format": "ipv4"},
        "b": {"type": "string", "format": "byte"}, "n": {"type": "integer", "format": "int32"}, "x": {"type": "string", "format": "unheard-of"},
        "d": {"type": "string", "format": "duration"}, "c": {"type": "string", "format": "cidr"},
    })))).await;
    for (field, value) in [
        ("t", json!("today")),
        ("u", json!("x")),
        ("i", json!("1.2.3")),
        ("b", json!("?")),
        ("n", json!(3_000_000_000_u64)),
        ("d", json!("long")),
        ("c", json!("10.0.0.0")),
    ] {
        refused(server, json!({field: value}), &format!("spec.{field}")).await;
    }
    accepted(
        server,
        "b",
        json!({"t": "2001-01-01T00:00:00Z", "i": "1.2.3.4", "b": "YQ==", "x": "anything", "d": "5m", "c": "10.0.0.0/8"}),
    )
    .await;
}

async fn lists_have_a_least_and_a_largest_length(server: &Probe) {
    server
        .install(widget_crd(object(
            json!({"l": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}}}),
        )))
        .await;
    refused(server, json!({"l": []}), "spec.l in body should have at least 1 items").await;
    refused(server, json!({"l": [1, 2, 3]}), "spec.l: Too many: 3: must have at most 2 items").await;
}

async fn a_set_has_no_duplicates(server: &Probe) {
    server
        .install(widget_crd(object(
            json!({"l": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}),
        )))
        .await;
    refused(server, json!({"l": ["a", "b", "a"]}), "spec.l[2]: Duplicate value: \"a\"").await;
}

async fn a_list_map_has_no_duplicate_keys(server: &Probe) {
    server.install(widget_crd(object(json!({"l": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n", "p"],
        "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}, "p": {"type": "integer", "default": 1}}},
    }})))).await;
    refused(server, json!({"l": [{"n": "a"}, {"n": "a", "p": 1}]}), "spec.l[1]: Duplicate value").await;
    accepted(server, "b", json!({"l": [{"n": "a"}, {"n": "a", "p": 2}]})).await;
}

async fn additional_properties_are_validated(server: &Probe) {
    server
        .install(widget_crd(object(
            json!({"m": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 3}}}),
        )))
        .await;
    refused(server, json!({"m": {"a": 1, "b": 5}}), "spec.m.b in body should be less than or equal to 3").await;
    refused(server, json!({"m": {"a": "x"}}), "spec.m.a").await;
    accepted(server, "b", json!({"m": {"any key": 1}})).await;
}

async fn the_number_of_properties_is_limited(server: &Probe) {
    server.install(widget_crd(object(json!({"m": {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "integer"}}})))).await;
    refused(server, json!({"m": {}}), "spec.m in body should have at least 1 properties").await;
    refused(server, json!({"m": {"a": 1, "b": 1, "c": 1}}), "spec.m: Too many: 3: must have at most 2 items").await;
}

async fn one_of_takes_exactly_one(server: &Probe) {
    let mut spec = object(json!({"a": {"type": "integer"}, "b": {"type": "integer"}}));
    spec["oneOf"] = json!([{"required": ["a"]}, {"required": ["b"]}]);
    server.install(widget_crd(spec)).await;
    refused(server, json!({}), "must validate one and only one schema (oneOf). Found none valid").await;
    refused(server, json!({"a": 1, "b": 1}), "must validate one and only one schema (oneOf). Found 2 valid alternatives").await;
    accepted(server, "b", json!({"a": 1})).await;
}

async fn any_of_all_of_and_not_are_validated(server: &Probe) {
    server
        .install(widget_crd(object(json!({
            "a": {"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": 1}]},
            "b": {"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 5}]},
            "c": {"type": "string", "not": {"enum": ["x"]}},
        }))))
        .await;
    refused(server, json!({"a": 5}), "must validate at least one schema (anyOf)").await;
    refused(server, json!({"b": 6}), "spec.b").await;
    refused(server, json!({"c": "x"}), "must not validate the schema (not)").await;
    accepted(server, "b", json!({"a": 0, "b": 3, "c": "y"})).await;
}

async fn an_embedded_resource_is_validated_and_keeps_its_metadata(server: &Probe) {
    let embedded =
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    server.install(widget_crd(object(json!({"e": embedded})))).await;
    refused(server, json!({"e": {}}), "spec.e.apiVersion: Required value").await;
    for (metadata, expected) in [
        (json!({"name": "a/b"}), "spec.e.metadata.name"),
        (json!({"generateName": "a/b"}), "spec.e.metadata.generateName"),
        (json!({"namespace": "a.b"}), "spec.e.metadata.namespace"),
        (json!({"labels": {"not valid": "z"}}), "spec.e.metadata.labels"),
        (json!({"annotations": {"not valid": "z"}}), "spec.e.metadata.annotations"),
        (json!({"finalizers": ["not valid"]}), "spec.e.metadata.finalizers"),
        (json!({"generation": -1}), "spec.e.metadata.generation"),
    ] {
        refused(server, json!({"e": {"apiVersion": "v1", "kind": "X", "metadata": metadata}}), expected).await;
    }
    accepted(server, "b", json!({"e": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "odd": 1}, "data": 1}}))
        .await;
}

async fn all_faults_are_reported_at_once(server: &Probe) {
    let mut spec = object(
        json!({"a": {"type": "integer", "minimum": 1}, "b": {"type": "string", "enum": ["x"]}, "c": {"type": "string"}}),
    );
    spec["required"] = json!(["c"]);
    server.install(widget_crd(spec)).await;
    let answer = server.post(WIDGETS).body(widget("a", json!({"a": 0, "b": "y"}))).expect(422).await;
    assert_eq!(answer["details"]["causes"].as_array().unwrap().len(), 3);
}

async fn every_fault_of_a_long_list_is_reported(server: &Probe) {
    const ITEMS: usize = 200;
    let named = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer", "maximum": 10}}});
    server
        .install(widget_crd(object(json!({
            "plain": {"type": "array", "items": {"type": "integer"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer", "minimum": 1000}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": named},
        }))))
        .await;
    let plain: Vec<Value> = (0..ITEMS).map(|item| format!("wrong {item}").into()).collect();
    let set: Vec<usize> = (0..ITEMS).collect();
    let map =
        |size: usize| -> Vec<Value> { (0..ITEMS).map(|item| json!({"name": format!("n{item}"), "size": size})).collect() };
    for spec in [json!({"plain": plain}), json!({"set": set}), json!({"map": map(11)})] {
        let answer = server.post(WIDGETS).body(widget("a", spec)).expect(422).await;
        assert_eq!(answer.at("/details/causes").as_array().unwrap().len(), ITEMS);
    }
    server.create(WIDGETS, widget("a", json!({"map": map(9)}))).await;
    let path = "{group}/v1/widgets/a";
    server.patch(path, MERGE_PATCH, json!({"spec": {"map": map(12)}})).expect(422).await;
}

async fn an_object_that_was_invalid_before_may_stay_so(server: &Probe) {
    server.install(widget_crd(object(json!({"x": {"type": "integer"}, "y": {"type": "integer"}})))).await;
    server.create(WIDGETS, widget("a", json!({"x": 1}))).await;
    let versions =
        widget_crd(object(json!({"x": {"type": "integer", "minimum": 5}, "y": {"type": "integer"}})))["spec"]["versions"]
            .clone();
    server.patch(CRD, MERGE_PATCH, json!({"spec": {"versions": versions}})).unrecorded().expect(200).await;
    let request = || server.post("{group}/v1/widgets?dryRun=All").body(widget("b", json!({"x": 1})));
    server.until_request(request, |answer| answer.status == 422).await;
    let path = "{group}/v1/widgets/a";
    server.patch(path, MERGE_PATCH, json!({"spec": {"y": 1}})).expect(200).await;
    let answer = server.patch(path, MERGE_PATCH, json!({"spec": {"x": 2}})).expect(422).await;
    assert!(answer.message().contains("should be greater than or equal to 5"), "{}", answer.message());
}

async fn metadata_of_a_custom_resource_is_validated(server: &Probe) {
    server.install(widget_crd(any())).await;
    for metadata in
        [json!({"name": "A"}), json!({"name": "a", "labels": {"x": "y z"}}), json!({"name": "a", "annotations": {"x y": ""}})]
    {
        let body = json!({"apiVersion": "{group}/v1", "kind": "Widget", "metadata": metadata});
        server.post(WIDGETS).body(body).expect(422).await;
    }
    let body = json!({"apiVersion": "{group}/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"x": 1}}});
    let answer = server.post(WIDGETS).body(body).expect(400).await;
    assert!(answer.message().contains(" cannot be handled as a Widget: "), "{}", answer.message());
    assert!(answer.message().contains("labels"), "{}", answer.message());
}

async fn a_status_in_a_create_is_not_validated_when_it_is_a_subresource(server: &Probe) {
    let mut crd = widget_crd_with_status(any());
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] =
        json!({"type": "object", "required": ["phase"], "properties": {"phase": {"type": "string"}}});
    server.install(crd).await;
    let mut body = widget("a", json!({}));
    body["status"] = json!({"phase": 1});
    let answer = server.post(WIDGETS).body(body).expect(201).await;
    assert_eq!(answer.at("/status"), &Value::Null);
}

async fn dry_runs_are_validated_too(server: &Probe) {
    server.install(widget_crd(object(json!({"x": {"type": "integer", "default": 4}})))).await;
    server.post("{group}/v1/widgets?dryRun=All").body(widget("a", json!({"x": "y"}))).expect(422).await;
    let answer = server.post("{group}/v1/widgets?dryRun=All").body(widget("a", json!({}))).expect(201).await;
    assert_eq!(answer["spec"], json!({"x": 4}));
}

async fn a_patch_is_validated_and_pruned(server: &Probe) {
    server.install(widget_crd(object(json!({"x": {"type": "integer"}})))).await;
    server.create(WIDGETS, widget("a", json!({"x": 1}))).await;
    let path = "{group}/v1/widgets/a";
    server.patch(path, MERGE_PATCH, json!({"spec": {"x": "y"}})).expect(422).await;
    let answer = server.patch(path, MERGE_PATCH, json!({"spec": {"x": 2, "z": 1}})).expect(200).await;
    assert_eq!(answer["spec"], json!({"x": 2}));
    server.patch(path, MERGE_PATCH, json!({"spec": {"z": 1}})).query("fieldValidation=Strict").expect(422).await;
}
