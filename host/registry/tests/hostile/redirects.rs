//! Where a registry may lead its client, and what the client takes along.

use axum::body::Body;
use gyre_registry::{Digest, Error, Registries, Settings, Silent};
use http::Method;
use http::header::LOCATION;
use serde_json::json;

use super::client::{Folder, client, expect, settings};
use super::server::{Access, REPOSITORY, Registry, answer, redirect};

const COMPONENT: &[u8] = b"a component in the storage behind a registry";
/// `me:word` in base64.
const ME: &str = "bWU6d29yZA==";

/// A registry that wants credentials, its storage at another host, and a client that knows both.
async fn stage() -> (Registry, Registry, Registries, Folder) {
    let (registry, storage, folder) = (Registry::start().await, Registry::start().await, Folder::new());
    registry.put_component("1", COMPONENT);
    registry.require(Access::Basic(ME));
    let (host, behind) = (registry.host(), storage.host());
    let credentials = Some(folder.credentials(&json!({"auths": {host.clone(): {"auth": ME}, behind.clone(): {"auth": ME}}})));
    let client = Registries::new(Settings { credentials, ..settings(&[&host, &behind, &storage.as_localhost()]) }).unwrap();
    (registry, storage, client, folder)
}

fn blob() -> String {
    format!("/blobs/{}", Digest::of(COMPONENT))
}

#[tokio::test]
async fn a_redirect_to_storage_is_followed_without_credentials() {
    let (registry, storage, client, folder) = stage().await;
    let place = format!("http://{}/signed?key=a", storage.host());
    registry.on(Method::GET, &blob(), 1, move |_| redirect(&place));
    storage.on(Method::GET, "/signed?key=a", 1, |_| answer(200).body(Body::from(COMPONENT)).unwrap());
    let pulled = folder.pull(&client, &registry, "1").await.unwrap();
    assert_eq!(std::fs::read(pulled.path).unwrap(), COMPONENT);
    assert_eq!(registry.requests(Method::GET, &blob())[0].authorization(), Some(format!("Basic {ME}").as_str()));
    let [seen]: [_; 1] = storage.seen().try_into().unwrap_or_else(|seen: Vec<_>| panic!("{seen:?}"));
    assert_eq!(seen.authorization(), None);
}

#[tokio::test]
async fn within_a_registry_credentials_are_sent_and_after_another_host_never_again() {
    let (registry, storage, client, folder) = stage().await;
    registry.on(Method::GET, &blob(), 1, |_| redirect("/v2/inside"));
    registry.on(Method::GET, "/v2/inside", 1, |_| answer(200).body(Body::from(COMPONENT)).unwrap());
    folder.pull(&client, &registry, "1").await.unwrap();
    assert_eq!(registry.requests(Method::GET, "/v2/inside")[0].authorization(), Some(format!("Basic {ME}").as_str()));
    let (there, back) = (format!("http://{}/there", storage.host()), format!("http://{}/v2/back", registry.host()));
    registry.on(Method::GET, &blob(), 1, move |_| redirect(&there));
    storage.on(Method::GET, "/there", 1, move |_| redirect(&back));
    registry.on(Method::GET, "/v2/back", 1, |_| answer(200).body(Body::from(COMPONENT)).unwrap());
    Folder::new().pull(&client, &registry, "1").await.unwrap();
    assert_eq!(registry.requests(Method::GET, "/v2/back")[0].authorization(), None);
    // Another name, or another scheme, is another host.
    let by_name = format!("http://localhost:{}/v2/by-name", registry.address().port());
    let hosts = [registry.host(), format!("localhost:{}", registry.address().port())];
    let credentials = Some(folder.credentials(&json!({"auths": {hosts[0].clone(): {"auth": ME}}})));
    let client = Registries::new(Settings { credentials, ..settings(&[&hosts[0], &hosts[1]]) }).unwrap();
    registry.on(Method::GET, &blob(), 1, move |_| redirect(&by_name));
    registry.on(Method::GET, "/v2/by-name", 1, |_| answer(200).body(Body::from(COMPONENT)).unwrap());
    Folder::new().pull(&client, &registry, "1").await.unwrap();
    assert_eq!(registry.requests(Method::GET, "/v2/by-name")[0].authorization(), None);
}

#[tokio::test]
async fn a_storage_that_wants_credentials_gets_none() {
    let (registry, storage, client, folder) = stage().await;
    storage.require(Access::Basic(ME));
    let place = format!("http://{}/v2/{REPOSITORY}/blobs/a", storage.host());
    registry.on(Method::GET, &blob(), 1, move |_| redirect(&place));
    let error = expect(folder.pull(&client, &registry, "1").await, "answers 401");
    assert!(matches!(error, Error::Status { status: 401, .. }));
    assert!(storage.seen().iter().all(|seen| seen.authorization().is_none()));
}

#[tokio::test]
async fn redirects_to_other_networks_schemes_and_for_ever_are_refused() {
    let (registry, storage, _, folder) = stage().await;
    registry.require(Access::Open);
    let client = client(&registry);
    let plain = format!("http://{}/a", storage.host());
    for (place, expected) in [
        (plain.as_str(), "which has no TLS"),
        ("https://169.254.169.254/latest/meta-data", "which is link-local, while the registry is the machine itself"),
        ("http://169.254.169.254/latest/meta-data", "which has no TLS"),
        ("https://[fe80::1]/", "which is link-local"),
        ("https://2852039166/", "leads to 169.254.169.254"),
        ("https://255.255.255.255/", "no address of a host"),
        ("https://user@127.0.0.1/", "not the URL of a place"),
        ("ftp://127.0.0.1/", "not the URL of a place"),
        ("file:///etc/passwd", "not the URL of a place"),
        ("http://[", "not the URL of a place"),
    ] {
        let place = place.to_owned();
        registry.on(Method::GET, &blob(), 1, move |_| redirect(&place));
        let error = expect(folder.pull(&client, &registry, "1").await, expected);
        assert!(!error.is_temporary());
    }
    assert!(storage.seen().is_empty());
    registry.on(Method::GET, "/loop", usize::MAX, |_| redirect("/loop"));
    registry.on(Method::GET, &blob(), 1, |_| redirect("/loop"));
    expect(folder.pull(&client, &registry, "1").await, "redirects a request more than 5 times");
    assert_eq!(registry.requests(Method::GET, "/loop").len(), 5);
    // Without a place, it is no redirect.
    registry.on(Method::GET, &blob(), 1, |_| answer(302).body(Body::empty()).unwrap());
    expect(folder.pull(&client, &registry, "1").await, "answers 302");
}

#[tokio::test]
async fn an_upload_to_another_host_is_without_credentials_and_is_not_redirected() {
    let (registry, storage, client, _folder) = stage().await;
    let component = || gyre_registry::Component { bytes: b"new", ..gyre_registry::Component::default() };
    let place = format!("http://{}/upload", storage.host());
    registry.on(Method::POST, "/blobs/uploads/", 1, move |_| answer(202).header(LOCATION, &place).body(Body::empty()).unwrap());
    storage.on(Method::PUT, "/upload?digest=sha256%3A", 1, |_| answer(201).body(Body::empty()).unwrap());
    client.push(component(), &registry.reference("new"), &Silent).await.unwrap();
    let uploads = storage.requests(Method::PUT, "/upload");
    assert_eq!((uploads.len(), uploads[0].authorization(), uploads[0].body.as_ref()), (1, None, &b"new"[..]));
    registry.on(Method::PUT, "/blobs/uploads/1", 1, |_| redirect("/elsewhere"));
    let again = gyre_registry::Component { bytes: b"another", ..component() };
    expect(client.push(again, &registry.reference("new"), &Silent).await, "redirects an upload");
    registry.on(Method::POST, "/blobs/uploads/", 1, |_| {
        answer(202).header(LOCATION, "https://169.254.169.254/").body(Body::empty()).unwrap()
    });
    let again = gyre_registry::Component { bytes: b"a third", ..component() };
    expect(client.push(again, &registry.reference("new"), &Silent).await, "which is link-local");
}
