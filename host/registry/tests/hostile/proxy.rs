//! Proxies that the environment names. A proxy for plain HTTP gets whole URLs, so the registry of
//! these tests can be one.

use gyre_registry::{Environment, Error, Registries, Settings};
use http::Method;

use super::client::{Folder, expect, settings};
use super::server::{REPOSITORY, Registry, redirect};

/// A host whose name cannot be resolved.
const HOST: &str = "registry.invalid:5000";

fn client(proxy: &Registry, insecure: &[&str]) -> Registries {
    let http_proxy = format!("http://me:word@{}", proxy.host());
    let environment = Environment { http_proxy, ..Environment::default() };
    Registries::new(Settings { environment, ..settings(insecure) }).unwrap()
}

#[tokio::test]
async fn a_proxy_resolves_names_and_hosts_that_are_addresses_are_checked() {
    let (proxy, folder) = (Registry::start().await, Folder::new());
    let digest = proxy.put_component("1", b"component");
    let client = client(&proxy, &[HOST]);
    let reference = format!("oci://{HOST}/{REPOSITORY}:1").parse().unwrap();
    assert_eq!(client.resolve(&reference).await.unwrap(), digest);
    let seen = proxy.seen();
    assert_eq!(seen[0].headers["host"], HOST);
    // `me:word`.
    assert_eq!(seen[0].headers["proxy-authorization"], "Basic bWU6d29yZA==");
    proxy.on(Method::GET, "/blobs/", 1, |_| redirect("https://10.0.0.1/a"));
    let pulled = client.pull(&reference, &folder.cache, &gyre_registry::Silent).await;
    let error = expect(pulled, "10.0.0.1, which is private, while the registry is public");
    assert!(matches!(error, Error::Address(_)));
}

#[tokio::test]
async fn a_host_without_a_proxy_is_reached_directly() {
    let (proxy, registry) = (Registry::start().await, Registry::start().await);
    let digest = registry.put_component("1", b"component");
    let client = client(&proxy, &[&registry.host()]);
    // Addresses of this machine have no proxy.
    assert_eq!(client.resolve(&registry.reference("1")).await.unwrap(), digest);
    assert!(proxy.seen().is_empty());
}
