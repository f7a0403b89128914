//! Tests of the registry for tests: it behaves like one, and fails as it is told.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use anyhow::Context as _;
use gyre_controlplane::registry::{Authentication, Options, Referrers, Registry, Transport, digest};
use gyre_controlplane::registry_or_skip;
use serde_json::{Value, json};

/// The credentials of the only user, in base64.
const BASIC: &str = "Authorization: Basic Z3lyZTpjb3JyZWN0LWhvcnNl\r\n";

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| String::from_utf8_lossy(&self.body).into_owned())
    }
}

fn get(registry: &Registry, path: &str, headers: &str) -> anyhow::Result<Answer> {
    let mut stream = TcpStream::connect(registry.host())?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n{headers}\r\n", registry.host())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").context("no answer")?;
    let body = bytes.split_off(end + 4);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    Ok(Answer { status, head, body })
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn start(authentication: Authentication, referrers: Referrers) -> anyhow::Result<Option<Registry>> {
    registry_or_skip(Options { transport: Transport::Plain, authentication, referrers })
}

fn manifest(config: &str, layer: &str, size: usize, subject: Option<&str>) -> Value {
    let subject = subject.map(|digest| json!({ "mediaType": MANIFEST, "digest": digest, "size": 1 }));
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": { "mediaType": "application/vnd.wasm.config.v0+json", "digest": config, "size": 2 },
        "layers": [{ "mediaType": "application/wasm", "digest": layer, "size": size }],
        "subject": subject,
    })
}

#[test]
fn content_is_served_by_tag_and_digest_and_requests_are_logged() -> anyhow::Result<()> {
    let Some(registry) = start(Authentication::None, Referrers::Served)? else { return Ok(()) };
    let layer = registry.put_blob("team/it", b"some bytes")?;
    let config = registry.put_blob("team/it", b"{}")?;
    let written = manifest(&config, &layer, 10, None);
    let put = registry.put_manifest("team/it", "1", &written)?;
    let answer = get(&registry, "/v2/team/it/manifests/1", "User-Agent: it/1\r\n")?;
    assert_eq!((answer.status, answer.header("Docker-Content-Digest")), (200, Some(put.as_str())));
    assert_eq!((answer.json()?, digest(&answer.body)), (written.clone(), put.clone()));
    let of_layer = format!("/v2/team/it/blobs/{layer}");
    assert_eq!(get(&registry, &of_layer, BASIC)?.body, b"some bytes");
    assert_eq!(registry.blob("team/it", &layer)?, b"some bytes");
    assert_eq!(registry.manifest("team/it", &put)?, written);

    let requests = registry.requests()?;
    let seen: Vec<_> = requests.iter().map(|request| (request.path.as_str(), request.authorization.as_str())).collect();
    assert_eq!(seen, [("/v2/team/it/manifests/1", ""), (of_layer.as_str(), "Basic")]);
    assert_eq!((requests[0].user_agent.as_str(), requests[0].status), ("it/1", 200));
    assert_eq!([false, true], [requests[0].reads_blob(), requests[1].reads_blob()]);
    registry.forget_requests()?;
    assert!(registry.requests()?.is_empty());
    Ok(())
}

#[test]
fn referrers_are_listed_only_where_the_api_is_served() -> anyhow::Result<()> {
    for (referrers, expected) in [(Referrers::Served, 200), (Referrers::Absent, 404)] {
        let Some(registry) = start(Authentication::None, referrers)? else { return Ok(()) };
        let blob = registry.put_blob("it", b"{}")?;
        let subject = registry.put_manifest("it", "1", &manifest(&blob, &blob, 2, None))?;
        let referrer = registry.put_manifest("it", "signature", &manifest(&blob, &blob, 2, Some(&subject)))?;
        let answer = get(&registry, &format!("/v2/it/referrers/{subject}"), "")?;
        assert_eq!(answer.status, expected);
        if expected == 200 {
            assert_eq!(answer.json()?["manifests"][0]["digest"], referrer);
        }
    }
    Ok(())
}

#[test]
fn a_token_is_for_one_repository_and_expires() -> anyhow::Result<()> {
    let Some(registry) = start(Authentication::Bearer, Referrers::Served)? else { return Ok(()) };
    let blob = registry.put_blob("it", b"{}")?;
    let path = format!("/v2/it/blobs/{blob}");
    let answer = get(&registry, &path, BASIC)?;
    let expected =
        format!("Bearer realm=\"http://{}/token\",service=\"registry.test\",scope=\"repository:it:pull\"", registry.host());
    assert_eq!((answer.status, answer.header("WWW-Authenticate")), (401, Some(expected.as_str())));

    let token = |scope: &str, credentials: &str| -> anyhow::Result<Answer> {
        get(&registry, &format!("/token?service=registry.test&scope={scope}"), credentials)
    };
    assert_eq!(token("repository:it:pull", "")?.status, 401);
    let bearer = |scope: &str| -> anyhow::Result<String> {
        let token = token(scope, BASIC)?.json()?;
        Ok(format!("Authorization: Bearer {}\r\n", token["token"].as_str().context("no token")?))
    };
    let own = bearer("repository:it:pull,push")?;
    assert_eq!(get(&registry, &path, &own)?.status, 200);
    assert_eq!(get(&registry, &path, &bearer("repository:other:pull")?)?.status, 401);
    registry.expire_tokens()?;
    let answer = get(&registry, &path, &own)?;
    assert!(answer.header("WWW-Authenticate").is_some_and(|header| header.ends_with("error=\"invalid_token\"")));
    Ok(())
}

#[test]
fn each_failure_is_what_it_is_called() -> anyhow::Result<()> {
    let Some(registry) = start(Authentication::Basic, Referrers::Served)? else { return Ok(()) };
    let content = b"0123456789";
    let blob = registry.put_blob("it", content)?;
    let path = format!("/v2/it/blobs/{blob}");
    let failing = |faults: Value| -> anyhow::Result<Answer> {
        registry.fail(&faults)?;
        get(&registry, &path, BASIC)
    };
    assert_eq!(get(&registry, &path, "")?.status, 401);
    assert_eq!(failing(json!({}))?.body, content);
    assert_eq!(failing(json!({ "changeBlobs": true }))?.body, b"0123456788");
    let truncated = failing(json!({ "truncateBlobs": true }))?;
    assert_eq!((truncated.header("Content-Length"), &truncated.body[..]), (Some("10"), &b"01234"[..]));
    let shortened = failing(json!({ "shortenBlobs": true }))?;
    assert_eq!((shortened.header("Content-Length"), &shortened.body[..]), (Some("5"), &b"01234"[..]));
    let announced = failing(json!({ "announcedBytes": 20 }))?;
    assert_eq!((announced.header("Content-Length"), announced.body.len()), (Some("20"), 20));
    let redirected = failing(json!({ "redirectBlobs": registry.blobs_elsewhere() }))?;
    let location = registry.blobs_elsewhere().replace("{digest}", &blob);
    assert_eq!((redirected.status, redirected.header("Location")), (307, Some(location.as_str())));

    let limited = failing(json!({ "limited": 2, "retryAfter": "7" }))?;
    assert_eq!((limited.status, limited.header("Retry-After")), (429, Some("7")));
    assert_eq!(get(&registry, &path, BASIC)?.status, 429);
    assert_eq!(get(&registry, &path, BASIC)?.status, 200);
    assert_eq!(failing(json!({ "unavailable": 1 }))?.status, 503);
    assert!(registry.fail(&json!({ "unknown": true })).is_err());

    registry.go_down()?;
    assert!(get(&registry, &path, BASIC).is_err());
    registry.come_up()?;
    assert_eq!(get(&registry, &path, BASIC)?.body, content);
    Ok(())
}
