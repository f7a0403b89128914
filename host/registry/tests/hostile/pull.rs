//! Pulling from a registry that lies about what it has, or does not end.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use gyre_registry::{Digest, Error, PulledFrom, Settings, Silent, bounds, media_type};
use http::Method;
use http::header::CONTENT_LENGTH;
use serde_json::json;

use super::client::{Folder, Recorder, SHORT, client, expect, hasty_client};
use super::server::{Registry, answer, empty, layer, manifest, pieces};

const COMPONENT: &[u8] = b"\0asm and more of a component";

/// A registry with a component under the tag 1, a client for it, and a cache.
async fn stage() -> (Registry, gyre_registry::Registries, Folder, Digest) {
    let registry = Registry::start().await;
    let digest = registry.put_component("1", COMPONENT);
    let client = client(&registry);
    (registry, client, Folder::new(), digest)
}

fn blob() -> String {
    format!("/blobs/{}", Digest::of(COMPONENT))
}

#[tokio::test]
async fn a_component_is_pulled_by_tag_and_by_digest_and_then_comes_from_the_cache() {
    let (registry, client, folder, digest) = stage().await;
    let recorder = Recorder::default();
    let pulled = client.pull(&registry.reference("1"), &folder.cache, &recorder).await.unwrap();
    assert_eq!((pulled.manifest, pulled.component, pulled.from), (digest, Digest::of(COMPONENT), PulledFrom::Registry));
    assert_eq!(std::fs::read(&pulled.path).unwrap(), COMPONENT);
    assert_eq!(pulled.path, folder.cache.component_path(&pulled.component));
    assert_eq!(pulled.annotations["org.opencontainers.image.version"], "1.4");
    let [(total, steps)]: [_; 1] = recorder.transfers().try_into().unwrap();
    assert_eq!((total, steps.last()), (COMPONENT.len() as u64, Some(&total)));
    let before = registry.seen().len();
    let again = client.pull(&registry.reference("1"), &folder.cache, &recorder).await.unwrap();
    assert_eq!((again.from, registry.seen().len() - before), (PulledFrom::Cache, 1), "the tag is asked for again");
    let pinned = client.pull(&registry.pinned(digest), &folder.cache, &recorder).await.unwrap();
    assert_eq!((pinned, registry.seen().len() - before), (again, 1), "a digest is not");
    assert_eq!(recorder.transfers().len(), 1);
    assert!(folder.cache.read(&registry.reference("1")).unwrap().is_none(), "pulled is not accepted");
}

#[tokio::test]
async fn another_manifest_of_the_same_component_takes_no_transfer() {
    let (registry, client, folder, _) = stage().await;
    folder.pull(&client, &registry, "1").await.unwrap();
    let mut other = manifest(&[layer(COMPONENT)]);
    other["annotations"] = json!({});
    registry.put_manifest("2", other.to_string().as_bytes());
    let pulled = folder.pull(&client, &registry, "2").await.unwrap();
    assert_eq!(pulled.component, Digest::of(COMPONENT));
    assert_eq!(registry.requests(Method::GET, &blob()).len(), 1);
}

#[tokio::test]
async fn a_registry_that_does_not_say_the_digest_is_asked_for_the_manifest() {
    let (registry, client, _folder, digest) = stage().await;
    registry.on(Method::HEAD, "/manifests/1", 1, |_| empty(200));
    assert_eq!(client.resolve(&registry.reference("1")).await.unwrap(), digest);
    registry.on(Method::HEAD, "/manifests/1", 1, |_| {
        answer(200).header("docker-content-digest", format!("sha512:{}", "0".repeat(128))).body(Body::empty()).unwrap()
    });
    assert_eq!(client.resolve(&registry.reference("1")).await.unwrap(), digest);
    registry.on(Method::HEAD, "/manifests/1", 1, |_| empty(405));
    assert_eq!(client.resolve(&registry.reference("1")).await.unwrap(), digest);
    assert_eq!(registry.requests(Method::GET, "/manifests/1").len(), 3);
    let error = expect(client.resolve(&registry.reference("2")).await, "2 is not in");
    assert!(matches!(error, Error::NotFound { .. }) && !error.is_temporary());
    let error = expect(client.manifest(&registry.reference("2")).await, ": manifest unknown");
    assert!(matches!(error, Error::NotFound { .. }));
}

/// Expects a pull to fail so, and to leave nothing in the cache.
async fn check_refused(registry: &Registry, client: &gyre_registry::Registries, folder: &Folder, expected: &str) -> Error {
    let error = expect(folder.pull(client, registry, "1").await, expected);
    assert_eq!(folder.files(), [""; 0], "{expected}");
    error
}

#[tokio::test]
async fn a_transfer_that_breaks_off_is_begun_again_and_then_given_up() {
    let (registry, client, folder, _) = stage().await;
    let cut = |_: &super::server::Seen| {
        let body = pieces(vec![Bytes::from_static(&COMPONENT[..9])]);
        answer(200).header(CONTENT_LENGTH, COMPONENT.len()).body(body).unwrap()
    };
    registry.on(Method::GET, &blob(), bounds::ATTEMPTS as usize, cut);
    let error = check_refused(&registry, &client, &folder, "broke off").await;
    assert!(matches!(error, Error::Interrupted { .. }) && error.is_temporary());
    assert_eq!(registry.requests(Method::GET, &blob()).len(), bounds::ATTEMPTS as usize);
    registry.on(Method::GET, &blob(), 1, cut);
    let recorder = Recorder::default();
    let pulled = client.pull(&registry.reference("1"), &folder.cache, &recorder).await.unwrap();
    assert_eq!(std::fs::read(pulled.path).unwrap(), COMPONENT);
    assert_eq!(recorder.transfers().len(), 2);
}

#[tokio::test]
async fn a_body_that_ends_early_without_a_length_is_noticed() {
    let (registry, client, folder, _) = stage().await;
    let cut = |_: &super::server::Seen| answer(200).body(pieces(vec![Bytes::from_static(&COMPONENT[..9])])).unwrap();
    registry.on(Method::GET, &blob(), usize::MAX, cut);
    check_refused(&registry, &client, &folder, "broke off").await;
}

#[tokio::test]
async fn another_digest_is_refused_at_once() {
    let (registry, client, folder, _) = stage().await;
    registry.on(Method::GET, &blob(), usize::MAX, |_| answer(200).body(Body::from(vec![b'a'; COMPONENT.len()])).unwrap());
    let error = check_refused(&registry, &client, &folder, " for sha256:").await;
    assert!(matches!(error, Error::Digest { .. }) && !error.is_temporary());
    assert_eq!(registry.requests(Method::GET, &blob()).len(), 1);
}

#[tokio::test]
async fn more_bytes_than_the_manifest_says_are_not_read() {
    let (registry, client, folder, _) = stage().await;
    registry.on(Method::GET, &blob(), 1, |_| {
        answer(200).header(CONTENT_LENGTH, 10_u64 << 30).body(pieces(vec![Bytes::from_static(COMPONENT)])).unwrap()
    });
    let error = check_refused(&registry, &client, &folder, "sends 10737418240 bytes").await;
    assert!(matches!(error, Error::Size { .. }));
    // Without a length, and without an end.
    registry.on(Method::GET, &blob(), 1, |_| {
        let endless = stream::repeat_with(|| Ok::<_, std::convert::Infallible>(Bytes::from_static(&[0; 1 << 10])));
        answer(200).body(Body::from_stream(endless)).unwrap()
    });
    let error = check_refused(&registry, &client, &folder, "whose manifest says 28").await;
    assert!(matches!(error, Error::Size { .. }));
    assert_eq!(registry.requests(Method::GET, &blob()).len(), 2);
}

#[tokio::test]
async fn a_body_that_stands_still_or_drips_is_given_up() {
    let (registry, _, folder, _) = stage().await;
    let client = hasty_client(&registry);
    registry.on(Method::GET, &blob(), 1, |_| {
        let first = stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from_static(&COMPONENT[..3]))]);
        let body = Body::from_stream(futures::StreamExt::chain(first, stream::pending()));
        answer(200).header(CONTENT_LENGTH, COMPONENT.len()).body(body).unwrap()
    });
    let error = check_refused(&registry, &client, &folder, "did not answer within 0.4 s").await;
    assert!(matches!(error, Error::Timeout { .. }) && error.is_temporary());
    // Each byte comes in time, but all of them would take much longer.
    registry.on(Method::GET, &blob(), 1, |_| drip());
    let error = check_refused(&registry, &client, &folder, "less than 32 KiB per second").await;
    assert!(matches!(error, Error::Slow { .. }) && error.is_temporary());
}

/// An answer as long as the component, of which a byte comes from time to time.
fn drip() -> Response {
    let drops = stream::unfold((), |()| async {
        tokio::time::sleep(SHORT / 8).await;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(&[0])), ()))
    });
    answer(200).header(CONTENT_LENGTH, COMPONENT.len()).body(Body::from_stream(drops)).unwrap()
}

#[tokio::test]
async fn a_question_and_a_pull_have_an_end_even_if_each_byte_comes_in_time() {
    let (registry, _, folder, _) = stage().await;
    let settings = super::client::settings(&[&registry.host()]);
    let hasty = gyre_registry::Registries::new(Settings { question: SHORT, ..settings.clone() }).unwrap();
    registry.on(Method::GET, "/manifests/1", 1, |_| drip());
    let error = expect(hasty.manifest(&registry.reference("1")).await, "needs more than 0.4 s in all");
    assert!(matches!(error, Error::TooLong { .. }) && error.is_temporary());
    let hasty = gyre_registry::Registries::new(Settings { transfer: SHORT, ..settings }).unwrap();
    registry.on(Method::GET, &blob(), 1, |_| drip());
    check_refused(&registry, &hasty, &folder, "needs more than 0.4 s in all").await;
}

#[tokio::test]
async fn a_registry_that_does_not_answer_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let settings = gyre_registry::Settings { timeout: SHORT, ..super::client::settings(&[&host]) };
    let client = gyre_registry::Registries::new(settings).unwrap();
    let reference = format!("oci://{host}/a:1").parse().unwrap();
    let error = expect(client.resolve(&reference).await, "did not answer within 0.4 s");
    assert!(error.is_temporary());
    drop(listener);
    let error = expect(client.resolve(&reference).await, "cannot be reached");
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_temporary());
}

#[tokio::test]
async fn a_manifest_that_describes_no_component_is_refused_before_any_blob() {
    let (registry, client, folder, _) = stage().await;
    let two = manifest(&[layer(COMPONENT), layer(b"another")]);
    let mut large = manifest(&[layer(COMPONENT)]);
    large["layers"][0]["size"] = json!(10_u64 << 30);
    let image = json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": Digest::of(b""), "size": 1});
    let index = json!({"schemaVersion": 2, "mediaType": media_type::INDEX, "manifests": []});
    for (manifest, expected) in [
        (two.to_string(), "it has 2 layers"),
        (large.to_string(), "its component has 10737418240 bytes"),
        (manifest(&[image]).to_string(), "it is a container image"),
        (index.to_string(), "an index of several manifests"),
        ("<html>".to_owned(), "cannot be read as JSON"),
    ] {
        registry.put_manifest("1", manifest.as_bytes());
        let error = check_refused(&registry, &client, &folder, expected).await;
        assert!(matches!(error, Error::Manifest { .. }), "{error:?}");
    }
    assert_eq!(registry.requests(Method::GET, "/blobs/").len(), 0);
}

#[tokio::test]
async fn a_manifest_that_is_too_large_is_not_read() {
    let (registry, client, folder, _) = stage().await;
    registry.on(Method::GET, "/manifests/", 1, |_| {
        answer(200).header(CONTENT_LENGTH, 10_u64 << 30).body(pieces(vec![Bytes::from_static(b"{")])).unwrap()
    });
    let error = check_refused(&registry, &client, &folder, "the manifest of 127.0.0.1").await;
    assert!(matches!(error, Error::TooLarge { .. }));
    registry.on(Method::GET, "/manifests/", 1, |_| {
        let endless = stream::repeat_with(|| Ok::<_, std::convert::Infallible>(Bytes::from(vec![b' '; 1 << 20])));
        answer(200).body(Body::from_stream(endless)).unwrap()
    });
    let error = check_refused(&registry, &client, &folder, "has more than 4194304 bytes").await;
    assert!(matches!(error, Error::TooLarge { .. }));
}

#[tokio::test]
async fn a_manifest_with_another_digest_is_refused() {
    let (registry, client, folder, digest) = stage().await;
    let other = manifest(&[layer(b"another")]).to_string();
    let lie = other.clone();
    registry.on(Method::GET, &format!("/manifests/{digest}"), 1, move |_| answer(200).body(Body::from(lie.clone())).unwrap());
    let error = check_refused(&registry, &client, &folder, " for sha256:").await;
    assert!(matches!(error, Error::Digest { expected, .. } if expected == digest));
    // The header of an answer to a tag must be about its body.
    registry.on(Method::GET, "/manifests/1", 1, move |_| {
        answer(200).header("docker-content-digest", digest.to_string()).body(Body::from(other.clone())).unwrap()
    });
    let error = expect(client.manifest(&registry.reference("1")).await, " for sha256:");
    assert!(matches!(error, Error::Digest { .. }));
}

#[tokio::test]
async fn a_component_larger_than_the_cache_is_not_pulled() {
    let (registry, client, folder, _) = stage().await;
    let small = gyre_registry::Cache::open(&folder.path().join("small"), 10).unwrap();
    let error = expect(client.pull(&registry.reference("1"), &small, &Silent).await, "the cache of plugins may have 10");
    assert!(matches!(error, Error::Cache(_)));
    assert_eq!(registry.requests(Method::GET, "/blobs/").len(), 0);
}

#[tokio::test]
async fn a_cache_that_is_deleted_meanwhile_is_filled_again() {
    let (registry, client, folder, _) = stage().await;
    let cache = folder.path().join("cache");
    registry.on(Method::GET, &blob(), 1, move |_| {
        std::fs::remove_dir_all(&cache).unwrap();
        answer(200).body(Body::from(COMPONENT)).unwrap()
    });
    let pulled = folder.pull(&client, &registry, "1").await.unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), COMPONENT);
    assert_eq!(registry.requests(Method::GET, &blob()).len(), 2);
    std::fs::remove_dir_all(folder.path().join("cache")).unwrap();
    let pulled = folder.pull(&client, &registry, "1").await.unwrap();
    assert_eq!((pulled.from, pulled.path.exists()), (PulledFrom::Registry, true));
    // A damaged file is replaced.
    std::fs::write(&pulled.path, vec![b'a'; COMPONENT.len()]).unwrap();
    let pulled = folder.pull(&client, &registry, "1").await.unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), COMPONENT);
}

#[tokio::test]
async fn two_pulls_at_once_read_the_registry_once_and_two_processes_do_not_disturb_each_other() {
    let registry = Registry::start().await;
    let component: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    let digest = registry.put_component("1", &component);
    let (one, folder) = (client(&registry), Arc::new(Folder::new()));
    let other = client(&registry);
    let pulls = [one.clone(), one.clone(), one, other].map(|client| {
        let (folder, reference) = (Arc::clone(&folder), registry.reference("1"));
        tokio::spawn(async move { client.pull(&reference, &folder.cache, &Silent).await })
    });
    for pull in pulls {
        let pulled = tokio::time::timeout(Duration::from_secs(60), pull).await.unwrap().unwrap().unwrap();
        assert_eq!((pulled.manifest, pulled.component), (digest, Digest::of(&component)));
        assert_eq!(std::fs::read(pulled.path).unwrap(), component);
    }
    let transfers = registry.requests(Method::GET, "/blobs/").len();
    assert!((1..=2).contains(&transfers), "{transfers}");
    let files = folder.files();
    assert_eq!(files.len(), 2, "{files:?}");
}

#[tokio::test]
async fn a_config_is_about_its_component() {
    let registry = Registry::start().await;
    let client = client(&registry);
    let config = |layer: &[u8]| {
        json!({"created": "2026-11-28T00:00:00Z", "architecture": "wasm", "os": "wasip2", "layerDigests": [Digest::of(layer)]})
            .to_string()
    };
    for (content, expected) in [
        (config(COMPONENT), None),
        (config(b"another"), Some("its config is about")),
        ("{}".to_owned(), Some("cannot be read as JSON")),
    ] {
        let mut manifest = manifest(&[layer(COMPONENT)]);
        let digest = registry.put_blob(content.as_bytes());
        manifest["config"] = json!({"mediaType": media_type::WASM_CONFIG, "digest": digest, "size": content.len()});
        registry.put_manifest("1", manifest.to_string().as_bytes());
        let (_, manifest) = client.manifest(&registry.reference("1")).await.unwrap();
        let found = client.config(&registry.reference("1"), &manifest).await;
        match expected {
            None => assert_eq!(found.unwrap().unwrap().created, "2026-11-28T00:00:00Z"),
            Some(expected) => drop(expect(found, expected)),
        }
    }
    registry.put_manifest("2", manifest(&[layer(COMPONENT)]).to_string().as_bytes());
    let (_, manifest) = client.manifest(&registry.reference("2")).await.unwrap();
    assert_eq!(client.config(&registry.reference("2"), &manifest).await.unwrap(), None);
}
