//! The other side of all connections of a client: a proxy for plain HTTP that is the registry, its
//! realm and its storage, and that lies where a case says so.
//!
//! It does not speak TLS. For a host with TLS, the client first asks the proxy for a tunnel. The
//! proxy refuses it, but the request names the host.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gyre_registry::manifest::Manifest;
use gyre_registry::{Digest, Environment, Settings, media_type};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The repository that each registry has.
pub(super) const REPOSITORY: &str = "team/echo";
/// The path of tokens at any realm.
pub(super) const TOKEN_PATH: &str = "/token";
/// The token that a registry accepts.
pub(super) const TOKEN: &str = "token-of-the-registry";
/// The name and the password that a registry accepts, in base64.
pub(super) const BASIC: &str = "bWU6cGFzc3dvcmQtb2YtdGhlLXJlZ2lzdHJ5";

/// The length of a second of `Retry-After` and of the validity of tokens, so that no case waits.
const SECOND: Duration = Duration::from_micros(10);

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) method: String,
    /// The host with its port, as the URL has it.
    pub(super) authority: String,
    /// The path with the query; empty for a tunnel.
    pub(super) path: String,
    /// The headers, with their names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_tunnel(&self) -> bool {
        self.method == "CONNECT"
    }
}

/// The purpose of a request, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The beginning of a connection with TLS.
    Tunnel,
    /// A request for a token.
    Token,
    /// A request to the registry without the authorization that it wants.
    Login,
    Manifest,
    Blob,
    /// The beginning of an upload.
    Upload,
    /// The end of an upload, or a manifest to keep.
    Store,
    Referrers,
    /// A request to any other host.
    Storage,
    /// Another request to the registry.
    Elsewhere,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    /// The length that it announces, if that is not the one of the body.
    pub(super) announced: Option<u64>,
}

impl Reply {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    /// Control characters of a value would end the header.
    pub(super) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        let plain = value.as_ref().iter().map(|byte| if byte.is_ascii_control() { b' ' } else { *byte });
        self.headers.push((name, plain.collect()));
        self
    }

    fn written(&self, method: &str) -> Vec<u8> {
        let has_body = method != "HEAD" && ![204, 304].contains(&self.status);
        let length = self.announced.unwrap_or(self.body.len() as u64);
        let mut bytes = format!("HTTP/1.1 {} -\r\nconnection: close\r\n", self.status).into_bytes();
        if self.status != 204 {
            bytes.extend(format!("content-length: {length}\r\n").bytes());
        }
        for (name, value) in &self.headers {
            bytes.extend(name.bytes().chain(*b": "));
            bytes.extend(value);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"\r\n");
        if has_body {
            bytes.extend(&self.body);
        }
        bytes
    }
}

/// An answer in place of the honest one, to all requests of a stage.
#[derive(Clone, Debug)]
pub(super) struct Lie {
    pub(super) stage: Stage,
    pub(super) reply: Reply,
}

/// How requests to the registry are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    Nothing,
    Basic,
    Token,
}

/// Whether the registry has the API of referrers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    Api,
    Tag,
}

/// The content of the registry, and what it answers.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// The host of the registry, with its port.
    pub(super) registry: String,
    pub(super) wants: Wants,
    pub(super) listing: Listing,
    /// By tag and by digest.
    pub(super) manifests: BTreeMap<String, Vec<u8>>,
    /// By digest.
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    pub(super) lies: Vec<Lie>,
    pub(super) seen: Vec<Seen>,
    /// The bodies of all answers.
    pub(super) sent: Vec<Vec<u8>>,
}

impl Script {
    pub(super) fn new(registry: &str) -> Self {
        Self {
            registry: registry.to_owned(),
            wants: Wants::Nothing,
            listing: Listing::Tag,
            manifests: BTreeMap::new(),
            blobs: BTreeMap::new(),
            lies: Vec::new(),
            seen: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// The realm that the registry names.
    pub(super) fn realm(&self) -> String {
        let is_name = self.registry.starts_with("registry.example.com");
        let host = if is_name { "auth.example.com" } else { self.registry.as_str() };
        format!("http://{host}{TOKEN_PATH}")
    }

    fn answer(&mut self, seen: Seen) -> Vec<u8> {
        let stage = self.stage(&seen);
        let lie = self.lies.iter().find(|lie| lie.stage == stage).map(|lie| lie.reply.clone());
        let reply = lie.unwrap_or_else(|| self.honest(stage, &seen));
        self.sent.push(reply.body.clone());
        let written = reply.written(&seen.method);
        self.seen.push(seen);
        written
    }

    fn stage(&self, seen: &Seen) -> Stage {
        let path = seen.path.split('?').next().unwrap_or_default();
        let place = path.strip_prefix("/v2/").and_then(|place| place.strip_prefix(REPOSITORY)?.strip_prefix('/'));
        let place = place.and_then(|place| place.split_once('/'));
        match place {
            _ if seen.is_tunnel() => Stage::Tunnel,
            _ if path == TOKEN_PATH => Stage::Token,
            _ if seen.authority != self.registry => Stage::Storage,
            _ if !self.accepts(seen) => Stage::Login,
            Some(("manifests", _)) if seen.method == "PUT" => Stage::Store,
            Some(("manifests", _)) => Stage::Manifest,
            Some(("blobs", _)) if seen.method == "POST" => Stage::Upload,
            Some(("blobs", _)) if seen.method == "PUT" => Stage::Store,
            Some(("blobs", _)) => Stage::Blob,
            Some(("referrers", _)) => Stage::Referrers,
            _ => Stage::Elsewhere,
        }
    }

    fn accepts(&self, seen: &Seen) -> bool {
        let sent = seen.header("authorization").unwrap_or_default();
        match self.wants {
            Wants::Nothing => true,
            Wants::Basic => sent.strip_prefix("Basic ") == Some(BASIC),
            Wants::Token => sent.strip_prefix("Bearer ") == Some(TOKEN),
        }
    }

    fn honest(&mut self, stage: Stage, seen: &Seen) -> Reply {
        let target = seen.path.split('?').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        match stage {
            Stage::Tunnel => Reply::new(403, ""),
            Stage::Token => Reply::new(200, json!({ "token": TOKEN, "expires_in": 300 }).to_string()),
            Stage::Login => {
                let challenge = match self.wants {
                    Wants::Token => format!("Bearer realm=\"{}\",service=\"test\"", self.realm()),
                    _ => "Basic realm=\"test\"".to_owned(),
                };
                Reply::new(401, "").header("www-authenticate", challenge)
            }
            Stage::Manifest => found(self.manifests.get(target)),
            Stage::Blob | Stage::Storage => found(self.blobs.get(target)),
            Stage::Upload => Reply::new(202, "").header("location", "/v2/team/echo/blobs/uploads/1?state=a%2Fb"),
            Stage::Store => self.store(target, seen),
            Stage::Referrers if self.listing == Listing::Api => Reply::new(200, self.referrers(target).to_string()),
            Stage::Referrers | Stage::Elsewhere => found(None),
        }
    }

    fn store(&mut self, target: &str, seen: &Seen) -> Reply {
        let digest = Digest::of(&seen.body).to_string();
        if seen.path.contains("/blobs/") {
            self.blobs.insert(digest, seen.body.clone());
            return Reply::new(201, "");
        }
        self.manifests.insert(digest, seen.body.clone());
        self.manifests.insert(target.to_owned(), seen.body.clone());
        match self.listing {
            Listing::Api => Reply::new(201, "").header("oci-subject", "listed"),
            Listing::Tag => Reply::new(201, ""),
        }
    }

    /// The list of manifests about another one.
    fn referrers(&self, subject: &str) -> Value {
        let mut listed = Vec::new();
        for (target, bytes) in &self.manifests {
            let Ok(manifest) = Manifest::parse(bytes) else { continue };
            let is_about_it = manifest.subject.is_some_and(|found| found.digest.to_string() == subject);
            if is_about_it && target.starts_with("sha256:") {
                let (size, artifact_type) = (bytes.len(), manifest.artifact_type);
                let media_type = media_type::MANIFEST;
                listed.push(json!({
                    "mediaType": media_type, "digest": target, "size": size, "artifactType": artifact_type,
                }));
            }
        }
        json!({ "schemaVersion": 2, "mediaType": media_type::INDEX, "manifests": listed })
    }
}

fn found(bytes: Option<&Vec<u8>>) -> Reply {
    match bytes {
        Some(bytes) => Reply::new(200, bytes.clone()).header("docker-content-digest", Digest::of(bytes).to_string()),
        None => Reply::new(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#),
    }
}

/// The server, which ends with this value.
pub(super) struct Exchange {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    task: JoinHandle<()>,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Exchange {
    pub(super) async fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let script = Arc::new(Mutex::new(script));
        let task = tokio::spawn(accept(listener, Arc::clone(&script)));
        Ok(Self { address, script, task })
    }

    /// Reads or changes the script.
    pub(super) fn with<T>(&self, use_script: impl FnOnce(&mut Script) -> T) -> T {
        use_script(&mut self.script.lock())
    }

    /// Settings by which all requests come here.
    pub(super) fn settings(&self, insecure: &[&str], credentials: Option<PathBuf>) -> Settings {
        let proxy = format!("http://{}", self.address);
        let environment = Environment { http_proxy: proxy.clone(), https_proxy: proxy, ..Environment::default() };
        let insecure = insecure.iter().map(|host| (*host).to_owned()).collect();
        Settings { credentials, insecure, environment, second: SECOND, ..Settings::default() }
    }
}

async fn accept(listener: TcpListener, script: Arc<Mutex<Script>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let script = Arc::clone(&script);
        tokio::spawn(async move { drop(serve(stream, &script).await) });
    }
}

/// Answers one request: no request then depends on the answer before it.
async fn serve(stream: TcpStream, script: &Mutex<Script>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let Some(seen) = read_request(&mut stream).await? else { return Ok(()) };
    let written = script.lock().answer(seen);
    stream.write_all(&written).await?;
    stream.shutdown().await
}

/// Reads a request; `None` if the connection ends before it.
async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Seen>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default());
    let place = target.strip_prefix("http://").unwrap_or(target);
    let (authority, path) = place.split_at(place.find(['/', '?']).unwrap_or(place.len()));
    let (authority, path) = (authority.to_owned(), path.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        // The empty line after the headers.
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut seen = Seen { method, authority, path, headers, body: Vec::new() };
    let length = seen.header("content-length").and_then(|length| length.parse::<usize>().ok()).unwrap_or(0);
    seen.body = vec![0; length];
    stream.read_exact(&mut seen.body).await?;
    Ok(Some(seen))
}
