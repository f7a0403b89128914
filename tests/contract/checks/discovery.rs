//! Documents about the server: discovery, OpenAPI, version, health.

use serde_json::{Value, json};

use crate::suite::objects::{any, widget_crd, widget_crd_with_status};
use crate::suite::probe::{Answer, Probe};
use crate::suite::registry::checks;

checks! { Api:
    the_core_group_has_version_v1,
    the_groups_are_listed,
    the_resources_of_the_core_group_are_listed,
    the_resources_of_each_group_are_listed,
    a_group_lists_its_versions,
    an_unknown_group_is_not_found,
    the_group_of_a_definition_is_discovered,
    a_group_with_several_versions_prefers_the_most_stable,
    aggregated_discovery_of_the_core_group,
    aggregated_discovery_of_a_definitions_group,
    the_openapi_index_names_each_group_version,
    the_openapi_document_of_a_definition_has_its_schema_and_paths,
    the_openapi_document_of_a_group_has_its_kinds,
    the_version_has_its_usual_fields,
    the_health_endpoints_say_ok,
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const GROUPS: [&str; 15] = [
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "events.k8s.io/v1",
    "networking.k8s.io/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "{group}/v1",
];

async fn the_core_group_has_version_v1(server: &Probe) {
    let answer = server.get("/api").unrecorded().expect(200).await;
    assert_eq!((&answer["kind"], &answer["versions"]), (&json!("APIVersions"), &json!(["v1"])));
    server.record_value("kind and versions", &json!([answer["kind"], answer["versions"]]));
}

fn group<'a>(answer: &'a Answer, name: &str) -> &'a Value {
    let mut groups = answer["groups"].as_array().into_iter().flatten();
    groups.find(|group| group["name"] == name).unwrap_or(&Value::Null)
}

async fn the_groups_are_listed(server: &Probe) {
    let answer = server.get("/apis").unrecorded().expect(200).await;
    assert_eq!(answer["kind"], "APIGroupList");
    for name in GROUPS.iter().filter(|name| !name.starts_with('{')) {
        let name = name.split('/').next().unwrap();
        assert!(!group(&answer, name).is_null(), "{name}");
        server.record_value(name, group(&answer, name));
    }
}

async fn the_resources_of_the_core_group_are_listed(server: &Probe) {
    let answer = server.get("/api/v1").unrecorded().expect(200).await;
    let resources = answer["resources"].as_array().unwrap();
    let pods = resources.iter().find(|resource| resource["name"] == "pods").unwrap();
    assert_eq!((&pods["shortNames"], &pods["namespaced"]), (&json!(["po"]), &json!(true)));
    for resource in resources {
        server.record_value("resource", resource);
    }
}

async fn the_resources_of_each_group_are_listed(server: &Probe) {
    for group_version in GROUPS.iter().filter(|name| !name.starts_with('{')) {
        let answer = server.get(&format!("/apis/{group_version}")).expect(200).await;
        assert_eq!((&answer["kind"], &answer["groupVersion"]), (&json!("APIResourceList"), &json!(group_version)));
    }
}

async fn a_group_lists_its_versions(server: &Probe) {
    for name in ["apps", "batch"] {
        let answer = server.get(&format!("/apis/{name}")).expect(200).await;
        assert_eq!(answer.at("/preferredVersion/groupVersion"), &json!(format!("{name}/v1")));
    }
}

async fn an_unknown_group_is_not_found(server: &Probe) {
    server.get("/apis/nothing.test").expect(404).await;
    server.get("/apis/nothing.test/v1").expect(404).await;
    server.get("/apis/apps/v9").expect(404).await;
    server.get("/api/v9").expect(404).await;
}

async fn the_group_of_a_definition_is_discovered(server: &Probe) {
    let mut crd = widget_crd_with_status(any());
    crd["spec"]["names"]["shortNames"] = json!(["wd"]);
    crd["spec"]["names"]["categories"] = json!(["all"]);
    crd["spec"]["versions"][0]["subresources"]["scale"] =
        json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"});
    server.install(crd).await;
    server.until("/apis/{group}/v1", |answer| answer.status == 200).await;
    let answer = server.get("/apis/{group}/v1").expect(200).await;
    let names: Vec<&str> =
        answer["resources"].as_array().unwrap().iter().map(|resource| resource["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
    server.until("/apis/{group}", |answer| answer.status == 200).await;
    server.get("/apis/{group}").expect(200).await;
    server.until("/apis", |answer| !group(answer, &server.group()).is_null()).await;
}

async fn a_group_with_several_versions_prefers_the_most_stable(server: &Probe) {
    let mut crd = widget_crd(any());
    for name in ["v2alpha1", "v2beta1", "v1beta2", "v10"] {
        let mut version = crd["spec"]["versions"][0].clone();
        version["name"] = name.into();
        version["storage"] = false.into();
        crd["spec"]["versions"].as_array_mut().unwrap().push(version);
    }
    server.install(crd).await;
    server.until("/apis/{group}", |answer| answer["versions"].as_array().is_some_and(|versions| versions.len() == 5)).await;
    let answer = server.get("/apis/{group}").expect(200).await;
    let versions: Vec<&str> =
        answer["versions"].as_array().unwrap().iter().map(|version| version["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["v10", "v1", "v2beta1", "v1beta2", "v2alpha1"]);
    assert_eq!(answer.str("/preferredVersion/version"), "v10");
}

fn discovered<'a>(answer: &'a Answer, name: &str) -> &'a Value {
    let mut groups = answer["items"].as_array().into_iter().flatten();
    groups.find(|group| group["metadata"]["name"] == name).unwrap_or(&Value::Null)
}

async fn aggregated_discovery_of_the_core_group(server: &Probe) {
    let answer = server.get("/api").accept(AGGREGATED).unrecorded().expect(200).await;
    assert_eq!((&answer["kind"], &answer["apiVersion"]), (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2")));
    server.record_value("content type", &json!(answer.headers["content-type"]));
    let resources = answer.at("/items/0/versions/0/resources").as_array().unwrap();
    let pods = resources.iter().find(|resource| resource["resource"] == "pods").unwrap();
    assert_eq!(pods["responseKind"]["kind"], "Pod");
    for resource in resources {
        server.record_value("resource", resource);
    }
    let answer = server.get("/apis").accept(AGGREGATED).unrecorded().expect(200).await;
    for name in GROUPS.iter().filter(|name| !name.starts_with('{')) {
        let name = name.split('/').next().unwrap();
        assert!(!discovered(&answer, name).is_null(), "{name}");
        server.record_value(name, discovered(&answer, name));
    }
}

async fn aggregated_discovery_of_a_definitions_group(server: &Probe) {
    server.install(widget_crd_with_status(any())).await;
    let request = || server.get("/apis").accept(AGGREGATED);
    let answer = server.until_request(request, |answer| !discovered(answer, &server.group()).is_null()).await;
    let group = discovered(&answer, &server.group());
    assert_eq!(group["versions"][0]["resources"][0]["resource"], "widgets");
    let mut group = group.clone();
    // This is when the server learned of the group.
    group["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
    server.record_value("group", &group);
}

async fn the_openapi_index_names_each_group_version(server: &Probe) {
    server.install(widget_crd(any())).await;
    let path = |name: &str| format!("apis/{}", name.replace("{group}", &server.group()));
    let own = path("{group}/v1");
    // It is JSON with another content type.
    let index = |answer: &Answer| {
        serde_json::from_str::<Value>(answer.body.as_str().unwrap_or_default()).unwrap_or_else(|_| answer.body.clone())
    };
    let answer = server.until("/openapi/v3", |answer| !index(answer)["paths"][&own].is_null()).await;
    server.record_value("content type", &json!(answer.headers["content-type"]));
    let answer = index(&answer);
    for name in GROUPS {
        let entry = answer["paths"][&path(name)]["serverRelativeURL"].as_str().unwrap();
        let (url, hash) = entry.split_once("?hash=").unwrap();
        assert!(url.ends_with(&path(name)) && !hash.is_empty());
        server.record_value("path", &json!(url));
    }
    assert!(!answer["paths"]["api/v1"].is_null());
}

async fn the_openapi_document_of_a_definition_has_its_schema_and_paths(server: &Probe) {
    let spec = json!({"type": "object", "description": "What is wanted.", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 1, "default": 2}}});
    server.install(widget_crd_with_status(spec)).await;
    let path = "/openapi/v3/apis/{group}/v1";
    let answer = server.until(path, |answer| answer.status == 200).await;
    let schemas = answer.at("/components/schemas").as_object().unwrap();
    let (name, schema) = schemas.iter().find(|(name, _)| name.ends_with(".v1.Widget")).unwrap();
    assert_eq!(schema["properties"]["spec"]["properties"]["size"]["minimum"], 1);
    server.record_value("name of the schema", &json!(name));
    server.record_value("schema", schema);
    let mut paths: Vec<&String> = answer["paths"].as_object().unwrap().keys().collect();
    paths.sort();
    server.record_value("paths", &json!(paths));
    let post = format!("/apis/{}/v1/namespaces/{{namespace}}/widgets", server.group());
    server.record_value("operation", &answer["paths"][&post]["post"]["x-kubernetes-group-version-kind"]);
}

async fn the_openapi_document_of_a_group_has_its_kinds(server: &Probe) {
    let answer = server.get("/openapi/v3/apis/batch/v1").unrecorded().expect(200).await;
    let job = answer.at("/components/schemas/io.k8s.api.batch.v1.Job");
    assert_eq!(job["x-kubernetes-group-version-kind"], json!([{"group": "batch", "kind": "Job", "version": "v1"}]));
    server.record_value("Job", job);
    server.record_value("JobSpec", answer.at("/components/schemas/io.k8s.api.batch.v1.JobSpec"));
}

async fn the_version_has_its_usual_fields(server: &Probe) {
    let answer = server.get("/version").unrecorded().expect(200).await;
    assert!(answer.str("/gitVersion").starts_with("v1."));
    let mut keys: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    keys.sort();
    server.record_value("major and minor", &json!([answer["major"], answer["minor"]]));
    for key in ["gitVersion", "platform", "goVersion", "gitCommit", "buildDate", "compiler", "gitTreeState"] {
        assert!(keys.iter().any(|found| *found == key), "{key}");
    }
}

async fn the_health_endpoints_say_ok(server: &Probe) {
    for path in ["/healthz", "/livez", "/readyz", "/healthz/ping", "/readyz/ping"] {
        assert_eq!(server.get(path).accept("*/*").expect(200).await.body, json!("ok"));
    }
}
