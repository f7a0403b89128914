//! Reviews, tokens, and the kinds that configure the API server.
//!
//! Webhooks and policies apply to kinds that do not exist, so that they do not change other checks.

use serde_json::{Value, json};

use crate::suite::probe::{JSON_PATCH, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    an_administrator_may_do_everything,
    a_review_without_attributes_is_refused,
    reviews_can_only_be_created,
    a_user_is_told_who_it_is,
    a_token_of_a_service_account_is_issued,
    webhook_configurations_are_stored_with_defaults,
    admission_policies_are_stored_with_defaults,
    an_api_service_is_stored,
    a_runtime_class_is_stored,
    a_signing_request_is_approved,
}

const ACCESS: &str = "/apis/authorization.k8s.io/v1";
const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

async fn an_administrator_may_do_everything(server: &Probe) {
    let resource = json!({"namespace": "{ns}", "verb": "delete", "group": "apps", "resource": "deployments"});
    let review = json!({"spec": {"resourceAttributes": resource}});
    let answer = server.post(&format!("{ACCESS}/selfsubjectaccessreviews")).body(review).expect(201).await;
    assert_eq!(answer["status"], json!({"allowed": true}));
    let paths = json!({"spec": {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}});
    server.post(&format!("{ACCESS}/selfsubjectaccessreviews")).body(paths).expect(201).await;
    let other = json!({"spec": {"user": "a", "groups": ["system:masters"], "resourceAttributes": resource}});
    let answer = server.post(&format!("{ACCESS}/subjectaccessreviews")).body(other.clone()).expect(201).await;
    assert_eq!(answer["status"], json!({"allowed": true}));
    server.post("authorization.k8s.io/v1/localsubjectaccessreviews").body(other).expect(201).await;
}

async fn a_review_without_attributes_is_refused(server: &Probe) {
    for kind in ["selfsubjectaccessreviews", "subjectaccessreviews"] {
        let answer = server.post(&format!("{ACCESS}/{kind}")).body(json!({"spec": {}})).expect(422).await;
        let expected = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        assert!(answer.message().contains(expected), "{}", answer.message());
    }
    let resource = json!({"namespace": "other", "verb": "get", "resource": "pods"});
    let review = json!({"spec": {"user": "a", "resourceAttributes": resource}});
    server.post("authorization.k8s.io/v1/localsubjectaccessreviews").body(review).expect(422).await;
    server.post(&format!("{ACCESS}/selfsubjectrulesreviews")).body(json!({"spec": {}})).expect(400).await;
    let tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
    server.post(tokens).body(json!({"spec": {}})).expect(400).await;
}

async fn reviews_can_only_be_created(server: &Probe) {
    server.get(&format!("{ACCESS}/selfsubjectaccessreviews")).expect(405).await;
    server.delete(&format!("{ACCESS}/selfsubjectaccessreviews")).expect(405).await;
    server.get(&format!("{ACCESS}/selfsubjectaccessreviews/a")).expect(404).await;
}

async fn a_user_is_told_who_it_is(server: &Probe) {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = server.post(path).body(json!({})).unrecorded().expect(201).await;
    let groups = answer.at("/status/userInfo/groups").as_array().unwrap();
    assert!(groups.contains(&json!("system:masters")), "{groups:?}");
    assert!(!answer.str("/status/userInfo/username").is_empty());
}

async fn a_token_of_a_service_account_is_issued(server: &Probe) {
    server.create("v1/serviceaccounts", json!({"metadata": {"name": "a"}})).await;
    let path = "v1/serviceaccounts/a/token";
    let answer = server.post(path).body(json!({"spec": {"audiences": ["x"]}})).unrecorded().expect(201).await;
    assert!(!answer.str("/status/token").is_empty());
    server.record_value("spec", answer.at("/spec"));
    server.post(path).body(json!({"spec": {"expirationSeconds": 1}})).expect(422).await;
    server.post("v1/serviceaccounts/absent/token").body(json!({})).expect(404).await;
    server.get(path).expect(405).await;
}

async fn webhook_configurations_are_stored_with_defaults(server: &Probe) {
    let rules = json!([{"apiGroups": ["{group}"], "apiVersions": ["v1"], "resources": ["nothings"], "operations": ["CREATE"]}]);
    let client = json!({"service": {"name": "a", "namespace": "{ns}"}});
    let webhook = |rules: Value| json!({"name": "a.{group}", "clientConfig": client, "rules": rules, "sideEffects": "None", "admissionReviewVersions": ["v1"]});
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let path = format!("{ADMISSION}/{plural}");
        let object = json!({"metadata": {"name": "{ns}"}, "webhooks": [webhook(rules.clone())]});
        let answer = server.post(&path).body(object).expect(201).await;
        assert_eq!((answer.str("/webhooks/0/failurePolicy"), answer.at("/webhooks/0/timeoutSeconds")), ("Fail", &json!(10)));
        let one = format!("{path}/{{ns}}");
        let answer = server.patch(&one, MERGE_PATCH, json!({"metadata": {"labels": {"a": "b"}}})).expect(200).await;
        assert_eq!(*answer.at("/metadata/generation"), 1);
        let patch = json!([{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 5}]);
        let answer = server.patch(&one, JSON_PATCH, patch).expect(200).await;
        assert_eq!(*answer.at("/metadata/generation"), 2);
        server.get(&one).accept("application/json;as=Table;v=v1;g=meta.k8s.io").expect(200).await;
        server.delete(&one).expect(200).await;
    }
}

async fn admission_policies_are_stored_with_defaults(server: &Probe) {
    let rules = json!([{"apiGroups": ["{group}"], "apiVersions": ["v1"], "resources": ["nothings"], "operations": ["CREATE"]}]);
    let spec = json!({"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "true"}]});
    let policies = format!("{ADMISSION}/validatingadmissionpolicies");
    let answer = server.post(&policies).body(json!({"metadata": {"name": "{ns}"}, "spec": spec})).expect(201).await;
    assert_eq!((answer.str("/spec/failurePolicy"), answer.at("/metadata/generation")), ("Fail", &json!(1)));
    let bindings = format!("{ADMISSION}/validatingadmissionpolicybindings");
    let binding = json!({"metadata": {"name": "{ns}"}, "spec": {"policyName": "{ns}", "validationActions": ["Audit"]}});
    server.post(&bindings).body(binding).expect(201).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    server.get(&format!("{bindings}/{{ns}}")).accept(accept).expect(200).await;
    server.delete(&format!("{bindings}/{{ns}}")).expect(200).await;
    server.delete(&format!("{policies}/{{ns}}")).unrecorded().expect(200).await;
}

async fn an_api_service_is_stored(server: &Probe) {
    // Not stored in the real server, which would add its group to the discovery of all checks.
    let spec = json!({
        "group": "{group}", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": true,
        "service": {"name": "a", "namespace": "{ns}"},
    });
    let service = json!({"metadata": {"name": "v1.{group}"}, "spec": spec});
    let answer = server.post("/apis/apiregistration.k8s.io/v1/apiservices?dryRun=All").body(service).expect(201).await;
    assert_eq!(*answer.at("/spec/service/port"), 443);
}

async fn a_runtime_class_is_stored(server: &Probe) {
    let path = "/apis/node.k8s.io/v1/runtimeclasses";
    server.post(path).body(json!({"metadata": {"name": "{ns}"}, "handler": "a"})).expect(201).await;
    let one = format!("{path}/{{ns}}");
    server.get(&one).accept("application/json;as=Table;v=v1;g=meta.k8s.io").expect(200).await;
    server.delete(&one).expect(200).await;
    // A PUT creates it.
    server.put(&one).body(json!({"metadata": {"name": "{ns}"}, "handler": "b"})).expect(201).await;
    server.delete(&one).expect(200).await;
}

/// A request for `CN=a`.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIRk1HNENBUUF3RERFS01BZ0dBMVVFQXd3QllUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCQ2Rjdk9EVEhVVmZDeUFFS2J0ZmI2RXBSVS9wR1BHVkVPWERFSG5wWDc4S3ZVc0ovM2c3VThsTXNKUzlHNDBXCjNxSE5kZDI1UlNieFI2Z3hEeTFvSWYyZ0FEQUtCZ2dxaGtqT1BRUURBZ05IQURCRUFpQmdQbU5vN1JhVFNXRWgKWTNiZVdXenRIVWdIaXBBaGxIK1F4UTE1Q0hGWmhRSWdaUEZGTDNtOHM0SjRSN09qTWlrNWFYYUJRbVltcGFGcQpBa2F2T0I1dU1Ecz0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

async fn a_signing_request_is_approved(server: &Probe) {
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let spec = json!({"request": REQUEST, "signerName": "{group}/a", "usages": ["client auth"], "username": "somebody"});
    let made = server.post(path).body(json!({"metadata": {"name": "{ns}"}, "spec": spec})).unrecorded().expect(201).await;
    let user = made.str("/spec/username").to_owned();
    assert!(user != "somebody" && !user.is_empty(), "the API server names the user");
    let one = format!("{path}/{{ns}}");
    let condition = json!({"type": "Approved", "status": "True", "reason": "Tested", "message": "m"});
    let patch = json!({"status": {"conditions": [condition]}, "spec": {"username": "somebody"}});
    let answer = server.patch(&format!("{one}/approval"), MERGE_PATCH, patch).unrecorded().expect(200).await;
    assert_eq!((answer.str("/status/conditions/0/type"), answer.str("/spec/username")), ("Approved", user.as_str()));
    server.record_value("signer", answer.at("/spec/signerName"));
    server.delete(&one).unrecorded().expect(200).await;
}
