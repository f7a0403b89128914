//! Signatures that are attached to a manifest, in registries with and without the API for it.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use gyre_registry::{Digest, FoundSignature, Registries, SignatureKind, bounds, media_type};
use http::Method;
use http::header::LINK;
use serde_json::{Value, json};

use super::client::{client, expect};
use super::server::{REPOSITORY, Registry, Seen, answer, empty, pieces};

const BUNDLE: &[u8] = br#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}"#;

fn annotations() -> BTreeMap<String, String> {
    BTreeMap::from([("dev.sigstore.bundle.content".to_owned(), "dsse-envelope".to_owned())])
}

async fn attach(client: &Registries, registry: &Registry, subject: &Digest, bytes: &[u8]) -> Digest {
    let attached = client.attach(&registry.reference("1"), subject, bytes, media_type::BUNDLE, annotations()).await;
    attached.unwrap()
}

async fn found(client: &Registries, registry: &Registry, subject: &Digest) -> Vec<FoundSignature> {
    client.signatures(&registry.reference("1"), subject).await.unwrap()
}

#[tokio::test]
async fn what_is_attached_is_found_with_and_without_the_api() {
    for has_api in [true, false] {
        let registry = Registry::start().await;
        if has_api {
            registry.offer_referrers();
        }
        let client = client(&registry);
        let subject = registry.put_component("1", b"component");
        let other = registry.put_component("2", b"another component");
        assert!(found(&client, &registry, &subject).await.is_empty());
        let digest = attach(&client, &registry, &subject, BUNDLE).await;
        let expected = FoundSignature {
            kind: SignatureKind::Bundle,
            digest,
            media_type: media_type::BUNDLE.to_owned(),
            artifact_type: Some(media_type::BUNDLE.to_owned()),
            bytes: BUNDLE.to_vec(),
            annotations: BTreeMap::new(),
        };
        assert_eq!(found(&client, &registry, &subject).await, [expected], "{has_api}");
        assert!(found(&client, &registry, &other).await.is_empty());
        let tag = format!("sha256-{}", subject.hex());
        assert_eq!(registry.manifest(&tag).is_some(), !has_api);
        // The same again changes nothing, and another one is beside it.
        assert_eq!(attach(&client, &registry, &subject, BUNDLE).await, digest);
        assert_eq!(found(&client, &registry, &subject).await.len(), 1);
        attach(&client, &registry, &subject, b"another bundle").await;
        assert_eq!(found(&client, &registry, &subject).await.len(), 2);
        let written: Value = serde_json::from_slice(&registry.manifest(&digest.to_string()).unwrap()).unwrap();
        assert_eq!(written["subject"]["digest"], subject.to_string());
        assert_eq!(written["config"]["mediaType"], media_type::EMPTY);
        assert!(registry.has_blob(&Digest::of(b"{}")) && registry.has_blob(&Digest::of(BUNDLE)));
    }
}

/// Stores a payload of cosign's older form, and returns its layer.
fn simple(registry: &Registry, payload: &[u8], signature: &str) -> Value {
    registry.put_blob(payload);
    json!({
        "mediaType": media_type::SIMPLE_SIGNING,
        "digest": Digest::of(payload),
        "size": payload.len(),
        "annotations": {"dev.cosignproject.cosign/signature": signature},
    })
}

#[tokio::test]
async fn the_older_form_is_found_beside_bundles() {
    let registry = Registry::start().await;
    let client = client(&registry);
    let subject = registry.put_component("1", b"component");
    attach(&client, &registry, &subject, BUNDLE).await;
    let payload = simple(&registry, b"payload", "c2ln");
    let other = simple(&registry, b"other", "b3Ro");
    let layers = [payload.clone(), super::server::layer(b"component"), other, payload];
    let older = super::server::manifest(&layers).to_string();
    registry.put_manifest(&format!("sha256-{}.sig", subject.hex()), older.as_bytes());
    let found = found(&client, &registry, &subject).await;
    let kinds: Vec<SignatureKind> = found.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [SignatureKind::Bundle, SignatureKind::Simple, SignatureKind::Simple]);
    assert_eq!((found[1].bytes.as_slice(), found[1].digest), (&b"payload"[..], Digest::of(b"payload")));
    assert_eq!(found[2].annotations["dev.cosignproject.cosign/signature"], "b3Ro");
}

#[tokio::test]
async fn what_others_put_there_hides_no_signature() {
    let registry = Registry::start().await;
    let client = client(&registry);
    let subject = registry.put_component("1", b"component");
    let other = registry.put_component("2", b"another component");
    attach(&client, &registry, &other, b"about another manifest").await;
    let good = attach(&client, &registry, &subject, BUNDLE).await;
    let lies = attach(&client, &registry, &subject, b"lies about its size").await;
    let altered = attach(&client, &registry, &subject, b"altered").await;
    let broken_blobs = [b"denied".as_slice(), b"unavailable", b"cut off"];
    let mut all = Vec::new();
    for bytes in broken_blobs {
        all.push(attach(&client, &registry, &subject, bytes).await);
    }
    let large = json!({"mediaType": media_type::MANIFEST, "digest": Digest::of(b"no such manifest"), "size": 1});
    let broken = registry.put_manifest("broken", b"<html>");
    let of_other = client.signatures(&registry.reference("2"), &other).await.unwrap()[0].digest;
    let sbom =
        json!({"mediaType": media_type::MANIFEST, "digest": subject, "size": 1, "artifactType": "application/spdx+json"});
    all.extend([broken, of_other, lies, altered, subject, good]);
    let mut all: Vec<Value> = all.iter().map(listed).collect();
    all.extend([large, sbom]);
    let index = json!({"schemaVersion": 2, "manifests": all}).to_string();
    registry.put_manifest(&format!("sha256-{}", subject.hex()), index.as_bytes());
    let blob_of = |bytes: &[u8]| format!("/blobs/{}", Digest::of(bytes));
    registry.on(Method::GET, &blob_of(b"lies about its size"), 1, |_| answer(200).body(Body::from(vec![b' '; 4_000])).unwrap());
    registry.on(Method::GET, &blob_of(b"altered"), 1, |_| answer(200).body(Body::from("ALTERED")).unwrap());
    for (bytes, status, body) in [("denied", 403, ""), ("unavailable", 451, ""), ("cut off", 200, "cut")] {
        registry.on(Method::GET, &blob_of(bytes.as_bytes()), 1, move |_| {
            // Without a length.
            answer(status).body(pieces(vec![Bytes::from_static(body.as_bytes())])).unwrap()
        });
    }
    let found = found(&client, &registry, &subject).await;
    let digests: Vec<Digest> = found.iter().map(|found| found.digest).collect();
    assert_eq!(digests, [good]);
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_an_error_or_empty_and_never_endless() {
    let registry = Registry::start().await;
    let client = client(&registry);
    let subject = registry.put_component("1", b"component");
    let reference = registry.reference("1");
    registry.on(Method::GET, "/referrers/", 1, |_| empty(500));
    expect(client.signatures(&reference, &subject).await, "answers 500 for the referrers");
    registry.on(Method::GET, "/referrers/", 1, |_| answer(200).body(Body::from("<html>")).unwrap());
    assert!(client.signatures(&reference, &subject).await.unwrap().is_empty());
    // A list whose pages never end, each of them empty.
    registry.on(Method::GET, "/referrers/", usize::MAX, |seen| {
        let next = format!("<{}&more=1>; rel=\"next\"", seen.path);
        let body = json!({"schemaVersion": 2, "manifests": []}).to_string();
        answer(200).header(LINK, next).body(Body::from(body)).unwrap()
    });
    let before = registry.seen().len();
    assert!(client.signatures(&reference, &subject).await.unwrap().is_empty());
    // And the two tags.
    assert_eq!(registry.seen().len() - before, bounds::PAGES + 2);
}

/// A page of a list of referrers.
fn page(listed: Vec<Value>, next: Option<String>) -> impl Fn(&Seen) -> Response {
    move |_| {
        let body = Body::from(json!({"schemaVersion": 2, "manifests": listed}).to_string());
        let next = next.clone().map(|next| format!("<{next}>; rel=\"next\"")).unwrap_or_default();
        answer(200).header(LINK, next).body(body).unwrap()
    }
}

fn listed(digest: &Digest) -> Value {
    json!({"mediaType": media_type::MANIFEST, "digest": digest, "size": 1})
}

#[tokio::test]
async fn at_most_a_hundred_are_read_and_pages_are_followed_at_the_registry_only() {
    let (registry, elsewhere) = (Registry::start().await, Registry::start().await);
    registry.offer_referrers();
    let client = client(&registry);
    let subject = registry.put_component("1", b"component");
    let mut attached = Vec::new();
    for at in 0..3 {
        attached.push(attach(&client, &registry, &subject, format!("bundle {at}").as_bytes()).await);
    }
    let next = || Some(format!("/v2/{REPOSITORY}/next"));
    // Others do not count.
    let mut sbom = listed(&subject);
    sbom["artifactType"] = json!("application/spdx+json");
    let mut first = vec![sbom; bounds::REFERRERS + 1];
    first.push(listed(&attached[0]));
    registry.on(Method::GET, "/referrers/", 1, page(first, next()));
    let there = Some(format!("http://{}/", elsewhere.host()));
    registry.on(Method::GET, "/next", 1, page(vec![listed(&attached[1])], there));
    assert_eq!(found(&client, &registry, &subject).await.len(), 2);
    assert!(elsewhere.seen().is_empty());
    let absent = (0..bounds::REFERRERS + 50).map(|at| listed(&Digest::of(&at.to_le_bytes()))).collect();
    registry.on(Method::GET, "/referrers/", 1, page(absent, next()));
    let before = registry.requests(Method::GET, "/manifests/sha256:").len();
    assert!(found(&client, &registry, &subject).await.is_empty());
    assert_eq!(registry.requests(Method::GET, "/manifests/sha256:").len() - before, bounds::REFERRERS);
    // The list under the tag counts beside the API, and each one once.
    let index = json!({"schemaVersion": 2, "manifests": [listed(&attached[0]), listed(&attached[1])]}).to_string();
    registry.put_manifest(&format!("sha256-{}", subject.hex()), index.as_bytes());
    let twice = [1, 2, 2].map(|at| listed(&attached[at])).to_vec();
    registry.on(Method::GET, "/referrers/", 1, page(twice, None));
    let digests: Vec<Digest> = found(&client, &registry, &subject).await.iter().map(|found| found.digest).collect();
    assert_eq!(digests, [attached[1], attached[2], attached[0]]);
}

#[tokio::test]
async fn signatures_have_a_bound_together() {
    let registry = Registry::start().await;
    registry.offer_referrers();
    let client = client(&registry);
    let subject = registry.put_component("1", b"component");
    for letter in b'a'..=b'e' {
        attach(&client, &registry, &subject, &vec![letter; bounds::SIGNATURE as usize]).await;
    }
    let found = found(&client, &registry, &subject).await;
    assert_eq!(found.len() as u64, bounds::SIGNATURES / bounds::SIGNATURE);
}

#[tokio::test]
async fn only_small_things_are_attached_and_only_to_manifests_that_exist() {
    let registry = Registry::start().await;
    let client = client(&registry);
    let subject = registry.put_component("1", b"component");
    let reference = registry.reference("1");
    let large = vec![b' '; bounds::SIGNATURE as usize + 1];
    for bytes in [b"".as_slice(), large.as_slice()] {
        let attached = client.attach(&reference, &subject, bytes, media_type::BUNDLE, BTreeMap::new()).await;
        expect(attached, "the signature has");
    }
    let absent = Digest::of(b"absent");
    expect(client.attach(&reference, &absent, BUNDLE, media_type::BUNDLE, BTreeMap::new()).await, "is not in");
    let index = registry.put_manifest("index", br#"{"schemaVersion":2,"manifests":[]}"#);
    expect(client.attach(&reference, &index, BUNDLE, media_type::BUNDLE, BTreeMap::new()).await, "an index of several");
}

#[tokio::test]
async fn a_list_that_others_replace_is_written_again_or_given_up() {
    let registry = Registry::start().await;
    let client = client(&registry);
    let subject = registry.put_component("1", b"component");
    let tag = format!("/manifests/sha256-{}", subject.hex());
    // The first write is lost.
    registry.on(Method::PUT, &tag, 1, |_| empty(201));
    attach(&client, &registry, &subject, BUNDLE).await;
    assert_eq!(found(&client, &registry, &subject).await.len(), 1);
    registry.on(Method::PUT, &tag, usize::MAX, |_| empty(201));
    let attached = client.attach(&registry.reference("1"), &subject, b"another", media_type::BUNDLE, BTreeMap::new()).await;
    let error = expect(attached, "is changed by somebody else each time");
    assert!(error.is_temporary());
}
