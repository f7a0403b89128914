use serde_json::{Value, json};

use crate::suite::objects::{any, widget, widget_crd};
use crate::suite::probe::{MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    a_rule_that_fails_is_quoted,
    a_rule_that_holds_lets_pass,
    a_rule_has_a_message,
    a_rule_has_a_message_expression,
    a_rule_has_a_reason,
    a_rule_has_a_field_path,
    a_transition_rule_sees_the_old_object,
    a_transition_rule_is_not_run_on_create,
    an_optional_old_self_is_seen_on_create,
    a_rule_on_the_items_of_a_list_names_the_item,
    a_rule_on_the_values_of_a_map_names_the_key,
    a_rule_at_the_root_sees_the_name,
    rules_have_the_libraries_of_strings_lists_and_quantities,
    rules_see_optional_fields_through_has,
    a_rule_is_not_run_where_its_field_is_absent,
    a_rule_that_fails_to_evaluate_is_a_fault,
    a_rule_that_failed_before_is_not_held_against_an_unchanged_field,
    faults_of_rules_come_after_those_of_the_schema,
}

const WIDGETS: &str = "{group}/v1/widgets";
const A: &str = "{group}/v1/widgets/a";

fn ruled(rules: Value) -> Value {
    let mut spec = json!({"type": "object", "properties": {
        "x": {"type": "integer"}, "y": {"type": "integer"}, "s": {"type": "string", "maxLength": 50},
        "l": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10}},
        "m": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "integer"}},
    }});
    spec["x-kubernetes-validations"] = rules;
    widget_crd(spec)
}

async fn refused(server: &Probe, spec: Value, expected: &str) {
    let answer = server.post(WIDGETS).body(widget("a", spec)).expect(422).await;
    assert!(answer.message().contains(expected), "{}", answer.message());
}

async fn a_rule_that_fails_is_quoted(server: &Probe) {
    server.install(ruled(json!([{"rule": "self.x < self.y"}]))).await;
    refused(server, json!({"x": 2, "y": 1}), "spec: Invalid value: failed rule: self.x < self.y").await;
}

async fn a_rule_that_holds_lets_pass(server: &Probe) {
    server.install(ruled(json!([{"rule": "self.x < self.y"}, {"rule": "self.x % 2 == 0 ? self.y > 10 : true"}]))).await;
    server.create(WIDGETS, widget("a", json!({"x": 1, "y": 2}))).await;
    server.create(WIDGETS, widget("b", json!({"x": 2, "y": 12}))).await;
}

async fn a_rule_has_a_message(server: &Probe) {
    server.install(ruled(json!([{"rule": "self.x < 5", "message": "x is too large"}]))).await;
    refused(server, json!({"x": 7}), "x is too large").await;
}

async fn a_rule_has_a_message_expression(server: &Probe) {
    let rule = json!({"rule": "size(self.s) < 3", "message": "unused", "messageExpression": "self.s + ' is too long'"});
    server.install(ruled(json!([rule]))).await;
    refused(server, json!({"s": "this"}), "this is too long").await;
}

async fn a_rule_has_a_reason(server: &Probe) {
    let rules: Vec<Value> = ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]
        .iter()
        .map(|reason| json!({"rule": "self.x < 5", "message": reason, "reason": reason}))
        .collect();
    server.install(ruled(rules.into())).await;
    let answer = server.post(WIDGETS).body(widget("a", json!({"x": 7}))).expect(422).await;
    assert!(answer.message().contains("spec: Forbidden: FieldValueForbidden"), "{}", answer.message());
    assert_eq!(answer["details"]["causes"].as_array().unwrap().len(), 4);
}

async fn a_rule_has_a_field_path(server: &Probe) {
    let rules = json!([
        {"rule": "self.x < 5", "fieldPath": ".x", "message": "m"},
        {"rule": "!('a' in self.m) || self.m['a'] < 5", "fieldPath": ".m['a']", "message": "n"},
    ]);
    server.install(ruled(rules)).await;
    refused(server, json!({"x": 7, "m": {"a": 9}}), "spec.x: Invalid value").await;
}

async fn a_transition_rule_sees_the_old_object(server: &Probe) {
    server.install(ruled(json!([{"rule": "self.x >= oldSelf.x", "message": "x may not shrink"}]))).await;
    server.create(WIDGETS, widget("a", json!({"x": 2}))).await;
    server.patch(A, MERGE_PATCH, json!({"spec": {"x": 3}})).expect(200).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"spec": {"x": 1}})).expect(422).await;
    assert!(answer.message().contains("x may not shrink"), "{}", answer.message());
}

async fn a_transition_rule_is_not_run_on_create(server: &Probe) {
    let mut crd = ruled(json!([]));
    let spec = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["s"]["x-kubernetes-validations"] = json!([{"rule": "self == oldSelf", "message": "immutable"}]);
    server.install(crd).await;
    server.create(WIDGETS, widget("a", json!({"s": "v"}))).await;
    server.create(WIDGETS, widget("b", json!({}))).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"spec": {"s": "w"}})).expect(422).await;
    assert!(answer.message().contains("spec.s: Invalid value: \"w\": immutable") || answer.message().contains("immutable"));
    // The rule does not run where the field is added or removed.
    server.patch("{group}/v1/widgets/b", MERGE_PATCH, json!({"spec": {"s": "w"}})).expect(200).await;
    server.patch(A, MERGE_PATCH, json!({"spec": {"s": null}})).expect(200).await;
}

async fn an_optional_old_self_is_seen_on_create(server: &Probe) {
    let rule = json!({"rule": "oldSelf.hasValue() || self.x == 0", "optionalOldSelf": true, "message": "begin at 0"});
    server.install(ruled(json!([rule]))).await;
    refused(server, json!({"x": 1}), "begin at 0").await;
    server.create(WIDGETS, widget("a", json!({"x": 0}))).await;
    server.patch(A, MERGE_PATCH, json!({"spec": {"x": 5}})).expect(200).await;
}

async fn a_rule_on_the_items_of_a_list_names_the_item(server: &Probe) {
    let mut crd = ruled(json!([]));
    let spec = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["l"]["items"]["x-kubernetes-validations"] =
        json!([{"rule": "self.startsWith('a')", "message": "begin with a"}]);
    server.install(crd).await;
    refused(server, json!({"l": ["ab", "b", "ac"]}), "spec.l[1]: Invalid value: \"b\": begin with a").await;
}

async fn a_rule_on_the_values_of_a_map_names_the_key(server: &Probe) {
    let mut crd = ruled(json!([]));
    let spec = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["m"]["additionalProperties"]["x-kubernetes-validations"] =
        json!([{"rule": "self > 0", "message": "positive"}]);
    server.install(crd).await;
    refused(server, json!({"m": {"a": 1, "b": 0}}), "spec.m[b]: Invalid value: 0: positive").await;
}

async fn a_rule_at_the_root_sees_the_name(server: &Probe) {
    let mut crd = widget_crd(any());
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] =
        json!([{"rule": "self.metadata.name.startsWith('w-')", "message": "names begin with w-"}]);
    server.install(crd).await;
    refused(server, json!({}), "names begin with w-").await;
    server.create(WIDGETS, widget("w-1", json!({}))).await;
}

async fn rules_have_the_libraries_of_strings_lists_and_quantities(server: &Probe) {
    let rules = json!([
        {"rule": "!has(self.s) || self.s.matches('^[a-z0-9.]+$')", "message": "matches"},
        {"rule": "!has(self.s) || size(self.s.split('.')) == 2", "message": "split"},
        {"rule": "!has(self.l) || self.l.all(i, self.l.exists_one(j, i == j))", "message": "exists_one"},
        {"rule": "!has(self.l) || self.l.isSorted()", "message": "isSorted"},
        {"rule": "!has(self.l) || self.l.map(i, size(i)).sum() < 10", "message": "sum"},
        {"rule": "!has(self.s) || !isQuantity(self.s) || quantity(self.s).isLessThan(quantity('2'))", "message": "quantity"},
        {"rule": "!has(self.m) || self.m.all(k, k.lowerAscii() == k)", "message": "lowerAscii"},
    ]);
    server.install(ruled(rules)).await;
    let answer = server
        .post(WIDGETS)
        .body(widget("a", json!({"s": "A", "l": ["b", "a", "a", "toolarge"], "m": {"K": 1}})))
        .expect(422)
        .await;
    assert_eq!(answer["details"]["causes"].as_array().unwrap().len(), 6, "{}", answer.message());
    refused(server, json!({"s": "2.5"}), "quantity").await;
    server.create(WIDGETS, widget("b", json!({"s": "1.5", "l": ["a", "b"], "m": {"k": 1}}))).await;
}

async fn rules_see_optional_fields_through_has(server: &Probe) {
    server.install(ruled(json!([{"rule": "has(self.x) == has(self.y)", "message": "both or none"}]))).await;
    refused(server, json!({"x": 1}), "both or none").await;
    server.create(WIDGETS, widget("a", json!({}))).await;
}

async fn a_rule_is_not_run_where_its_field_is_absent(server: &Probe) {
    server.install(ruled(json!([{"rule": "false", "message": "never"}]))).await;
    let body = json!({"apiVersion": "{group}/v1", "kind": "Widget", "metadata": {"name": "a"}});
    server.create(WIDGETS, body).await;
    refused(server, json!({}), "never").await;
}

async fn a_rule_that_fails_to_evaluate_is_a_fault(server: &Probe) {
    server.install(ruled(json!([{"rule": "self.x / self.y > 0"}]))).await;
    refused(server, json!({"x": 1, "y": 0}), "division by zero").await;
    refused(server, json!({"x": 1}), "no such key: y").await;
}

async fn a_rule_that_failed_before_is_not_held_against_an_unchanged_field(server: &Probe) {
    server
        .install(widget_crd(json!({"type": "object", "properties": {"s": {"type": "string"}, "y": {"type": "integer"}}})))
        .await;
    server.create(WIDGETS, widget("a", json!({"s": "bad"}))).await;
    let mut versions = widget_crd(json!({"type": "object", "properties": {"s": {"type": "string"}, "y": {"type": "integer"}}}))
        ["spec"]["versions"]
        .clone();
    versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["s"]["x-kubernetes-validations"] =
        json!([{"rule": "self != 'bad' && self != 'worse'", "message": "no good"}]);
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}";
    server.patch(crd, MERGE_PATCH, json!({"spec": {"versions": versions}})).unrecorded().expect(200).await;
    let request = || server.post("{group}/v1/widgets?dryRun=All").body(widget("b", json!({"s": "bad"})));
    server.until_request(request, |answer| answer.status == 422).await;
    server.patch(A, MERGE_PATCH, json!({"spec": {"y": 1}})).expect(200).await;
    server.patch(A, MERGE_PATCH, json!({"spec": {"s": "worse"}})).expect(422).await;
}

async fn faults_of_rules_come_after_those_of_the_schema(server: &Probe) {
    server.install(ruled(json!([{"rule": "self.x > 5", "message": "rule"}]))).await;
    // Rules do not run on invalid objects.
    refused(server, json!({"x": "text"}), "must be of type integer").await;
    let long = "s".repeat(60);
    refused(server, json!({"x": 1, "s": long}), "Too long").await;
}
