//! The lies of a registry.

use gyre_devcluster::random::Random;
use gyre_registry::{Digest, media_type};
use serde_json::{Value, json};

use crate::host::artifacts::exchange::{Lie, Reply, Stage, TOKEN};
use crate::host::artifacts::written::{COMPONENT, TAG, Written};
use crate::host::artifacts::{documents, mutated};
use crate::mutate::{self, Draw as _};
use crate::outcome::shown;

/// The path at the registry to which only the storage leads.
pub(super) const BACK: &str = "/after-the-storage";

/// Places that a registry names. `REGISTRY` is its own host.
const PLACES: &[&str] = &[
    "http://REGISTRY/v2/team/echo/inside",
    "/v2/team/echo/inside",
    "?a=b",
    "//evil.example.org/a",
    "http://storage.example.com/signed?key=a",
    "https://storage.example.com/signed",
    "http://auth.example.com/token",
    "http://auth.example.com/token?a=b",
    "http://auth.example.com/token?scope=repository:other/secret:pull",
    "http://auth.example.com/token?sc%6Fpe=repository:other/secret:pull",
    "http://auth.example.com/token?a=b&Service=other&ACCOUNT=me",
    "http://auth.example.org/token",
    "https://auth.example.org/token",
    "http://AUTH.EXAMPLE.COM./token",
    "http://REGISTRY/token",
    "http://10.9.9.9:5000/token",
    "https://10.9.9.9/token",
    "http://user:word@REGISTRY/token",
    "http://REGISTRY@evil.example.org/token",
    "http://REGISTRY\\@evil.example.org/token",
    "http://evil.example.org/token",
    "https://localhost/a",
    "https://a.localhost./a",
    "https://127.0.0.1:6443/a",
    "https://127.1/a",
    "https://0x7f.1/a",
    "https://2130706433/a",
    "https://0/a",
    "https://169.254.169.254/latest/meta-data",
    "https://2852039166/",
    "https://100.100.100.200/",
    "https://255.255.255.255/",
    "https://[::1]/a",
    "https://[::]/a",
    "https://[::ffff:10.0.0.1]/a",
    "https://[::127.0.0.1]/a",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:a9fe:a9fe::1]/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://8.8.8.8/a",
    "https://xn--bcher-kva.example/a",
    "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/a",
    "ftp://storage.example.com/a",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:,a",
    "http://",
    "http://[",
    "",
];

/// Statuses without one that begins another protocol.
const STATUSES: &[u16] = &[
    200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 416, 418, 429, 451, 500, 501, 502, 503,
    504, 599,
];

const ERRORS: &[&str] = &[
    r#"{"errors":[{"code":"DENIED","message":"requested access to the resource is denied","detail":{}}]}"#,
    r#"{"details":"incorrect username or password"}"#,
    r#"{"error":"invalid_grant","error_description":"the token is expired"}"#,
    r#"{"message":"a\nb\u001b[31m"}"#,
    "<html><body>502 Bad Gateway</body></html>",
    "",
];

/// Returns one or two lies.
pub(super) fn draw(random: &mut Random, registry: &str, written: &Written) -> Vec<Lie> {
    let mut lies = Vec::new();
    for _ in 0..=random.size(2) {
        match random.below(9) {
            0 | 1 => lies.push(challenge(random, registry)),
            2 => lies.push(token(random)),
            3 => lies.push(manifest(random, written)),
            4 => {
                let stage = *random.pick(&[Stage::Blob, Stage::Blob, Stage::Manifest, Stage::Referrers, Stage::Token]);
                lies.push(redirect(stage, &place(random, registry)));
            }
            5 => lies.push(blob(random)),
            6 => {
                lies.push(Lie { stage: Stage::Upload, reply: Reply::new(202, "").header("location", place(random, registry)) })
            }
            7 => lies.push(referrers(random, registry, written)),
            _ => lies.push(error(random)),
        }
    }
    if random.chance(0.1) {
        // To the storage, and back to the registry.
        let there = format!("http://storage.example.com/signed/{}", Digest::of(COMPONENT));
        lies.insert(0, redirect(Stage::Blob, there.as_bytes()));
        lies.push(redirect(Stage::Storage, format!("http://{registry}{BACK}").as_bytes()));
    }
    lies
}

pub(super) fn described(lie: &Lie) -> String {
    let Lie { stage, reply } = lie;
    let lossy = |bytes: &[u8]| shown(&String::from_utf8_lossy(bytes));
    let headers: Vec<String> = reply.headers.iter().map(|(name, value)| format!("{name}: {}", lossy(value))).collect();
    format!("{stage:?} {} {headers:?} {:?} {:?}", reply.status, reply.announced, lossy(&reply.body))
}

/// Returns a URL, or a text that is hardly one.
fn place(random: &mut Random, registry: &str) -> Vec<u8> {
    let mut place = random.pick(PLACES).replace("REGISTRY", registry).into_bytes();
    if random.chance(0.2) {
        mutate::bytes(random, &mut place);
    }
    place
}

fn redirect(stage: Stage, place: &[u8]) -> Lie {
    Lie { stage, reply: Reply::new(307, "").header("location", place) }
}

fn challenge(random: &mut Random, registry: &str) -> Lie {
    let realm = place(random, registry);
    let realm = String::from_utf8_lossy(&realm);
    let scheme = *random.pick(&["Bearer", "bearer", "Bearer", "Basic", "Negotiate"]);
    let more = *random.pick(&[
        "",
        ",service=\"test\"",
        ",scope=\"repository:other/secret:pull,push\"",
        ",service=\"a\",service=\"b\"",
    ]);
    let mut header = format!("{scheme} realm=\"{realm}\"{more}").into_bytes();
    if random.chance(0.2) {
        header = [b"Basic realm=a, ".as_slice(), header.as_slice()].concat();
    }
    if random.chance(0.2) {
        mutate::bytes(random, &mut header);
    }
    let status = if random.chance(0.95) { 401 } else { *random.pick(STATUSES) };
    Lie { stage: Stage::Login, reply: Reply::new(status, "").header("www-authenticate", header) }
}

fn token(random: &mut Random) -> Lie {
    let answer = json!({ "access_token": TOKEN, "expires_in": 300, "issued_at": "2026-11-22T00:00:00Z" });
    let body = mutated(random, answer.to_string().as_bytes(), mutate::value);
    Lie { stage: Stage::Token, reply: Reply::new(200, body) }
}

fn manifest(random: &mut Random, written: &Written) -> Lie {
    let body = mutated(random, written.manifest(TAG), documents::special);
    let digest = match random.below(4) {
        0 => mutate::text(random),
        1 => written.digest.to_string(),
        _ => Digest::of(&body).to_string(),
    };
    let reply = announced(random, Reply::new(200, body));
    let reply = if random.chance(0.8) { reply.header("docker-content-digest", digest) } else { reply };
    Lie { stage: Stage::Manifest, reply }
}

fn blob(random: &mut Random) -> Lie {
    let mut body = COMPONENT.to_vec();
    if random.chance(0.7) {
        mutate::bytes(random, &mut body);
    }
    Lie { stage: Stage::Blob, reply: announced(random, Reply::new(200, body)) }
}

fn announced(random: &mut Random, reply: Reply) -> Reply {
    let announced = random.chance(0.2).then(|| *random.pick(&[0, 1, 1_000, u64::from(u32::MAX), u64::MAX / 2]));
    Reply { announced, ..reply }
}

fn referrers(random: &mut Random, registry: &str, written: &Written) -> Lie {
    let listed = |digest: Digest, size: usize, kind: &str| -> Value {
        json!({ "mediaType": media_type::MANIFEST, "digest": digest, "size": size, "artifactType": kind })
    };
    let attached = written.manifest(&written.attached.to_string()).len();
    let entry = listed(written.attached, attached, media_type::BUNDLE);
    let absent = listed(Digest::of(b"absent"), 9, media_type::BUNDLE);
    let other = listed(written.digest, 9, "application/vnd.example.sbom");
    let entries = vec![vec![entry, absent, other]; 1 + random.size(50)].concat();
    let index = json!({ "schemaVersion": 2, "mediaType": media_type::INDEX, "manifests": entries });
    let body = mutated(random, index.to_string().as_bytes(), documents::special);
    let mut reply = Reply::new(200, body);
    if random.chance(0.5) {
        let place = place(random, registry);
        reply = reply.header("link", [b"<".as_slice(), place.as_slice(), b">; rel=\"next\"".as_slice()].concat());
    }
    Lie { stage: Stage::Referrers, reply }
}

fn error(random: &mut Random) -> Lie {
    use Stage::{Blob, Login, Manifest, Referrers, Store, Token, Upload};
    let stage = *random.pick(&[Blob, Login, Manifest, Referrers, Store, Token, Upload]);
    let sample = *random.pick(ERRORS);
    let body = mutated(random, sample.as_bytes(), mutate::value);
    let mut reply = Reply::new(*random.pick(STATUSES), body);
    if random.chance(0.5) {
        let wait =
            *random.pick(&["0", "1", "60", "61", "-1", "1e3", "99999999999999999999", "Wed, 21 Oct 2026 07:28:00 GMT", ""]);
        reply = reply.header("retry-after", wait);
    }
    Lie { stage, reply }
}
