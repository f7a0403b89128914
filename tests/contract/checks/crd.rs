//! CustomResourceDefinitions, and the kinds that they define.

use serde_json::{Value, json};

use crate::suite::objects::{any, widget, widget_crd};
use crate::suite::probe::{Answer, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    a_definition_gets_its_names_and_conditions,
    a_definition_must_be_named_after_its_plural_and_group,
    a_definition_without_schema_is_refused,
    a_definition_with_a_schema_that_is_not_structural_is_refused,
    a_definition_needs_exactly_one_storage_version,
    a_definition_with_invalid_names_is_refused,
    a_definition_with_an_invalid_default_is_refused,
    a_definition_with_an_invalid_rule_is_refused,
    a_definition_with_forbidden_keywords_is_refused,
    the_names_of_two_definitions_of_one_group_may_conflict,
    a_kind_is_not_found_before_and_after_its_definition,
    deleting_a_definition_deletes_its_objects,
    a_definition_is_updated_with_a_new_version,
    the_scope_and_group_of_a_definition_are_immutable,
    a_version_that_is_not_served_is_not_found,
    an_object_is_read_through_each_version,
    an_update_through_another_version_drops_fields_that_it_lacks,
    the_stored_version_is_kept_in_the_status,
    a_deprecated_version_warns,
    a_cluster_scoped_kind_has_no_namespace,
    a_custom_resource_in_a_namespace_that_is_not_there_is_not_found,
    a_schema_that_changes_is_in_force_for_the_next_write,
    a_definition_of_a_protected_group_needs_an_approval,
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}";

fn condition<'a>(answer: &'a Answer, kind: &str) -> &'a Value {
    let mut conditions = answer.at("/status/conditions").as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

async fn refused(server: &Probe, crd: Value, expected: &str) {
    let answer = server.post(CRDS).body(crd).expect(422).await;
    assert!(answer.message().contains(expected), "{}", answer.message());
}

fn with(field: &str, value: Value) -> Value {
    let mut crd = widget_crd(any());
    crd["spec"]["versions"][0][field] = value;
    crd
}

async fn a_definition_gets_its_names_and_conditions(server: &Probe) {
    let mut crd = widget_crd(any());
    crd["spec"]["names"] = json!({"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]});
    server.install(crd).await;
    let answer = server.until(CRD, |answer| condition(answer, "Established")["status"] == "True").await;
    assert_eq!(condition(&answer, "NamesAccepted")["status"], "True");
    assert_eq!(answer.str("/status/acceptedNames/singular"), "widget");
    assert_eq!(answer.str("/spec/names/listKind"), "WidgetList");
    let answer = server.get(CRD).expect(200).await;
    assert_eq!(answer.at("/status/storedVersions"), &json!(["v1"]));
}

async fn a_definition_must_be_named_after_its_plural_and_group(server: &Probe) {
    let mut crd = widget_crd(any());
    crd["metadata"]["name"] = "gadgets.{group}".into();
    refused(server, crd, "metadata.name: Invalid value").await;
}

async fn a_definition_without_schema_is_refused(server: &Probe) {
    refused(server, with("schema", Value::Null), "spec.versions[0].schema.openAPIV3Schema: Required value").await;
    refused(server, with("schema", json!({"openAPIV3Schema": {}})), "type").await;
}

async fn a_definition_with_a_schema_that_is_not_structural_is_refused(server: &Probe) {
    let schema = |schema: Value| with("schema", json!({"openAPIV3Schema": schema}));
    refused(
        server,
        schema(json!({"type": "object", "properties": {"spec": {}}})),
        "properties[spec].type: Required value: must not be empty for specified object fields",
    )
    .await;
    let inner = json!({"type": "object", "properties": {"spec": {"type": "object", "anyOf": [{"properties": {"x": {"type": "string"}}}]}}});
    refused(server, schema(inner), "anyOf[0].properties[x].type: Forbidden: must be empty to be structural").await;
    refused(server, schema(json!({"type": "string"})), "must be object at the root").await;
    refused(server, schema(json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}})), "metadata").await;
}

async fn a_definition_needs_exactly_one_storage_version(server: &Probe) {
    refused(server, with("storage", json!(false)), "must have exactly one version marked as storage version").await;
    let mut crd = widget_crd(any());
    crd["spec"]["versions"] = json!([]);
    refused(server, crd, "spec.versions").await;
}

async fn a_definition_with_invalid_names_is_refused(server: &Probe) {
    let mut crd = widget_crd(any());
    crd["spec"]["names"]["kind"] = "1 Widget".into();
    crd["spec"]["names"]["shortNames"] = json!(["W!"]);
    refused(server, crd, "spec.names.kind: Invalid value").await;
    refused(server, with("name", json!("V 1")), "spec.versions[0].name: Invalid value").await;
    let mut crd = widget_crd(any());
    crd["spec"]["scope"] = "Everywhere".into();
    refused(server, crd, "spec.scope: Unsupported value: \"Everywhere\"").await;
}

async fn a_definition_with_an_invalid_default_is_refused(server: &Probe) {
    let spec = json!({"type": "object", "properties": {"x": {"type": "integer", "default": "one"}}});
    refused(server, widget_crd(spec), "default: Invalid value: \"string\"").await;
    let spec = json!({"type": "object", "properties": {"x": {"type": "integer", "minimum": 5, "default": 1}}});
    refused(server, widget_crd(spec), "should be greater than or equal to 5").await;
}

async fn a_definition_with_an_invalid_rule_is_refused(server: &Probe) {
    let rule = |rule: &str| {
        widget_crd(
            json!({"type": "object", "properties": {"x": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}]}),
        )
    };
    for (text, expected) in [
        ("self.x >", "Syntax error"),
        ("self.y > 1", "undefined field 'y'"),
        ("self.x + 1", "cel expression must evaluate to a bool"),
        ("self.x == 'a'", "found no matching overload for '_==_'"),
    ] {
        let answer = server.post(CRDS).body(rule(text)).expect(422).await;
        assert!(answer.message().contains(expected), "{}", answer.message());
    }
    refused(server, rule(""), "rule is not specified").await;
}

async fn a_definition_with_forbidden_keywords_is_refused(server: &Probe) {
    for (keyword, value) in [
        ("$ref", json!("#/x")),
        ("uniqueItems", json!(true)),
        ("definitions", json!({"a": {}})),
        ("dependencies", json!({"a": ["b"]})),
    ] {
        let mut spec = json!({"type": "array", "items": {"type": "string"}});
        spec[keyword] = value;
        server.post(CRDS).body(widget_crd(spec)).expect(422).await;
    }
    let spec = json!({"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "string"}});
    refused(server, widget_crd(spec), "additionalProperties").await;
}

async fn the_names_of_two_definitions_of_one_group_may_conflict(server: &Probe) {
    server.install(widget_crd(any())).await;
    let mut crd = widget_crd(any());
    crd["metadata"]["name"] = "gadgets.{group}".into();
    crd["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget", "singular": "gadget", "listKind": "GadgetList"});
    server.post(CRDS).body(crd).unrecorded().expect(201).await;
    let path = format!("{CRDS}/gadgets.{{group}}");
    server.until(&path, |answer| condition(answer, "NamesAccepted")["status"] == "False").await;
    let answer = server.get(&path).expect(200).await;
    assert_eq!(condition(&answer, "NamesAccepted")["reason"], "KindConflict");
    assert_eq!(condition(&answer, "Established")["status"], "False");
    server.get("{group}/v1/gadgets").expect(404).await;
}

async fn a_kind_is_not_found_before_and_after_its_definition(server: &Probe) {
    let answer = server.get("{group}/v1/widgets").expect(404).await;
    assert_eq!(answer.body, json!("404 page not found\n"));
    server.post("{group}/v1/widgets").body(widget("a", json!({}))).expect(404).await;
    server.install(widget_crd(any())).await;
    server.delete(CRD).unrecorded().expect(200).await;
    server.until("{group}/v1/widgets", |answer| answer.status == 404).await;
    server.until(CRD, |answer| answer.status == 404).await;
    server.until("{group}/v1/widgets", |answer| answer.body.is_string()).await;
    server.get("{group}/v1/widgets").expect(404).await;
}

async fn deleting_a_definition_deletes_its_objects(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.create("{group}/v1/widgets", widget("a", json!({}))).await;
    let mut watch = server.watch("{group}/v1/widgets").await;
    assert_eq!(watch.one().await["type"], "ADDED");
    let answer = server.delete(CRD).expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    assert_eq!(watch.one().await["type"], "DELETED");
    server.until(CRD, |answer| answer.status == 404).await;
    server.install(widget_crd(any())).await;
    assert_eq!(server.get("{group}/v1/widgets").expect(200).await["items"], json!([]));
}

async fn add_version(server: &Probe) {
    let mut second = widget_crd(any())["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    let versions = json!([widget_crd(any())["spec"]["versions"][0], second]);
    server.patch(CRD, MERGE_PATCH, json!({"spec": {"versions": versions}})).unrecorded().expect(200).await;
    server.until("{group}/v2/widgets", |answer| answer.status == 200).await;
}

async fn a_definition_is_updated_with_a_new_version(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.create("{group}/v1/widgets", widget("a", json!({"x": 1}))).await;
    add_version(server).await;
    let answer = server.get("{group}/v2/widgets/a").expect(200).await;
    assert_eq!(answer["apiVersion"], format!("{}/v2", server.group()));
    assert_eq!(server.get(CRD).unrecorded().expect(200).await.at("/metadata/generation"), 2);
}

async fn the_scope_and_group_of_a_definition_are_immutable(server: &Probe) {
    server.install(widget_crd(any())).await;
    let answer = server.patch(CRD, MERGE_PATCH, json!({"spec": {"scope": "Cluster"}})).expect(422).await;
    assert!(answer.message().contains("spec.scope: Invalid value: \"Cluster\": field is immutable"), "{}", answer.message());
    server.patch(CRD, MERGE_PATCH, json!({"spec": {"group": "other.test"}})).expect(422).await;
    server.patch(CRD, MERGE_PATCH, json!({"spec": {"names": {"kind": "Gadget"}}})).expect(422).await;
}

async fn a_version_that_is_not_served_is_not_found(server: &Probe) {
    let mut crd = widget_crd(any());
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    second["served"] = false.into();
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    server.install(crd).await;
    server.get("{group}/v1/widgets").expect(200).await;
    server.get("{group}/v2/widgets").expect(404).await;
    server.get("{group}/v3/widgets").expect(404).await;
}

async fn an_object_is_read_through_each_version(server: &Probe) {
    let mut crd = widget_crd(json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}));
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    second["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({"x": {"type": "integer"}, "z": {"type": "integer", "default": 7}});
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    server.install(crd).await;
    server.create("{group}/v1/widgets", widget("a", json!({"x": 1, "y": 2}))).await;
    let answer = server.get("{group}/v2/widgets/a").expect(200).await;
    assert_eq!(answer["spec"], json!({"x": 1}), "pruned by its own schema, defaulted by that of the stored version");
    let answer = server.get("{group}/v2/widgets").expect(200).await;
    assert_eq!(answer.at("/items/0/apiVersion"), &json!(format!("{}/v2", server.group())));
    let mut body = answer.at("/items/0").clone();
    body["spec"]["x"] = 5.into();
    server.put("{group}/v2/widgets/a").body(body).expect(200).await;
    server.get("{group}/v1/widgets/a").expect(200).await;
}

async fn an_update_through_another_version_drops_fields_that_it_lacks(server: &Probe) {
    let mut crd = widget_crd(json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}));
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    second["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = json!({"x": {"type": "integer"}});
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    server.install(crd).await;
    let created = server.create("{group}/v1/widgets", widget("a", json!({"x": 1, "y": 2}))).await;
    let version = |answer: &Answer| answer.str("/metadata/resourceVersion").to_owned();
    let seen = server.get("{group}/v2/widgets/a").expect(200).await;
    let put = server.put("{group}/v2/widgets/a").body(seen.at("").clone()).expect(200).await;
    assert_ne!(version(&put), version(&created));
    let left = server.get("{group}/v1/widgets/a").expect(200).await;
    assert_eq!(left["spec"], json!({"x": 1}));
    // Nothing is left to be dropped.
    let put = server.put("{group}/v1/widgets/a").body(left.at("").clone()).expect(200).await;
    assert_eq!(version(&put), version(&left));
}

async fn the_stored_version_is_kept_in_the_status(server: &Probe) {
    server.install(widget_crd(any())).await;
    add_version(server).await;
    let mut versions = server.get(CRD).unrecorded().expect(200).await.at("/spec/versions").clone();
    versions[0]["storage"] = false.into();
    versions[1]["storage"] = true.into();
    server.patch(CRD, MERGE_PATCH, json!({"spec": {"versions": versions}})).unrecorded().expect(200).await;
    let answer = server.until(CRD, |answer| answer.at("/status/storedVersions").as_array().unwrap().len() == 2).await;
    assert_eq!(answer.at("/status/storedVersions"), &json!(["v1", "v2"]));
    let one = json!([versions[1]]);
    let answer = server.patch(CRD, MERGE_PATCH, json!({"spec": {"versions": one}})).expect(422).await;
    assert!(answer.message().contains("missing from spec.versions"), "{}", answer.message());
}

async fn a_deprecated_version_warns(server: &Probe) {
    let mut crd = with("deprecated", json!(true));
    crd["spec"]["versions"][0]["deprecationWarning"] = "v1 is old".into();
    server.install(crd).await;
    let answer = server.get("{group}/v1/widgets").expect(200).await;
    assert_eq!(answer.warnings(), ["299 - \"v1 is old\""]);
    server.create("{group}/v1/widgets", widget("a", json!({}))).await;
}

async fn a_cluster_scoped_kind_has_no_namespace(server: &Probe) {
    let mut crd = widget_crd(any());
    crd["spec"]["scope"] = "Cluster".into();
    server.post(CRDS).body(crd).unrecorded().expect(201).await;
    let path = "/apis/{group}/v1/widgets";
    server.until(path, |answer| answer.status == 200).await;
    let answer = server.create(path, widget("a", json!({}))).await;
    assert_eq!(answer.at("/metadata/namespace"), &Value::Null);
    server.get("{group}/v1/widgets").expect(404).await;
    server.get(&format!("{path}/a")).expect(200).await;
}

async fn a_custom_resource_in_a_namespace_that_is_not_there_is_not_found(server: &Probe) {
    server.install(widget_crd(any())).await;
    let answer =
        server.post("/apis/{group}/v1/namespaces/nowhere-at-all/widgets").body(widget("a", json!({}))).expect(404).await;
    assert_eq!(answer.message(), "namespaces \"nowhere-at-all\" not found");
}

async fn a_schema_that_changes_is_in_force_for_the_next_write(server: &Probe) {
    server.install(widget_crd(any())).await;
    let spec = json!({"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}});
    let versions = widget_crd(spec)["spec"]["versions"].clone();
    server.patch(CRD, MERGE_PATCH, json!({"spec": {"versions": versions}})).unrecorded().expect(200).await;
    let request = || server.post("{group}/v1/widgets?dryRun=All").body(widget("a", json!({"y": 1})));
    server.until_request(request, |answer| answer.status == 422).await;
    let answer = server.post("{group}/v1/widgets").body(widget("a", json!({"y": 1}))).expect(422).await;
    assert!(answer.message().contains("spec.x: Required value"), "{}", answer.message());
}

async fn a_definition_of_a_protected_group_needs_an_approval(server: &Probe) {
    let group = "contract.k8s.io";
    let mut crd = widget_crd(any());
    crd["spec"]["group"] = group.into();
    crd["metadata"]["name"] = format!("widgets.{group}").into();
    refused(server, crd, "protected groups must have approval annotation \"api-approved.kubernetes.io\"").await;
}
