//! Who gets credentials, and in exchange for what.

use axum::body::Body;
use axum::response::Response;
use gyre_registry::{Environment, Error, Missing, PulledFrom, Registries, Settings, Silent};
use http::Method;
use http::header::WWW_AUTHENTICATE;
use serde_json::{Value, json};

use super::client::{Folder, client, expect, settings};
use super::server::{Access, Registry, answer, empty};

/// `me:word` in base64.
const ME: &str = "bWU6d29yZA==";

/// A registry with a component, and a folder for credentials.
async fn stage() -> (Registry, Folder) {
    let registry = Registry::start().await;
    registry.put_component("1", b"component");
    (registry, Folder::new())
}

/// A client with these entries in its file of credentials.
fn with_entries(folder: &Folder, hosts: &[&str], entries: &Value) -> Registries {
    let credentials = Some(folder.credentials(&json!({ "auths": entries })));
    Registries::new(Settings { credentials, ..settings(hosts) }).unwrap()
}

/// A client with an entry for the registry.
fn with_entry(folder: &Folder, registry: &Registry, entry: &Value) -> Registries {
    let host = registry.host();
    with_entries(folder, &[&host], &json!({ host.clone(): entry }))
}

fn token(text: &str) -> Response {
    answer(200).body(Body::from(text.to_owned())).unwrap()
}

#[tokio::test]
async fn basic_credentials_are_sent_only_when_they_are_asked_for() {
    let (registry, folder) = stage().await;
    registry.require(Access::Basic(ME));
    let client = with_entry(&folder, &registry, &json!({"username": "me", "password": "word"}));
    folder.pull(&client, &registry, "1").await.unwrap();
    let seen = registry.seen();
    assert_eq!(seen[0].authorization(), None);
    let expected = format!("Basic {ME}");
    assert!(seen.len() > 1 && seen[1..].iter().all(|seen| seen.authorization() == Some(expected.as_str())));
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_used_until_it_ends() {
    let (registry, folder) = stage().await;
    registry.require_tokens();
    let client = with_entry(&folder, &registry, &json!({"auth": ME}));
    folder.pull(&client, &registry, "1").await.unwrap();
    let asked = registry.requests(Method::GET, "/token");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].authorization(), Some(format!("Basic {ME}").as_str()));
    assert_eq!(asked[0].path, "/token?client_id=gyre&scope=repository%3Ateam%2Fecho%3Apull&service=test");
    // The registry no longer accepts the token, although it should be valid.
    registry.expire_tokens();
    client.resolve(&registry.reference("1")).await.unwrap();
    assert_eq!(registry.requests(Method::GET, "/token").len(), 2);
    // To push, another token is needed.
    client.tag(&registry.reference("1"), "2").await.unwrap();
    client.resolve(&registry.reference("2")).await.unwrap();
    let asked = registry.requests(Method::GET, "/token");
    assert_eq!(asked.len(), 3);
    assert!(asked[2].path.contains("scope=repository%3Ateam%2Fecho%3Apull%2Cpush"), "{}", asked[2].path);
}

#[tokio::test]
async fn a_token_is_replaced_before_it_ends_and_a_scope_of_the_registry_is_ignored() {
    let (registry, _folder) = stage().await;
    let realm = format!("realm=\"http://{}/token\"", registry.host());
    let challenge = format!("{realm},service=\"test\",scope=\"repository:other/secret:pull,push,delete\"");
    registry.require(Access::Bearer { challenge });
    registry.on(Method::GET, "/token", 3, |_| token(r#"{"access_token":"token-1","expires_in":0}"#));
    let anonymous = client(&registry);
    // The server accepts only tokens that it gave itself.
    let error = expect(anonymous.resolve(&registry.reference("1")).await, "there is no file of credentials");
    assert!(matches!(error, Error::Anonymous { missing: Missing::File, .. }));
    let asked = registry.requests(Method::GET, "/token");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/token?client_id=gyre&scope=repository%3Ateam%2Fecho%3Apull&service=test");
    // It is not sent again, because it has ended: another one is asked for before the request.
    let before = registry.requests(Method::HEAD, "/manifests/1").len();
    expect(anonymous.resolve(&registry.reference("1")).await, "there is no file of credentials");
    assert_eq!(registry.requests(Method::GET, "/token").len(), 3);
    assert_eq!(registry.requests(Method::HEAD, "/manifests/1").len(), before + 2);
}

#[tokio::test]
async fn anonymous_tokens_are_enough_for_public_repositories() {
    let (registry, folder) = stage().await;
    registry.require_tokens();
    let pulled = folder.pull(&client(&registry), &registry, "1").await.unwrap();
    assert_eq!(pulled.from, PulledFrom::Registry);
    assert_eq!(registry.requests(Method::GET, "/token")[0].authorization(), None);
}

#[tokio::test]
async fn an_identity_token_is_exchanged_and_a_registry_token_is_sent_as_it_is() {
    let (registry, folder) = stage().await;
    registry.require_tokens();
    registry.on(Method::POST, "/token", 1, |seen| {
        let form = String::from_utf8(seen.body.to_vec()).unwrap();
        let expected =
            "grant_type=refresh_token&client_id=gyre&scope=repository%3Ateam%2Fecho%3Apull&refresh_token=id&service=test";
        if form == expected { token(r#"{"access_token":"token-0"}"#) } else { empty(400) }
    });
    let client = with_entry(&folder, &registry, &json!({"identitytoken": "id"}));
    // The server did not give this token itself.
    let error = expect(client.resolve(&registry.reference("1")).await, "does not accept the credentials");
    assert!(matches!(error, Error::Unauthorized { .. }));
    assert_eq!(registry.requests(Method::HEAD, "/manifests/1")[1].authorization(), Some("Bearer token-0"));
    let client = with_entry(&folder, &registry, &json!({"registrytoken": "mine"}));
    expect(client.resolve(&registry.reference("1")).await, "does not accept the credentials");
    assert_eq!(registry.seen().last().unwrap().authorization(), Some("Bearer mine"));
    registry.require(Access::Basic(ME));
    let client = with_entry(&folder, &registry, &json!({"identitytoken": "id"}));
    expect(client.resolve(&registry.reference("1")).await, "has a token for it, but no name and password");
}

#[tokio::test]
async fn wrong_and_missing_credentials_each_have_their_own_error() {
    let (registry, folder) = stage().await;
    registry.require(Access::Basic(ME));
    let reference = registry.reference("1");
    let wrong = with_entry(&folder, &registry, &json!({"username": "me", "password": "other"}));
    expect(wrong.resolve(&reference).await, "does not accept the credentials for team/echo");
    expect(client(&registry).resolve(&reference).await, "there is no file of credentials");
    let other = with_entries(&folder, &[&registry.host()], &json!({"other.example.com": {"auth": ME}}));
    expect(other.resolve(&reference).await, "the file of credentials has none for it");
    let store = Some(folder.credentials(&json!({"credsStore": "desktop"})));
    let helper = Registries::new(Settings { credentials: store, ..settings(&[&registry.host()]) }).unwrap();
    let error = expect(helper.resolve(&reference).await, "docker-credential-desktop, which gyre does not run");
    assert!(matches!(error, Error::Anonymous { missing: Missing::Helper(_), .. }));
    let absent = Some(folder.path().join("absent.json"));
    let absent = Registries::new(Settings { credentials: absent, ..settings(&[&registry.host()]) }).unwrap();
    expect(absent.resolve(&reference).await, "absent.json cannot be read");
    registry.on(Method::HEAD, "/manifests/1", 1, |_| empty(403));
    let error = expect(wrong.resolve(&reference).await, "does not allow this");
    assert!(matches!(error, Error::Denied { .. }));
    // A realm that does not know the user.
    registry.require_tokens();
    registry.on(Method::GET, "/token", 1, |_| {
        answer(401).body(Body::from(r#"{"details":"incorrect username or password"}"#)).unwrap()
    });
    expect(wrong.resolve(&reference).await, "for team/echo: incorrect username or password");
}

#[tokio::test]
async fn the_default_file_is_the_one_of_docker_and_a_new_one_counts_at_once() {
    let (registry, folder) = stage().await;
    registry.require(Access::Basic(ME));
    let environment = Environment { docker_config: Some(folder.path().to_owned()), ..Environment::default() };
    let client = Registries::new(Settings { environment, ..settings(&[&registry.host()]) }).unwrap();
    expect(client.resolve(&registry.reference("1")).await, "there is no file of credentials");
    folder.docker_config(&json!({"auths": {registry.host(): {"auth": ME}}}));
    client.resolve(&registry.reference("1")).await.unwrap();
}

#[tokio::test]
async fn a_realm_at_another_site_gets_no_credentials() {
    let (registry, folder) = stage().await;
    let realm = Registry::start().await;
    let (host, site) = (registry.host(), realm.as_localhost());
    registry.require(Access::Bearer { challenge: format!("realm=\"http://{site}/token\",service=\"test\"") });
    realm.on(Method::GET, "/token", usize::MAX, |seen| match seen.authorization() {
        Some(_) => token(r#"{"token":"token-0"}"#),
        None => empty(401),
    });
    let mine = json!({"username": "me", "password": "word"});
    // Not even its own: the registry would get the token.
    let client = with_entries(&folder, &[&host, &site], &json!({ host.clone(): mine.clone(), site.clone(): mine }));
    let error = expect(client.resolve(&registry.reference("1")).await, "are not sent to another site");
    assert!(matches!(error, Error::Anonymous { missing: Missing::Realm, .. }));
    assert!(!realm.seen().is_empty() && realm.seen().iter().all(|seen| seen.authorization().is_none()));
}

#[tokio::test]
async fn a_realm_must_be_a_place_that_the_registry_may_lead_to() {
    let (registry, folder) = stage().await;
    let other = Registry::start().await;
    let client = with_entry(&folder, &registry, &json!({"auth": ME}));
    let not_allowed = format!("http://{}/token", other.host());
    let with_scope = format!("http://{}/token?a=b&Scope=repository:other/secret:pull", registry.host());
    for (realm, expected) in [
        (not_allowed.as_str(), "which has no TLS"),
        (with_scope.as_str(), "a scope, a service or an account in its query"),
        ("/token", "not the URL of a place"),
        ("file:///token", "not the URL of a place"),
        ("https://user:word@127.0.0.1/token", "not the URL of a place"),
        ("https://169.254.169.254/token", "which is link-local"),
        ("https://[::ffff:169.254.169.254]/token", "which is link-local"),
        ("https://224.0.0.1/token", "no address of a host"),
    ] {
        registry.require(Access::Bearer { challenge: format!("realm=\"{realm}\"") });
        expect(client.resolve(&registry.reference("1")).await, expected);
    }
    assert!(other.seen().is_empty() && registry.requests(Method::GET, "/token").is_empty());
}

#[tokio::test]
async fn challenges_and_tokens_that_cannot_be_read_are_errors() {
    let (registry, _folder) = stage().await;
    let client = client(&registry);
    for (challenge, expected) in [
        ("Negotiate", "by [\"negotiate\"]"),
        ("Bearer service=\"a\"", "by [\"bearer\"]"),
        ("Bearer realm=\"", "cannot be read"),
        ("realm=a", "begins with a parameter"),
    ] {
        registry.on(Method::HEAD, "/manifests/1", 1, move |_| {
            answer(401).header(WWW_AUTHENTICATE, challenge).body(Body::empty()).unwrap()
        });
        expect(client.resolve(&registry.reference("1")).await, expected);
    }
    registry.on(Method::HEAD, "/manifests/1", 1, |_| empty(401));
    expect(client.resolve(&registry.reference("1")).await, "by []");
    registry.require_tokens();
    let large = format!("{{\"token\":\"{}\"}}", "a".repeat(100_000));
    for (body, expected) in [
        ("{}".to_owned(), "neither \"token\" nor \"access_token\""),
        ("<html>".to_owned(), "cannot be read as JSON with a token"),
        (r#"{"token":"a\r\nb"}"#.to_owned(), "letters that a header cannot have"),
        (large, "the token of"),
    ] {
        registry.on(Method::GET, "/token", 1, move |_| token(&body));
        expect(client.resolve(&registry.reference("1")).await, expected);
    }
    registry.on(Method::GET, "/token", 1, |_| super::server::redirect("/other"));
    expect(client.resolve(&registry.reference("1")).await, "redirects the request for a token");
    assert!(registry.requests(Method::GET, "/other").is_empty());
    // After all this, a good answer is good.
    client.pull(&registry.reference("1"), &Folder::new().cache, &Silent).await.unwrap();
}
