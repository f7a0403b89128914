use proptest::prelude::*;
use serde_json::json;

use super::*;

fn config(auths: serde_json::Value) -> DockerConfig {
    DockerConfig::parse(json!({ "auths": auths }).to_string().as_bytes()).unwrap()
}

fn password(user: &str, password: &str) -> Login {
    Login::Password { user: user.to_owned(), password: password.to_owned() }
}

fn encoded(text: &str) -> String {
    BASE64.encode(text)
}

#[test]
fn each_form_of_credentials_is_read() {
    for (entry, expected) in [
        (json!({"auth": encoded("me:pass:word")}), password("me", "pass:word")),
        (json!({"auth": encoded("me:word").trim_end_matches('=')}), password("me", "word")),
        (json!({"auth": encoded("me:")}), password("me", "")),
        (json!({"username": "me", "password": "word"}), password("me", "word")),
        (json!({"username": "me", "password": "word", "auth": encoded("other:x"), "email": "a@b"}), password("me", "word")),
        (json!({"auth": encoded("me:"), "identitytoken": "id"}), Login::Identity("id".to_owned())),
        (json!({"auth": encoded("<token>:id")}), Login::Identity("id".to_owned())),
        (json!({"registrytoken": "token"}), Login::Token("token".to_owned())),
        (json!({}), Login::Anonymous),
        (json!({"auth": "", "username": ""}), Login::Anonymous),
    ] {
        let config = config(json!({ "registry.example.com": entry.clone() }));
        assert_eq!(config.login("registry.example.com", "a"), expected, "{entry}");
        assert_eq!(config.login("other.example.com", "a"), Login::Anonymous);
    }
}

#[test]
fn the_entry_of_a_registry_is_found_by_host_port_and_path() {
    let entry = |user: &str| json!({"username": user, "password": "word"});
    let config = config(json!({
        "https://index.docker.io/v1/": entry("docker"),
        "a.example.com": entry("host"),
        "a.example.com:5000": entry("port"),
        "HTTPS://B.Example.Com/v2/": entry("url"),
        "b.example.com/team": entry("team"),
        "b.example.com/team/echo": entry("echo"),
        "*.example.com": entry("pattern"),
        "c-*.*.example.com": entry("two"),
        "d.example.com:443": entry("default-port"),
    }));
    for (registry, repository, expected) in [
        ("docker.io", "library/a", "docker"),
        ("registry-1.docker.io", "library/a", "docker"),
        ("a.example.com", "x", "host"),
        ("a.example.com:443", "x", "host"),
        ("a.example.com:5000", "x", "port"),
        ("b.example.com", "x", "url"),
        ("b.example.com", "team/other", "team"),
        ("b.example.com", "teams/other", "url"),
        ("b.example.com", "team/echo", "echo"),
        ("b.example.com", "team/echo/x", "echo"),
        ("z.example.com", "x", "pattern"),
        ("c-1.eu.example.com", "x", "two"),
        ("d.example.com", "x", "default-port"),
        ("a.example.com:5001", "x", ""),
        ("x.y.example.com", "x", ""),
        ("example.com", "x", ""),
    ] {
        let expected = if expected.is_empty() { Login::Anonymous } else { password(expected, "word") };
        assert_eq!(config.login(registry, repository), expected, "{registry}/{repository}");
    }
}

#[test]
fn helpers_are_named_and_not_run() {
    let text = json!({
        "auths": {"a.example.com": {}},
        "credHelpers": {"b.example.com": "ecr-login", "https://index.docker.io/v1/": "desktop"},
    });
    let config = DockerConfig::parse(text.to_string().as_bytes()).unwrap();
    assert_eq!(config.helper("a.example.com"), None);
    assert_eq!(config.helper("b.example.com"), Some("ecr-login"));
    assert_eq!(config.helper("docker.io"), Some("desktop"));
    assert_eq!(config.login("b.example.com", "x"), Login::Anonymous);
    let config = DockerConfig::parse(br#"{"credsStore":"secretservice"}"#).unwrap();
    assert_eq!(config.helper("a.example.com"), Some("secretservice"));
}

#[test]
fn invalid_files_are_refused_without_their_content() {
    for (text, expected) in [
        ("secret", "line 1, column 1"),
        (r#"{"auths":{"a":{"auth":"secret!"}}}"#, "the \"auth\" of \"a\""),
        (r#"{"auths":{"a":{"auth":"c2VjcmV0"}}}"#, "the \"auth\" of \"a\""),
        (r#"{"auths":{"a":{"username":"secret"}}}"#, "only one of"),
        (r#"{"auths":[]}"#, "is not a docker config.json"),
    ] {
        let error = DockerConfig::parse(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
        assert!(!error.to_string().contains("secret") && !error.remedy().is_empty(), "{error}");
    }
    let long = vec![b' '; bounds::DOCKER_CONFIG as usize + 1];
    assert!(matches!(DockerConfig::parse(&long), Err(Error::Size)));
}

#[test]
fn a_missing_file_is_not_an_error_and_a_directory_is_one() {
    let folder = tempfile::tempdir().unwrap();
    assert!(DockerConfig::read(&folder.path().join("config.json")).unwrap().is_none());
    let error = DockerConfig::read(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error}");
}

#[test]
fn secrets_are_not_shown() {
    for login in [password("me", "secret"), Login::Identity("secret".to_owned()), Login::Token("secret".to_owned())] {
        let shown = format!("{login:?}");
        assert!(!shown.contains("secret"), "{shown}");
    }
    let config = config(json!({"a": {"username": "me", "password": "secret"}}));
    assert!(!format!("{config:?}").contains("secret"));
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_read(bytes: Vec<u8>, name in "\\PC{0,20}", auth in "[A-Za-z0-9+/=]{0,20}") {
        let _ = DockerConfig::parse(&bytes);
        let text = json!({"auths": {name.clone(): {"auth": auth}}, "credHelpers": {name.clone(): "a"}}).to_string();
        if let Ok(config) = DockerConfig::parse(text.as_bytes()) {
            let _ = (config.login(&name, "a"), config.helper(&name));
        }
    }

    #[test]
    fn a_password_is_read_as_it_was_written(user in "[^:\\pC<]{1,10}", word in "\\PC{0,20}") {
        let config = config(json!({"a.example.com": {"auth": encoded(&format!("{user}:{word}"))}}));
        prop_assert_eq!(config.login("a.example.com", "x"), password(&user, &word));
    }
}
