//! Pushing and tagging.

use std::collections::BTreeMap;

use axum::body::Body;
use gyre_registry::manifest::{Manifest, Reconciler};
use gyre_registry::{Component, Digest, Error, Silent, media_type};
use http::Method;
use serde_json::{Value, json};

use super::client::{Folder, Recorder, client, expect};
use super::server::{Registry, answer, empty};

/// A component of this many bytes.
fn bytes(length: u32) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

fn component(bytes: &[u8]) -> Component<'_> {
    let annotations = [("title", "echo"), ("version", "1.4"), ("created", "2026-11-28T00:00:00Z")];
    let named = |(name, value): (&str, &str)| (format!("org.opencontainers.image.{name}"), value.to_owned());
    Component {
        bytes,
        annotations: annotations.map(named).into(),
        imports: vec!["gyre:plugin/cluster@0.1.0".to_owned()],
        exports: vec!["gyre:plugin/reconciler@0.1.0".to_owned()],
        reconcilers: vec![Reconciler {
            name: "echo".to_owned(),
            parent: "example.com/v1/Echo".to_owned(),
            ..Reconciler::default()
        }],
    }
}

#[tokio::test]
async fn what_is_pushed_is_the_layout_of_other_tools_and_can_be_pulled() {
    let (registry, folder) = (Registry::start().await, Folder::new());
    let (client, bytes) = (client(&registry), bytes(300_000));
    let recorder = Recorder::default();
    let digest = client.push(component(&bytes), &registry.reference("1.4"), &recorder).await.unwrap();
    assert_eq!(component(&bytes).digest().unwrap(), digest);
    let written: Value = serde_json::from_slice(&registry.manifest("1.4").unwrap()).unwrap();
    let config = client.config(&registry.pinned(digest), &client.manifest(&registry.pinned(digest)).await.unwrap().1).await;
    let config = config.unwrap().unwrap();
    let expected = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.wasm.config.v0+json",
            "digest": written["config"]["digest"],
            "size": written["config"]["size"],
        },
        "layers": [{
            "mediaType": "application/wasm",
            "digest": Digest::of(&bytes),
            "size": 300_000,
            "annotations": {"org.opencontainers.image.title": "echo.wasm"},
        }],
        "annotations": {
            "org.opencontainers.image.created": "2026-11-28T00:00:00Z",
            "org.opencontainers.image.title": "echo",
            "org.opencontainers.image.version": "1.4",
        },
    });
    assert_eq!(written, expected);
    assert_eq!((config.os.as_str(), config.created.as_str()), ("wasip2", "2026-11-28T00:00:00Z"));
    assert_eq!(config.reconcilers, component(&bytes).reconcilers);
    let pulled = folder.pull(&client, &registry, "1.4").await.unwrap();
    assert_eq!((pulled.manifest, std::fs::read(pulled.path).unwrap()), (digest, bytes));
    let [(total, steps)]: [_; 1] = recorder.transfers().try_into().unwrap();
    assert!(total == 300_000 && steps.is_sorted() && steps.last() == Some(&total), "{steps:?}");
}

#[tokio::test]
async fn blobs_come_before_the_manifest_and_those_that_are_there_are_not_sent_again() {
    let registry = Registry::start().await;
    let (client, bytes) = (client(&registry), bytes(1_000));
    let digest = client.push(component(&bytes), &registry.reference("1"), &Silent).await.unwrap();
    let methods: Vec<Method> =
        registry.seen().into_iter().map(|seen| seen.method).filter(|method| *method != Method::HEAD).collect();
    assert_eq!(methods, [Method::POST, Method::PUT, Method::POST, Method::PUT, Method::PUT]);
    assert!(registry.seen().last().unwrap().path.ends_with("/manifests/1"));
    let uploads = registry.requests(Method::PUT, "/blobs/");
    assert_eq!(uploads[0].body, bytes);
    assert_eq!(uploads[0].headers["content-length"], "1000");
    assert_eq!(client.push(component(&bytes), &registry.reference("2"), &Silent).await.unwrap(), digest);
    assert_eq!(registry.requests(Method::PUT, "/blobs/").len(), 2);
    assert_eq!(registry.manifest("2"), registry.manifest("1"));
}

#[tokio::test]
async fn a_push_that_is_not_what_it_should_be_is_refused() {
    let registry = Registry::start().await;
    let (client, bytes) = (client(&registry), bytes(10));
    let other = Digest::of(b"other");
    let error = expect(client.push(component(&bytes), &registry.pinned(other), &Silent).await, "the reference names");
    assert!(matches!(error, Error::OtherDigest { .. }));
    expect(client.push(component(b""), &registry.reference("1"), &Silent).await, "the component has 0 bytes");
    assert!(registry.seen().is_empty());
    let digest = component(&bytes).digest().unwrap();
    assert_eq!(client.push(component(&bytes), &registry.pinned(digest), &Silent).await.unwrap(), digest);
    // A registry that stores something else.
    registry.on(Method::PUT, "/manifests/1", 1, move |_| {
        answer(201).header("docker-content-digest", other.to_string()).body(Body::empty()).unwrap()
    });
    let error = expect(client.push(component(&bytes), &registry.reference("1"), &Silent).await, " for sha256:");
    assert!(matches!(error, Error::Digest { .. }));
    registry.on(Method::PUT, "/manifests/1", 1, |_| {
        answer(413).body(Body::from(r#"{"errors":[{"code":"SIZE_INVALID","message":"too large"}]}"#)).unwrap()
    });
    expect(client.push(component(&bytes), &registry.reference("1"), &Silent).await, "answers 413 for 1: too large");
    // A registry that does not say where to upload.
    registry.on(Method::POST, "/blobs/uploads/", 1, |_| empty(202));
    expect(client.push(component(b"new"), &registry.reference("1"), &Silent).await, "not the URL of a place");
}

#[tokio::test]
async fn a_tag_is_another_name_of_the_same_manifest() {
    let registry = Registry::start().await;
    let client = client(&registry);
    let digest = registry.put_component("1.4", b"component");
    assert_eq!(client.tag(&registry.reference("1.4"), "stable").await.unwrap(), digest);
    assert_eq!(client.tag(&registry.pinned(digest), "latest").await.unwrap(), digest);
    assert_eq!(registry.manifest("stable"), registry.manifest("1.4"));
    assert_eq!(registry.manifest("latest"), registry.manifest("1.4"));
    assert_eq!(registry.requests(Method::PUT, "/stable")[0].headers["content-type"], media_type::MANIFEST);
    let before = registry.seen().len();
    expect(client.tag(&registry.reference("1.4"), "a b").await, "is not a tag");
    assert_eq!(registry.seen().len(), before);
    expect(client.tag(&registry.reference("absent"), "b").await, "absent is not in");
}

#[tokio::test]
async fn a_manifest_of_another_tool_is_tagged_byte_for_byte() {
    let registry = Registry::start().await;
    let layer = super::server::layer(b"component");
    let spaced = serde_json::to_string_pretty(&super::server::manifest(&[layer])).unwrap();
    let digest = registry.put_manifest("1", spaced.as_bytes());
    assert_eq!(client(&registry).tag(&registry.reference("1"), "2").await.unwrap(), digest);
    assert_eq!(registry.manifest("2").unwrap(), spaced);
    let annotations: BTreeMap<String, String> = Manifest::parse(spaced.as_bytes()).unwrap().annotations;
    assert_eq!(annotations.len(), 1);
}
