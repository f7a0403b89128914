//! An OCI registry in memory whose failures a test controls. The program is in `tests/registry`.
//!
//! It listens on 127.0.0.1, on a port outside the range of outgoing connections, so that it gets
//! the port again after it was down.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::certificates::{Authority, signing_key};
use crate::error::Error;
use crate::go::{self, Cache};
use crate::guard::Guarded;
use crate::ports;

/// The name of the program for progress and errors.
const WHAT: &str = "the registry for tests";
/// The files of the Go module. Compiled in, so that the key of the cache matches what is built.
const FILES: [(&str, &str); 6] = [
    ("go.mod", include_str!("../../registry/go.mod")),
    ("go.sum", include_str!("../../registry/go.sum")),
    ("main.go", include_str!("../../registry/main.go")),
    ("control.go", include_str!("../../registry/control.go")),
    ("faults.go", include_str!("../../registry/faults.go")),
    ("gate.go", include_str!("../../registry/gate.go")),
];
const PROGRAM: &str = "registry";

/// The only user.
const USER: &str = "gyre";
const PASSWORD: &str = "correct-horse";
/// `gyre:correct-horse` in base64, as Docker writes it.
const ENCODED: &str = "Z3lyZTpjb3JyZWN0LWhvcnNl";

/// The maximum number of ports to try, because other processes may take a port first.
const PORT_ATTEMPTS: usize = 5;
/// It starts in milliseconds. This is for the busiest machine.
const START_TIMEOUT: Duration = Duration::from_secs(90);
/// It has nothing to finish.
const GRACE: Duration = Duration::from_secs(1);

/// The protocol of the registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// HTTPS, with a certificate of an authority of its own.
    #[default]
    Tls,
    /// HTTP.
    Plain,
}

/// The credentials for which the registry asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    /// None.
    #[default]
    None,
    /// Name and password with each request.
    Basic,
    /// A token for each repository, which the registry gives for name and password.
    Bearer,
    /// As [`Authentication::Bearer`], where tokens for pulling need no password.
    BearerToPush,
}

/// Selects whether the registry has the referrers API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Referrers {
    /// It has.
    #[default]
    Served,
    /// It has not, as most registries before version 1.1 of the specification.
    Absent,
}

/// The options of a registry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The protocol.
    pub transport: Transport,
    /// The credentials for which it asks.
    pub authentication: Authentication,
    /// Selects whether it has the referrers API.
    pub referrers: Referrers,
}

/// A request in the log of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `registry`, or `elsewhere`: the other server.
    pub server: String,
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The scheme of the header `Authorization`; empty without the header.
    pub authorization: String,
    /// The header `User-Agent`.
    pub user_agent: String,
    /// The status of the answer; 0 if there is none yet.
    pub status: u64,
}

impl Request {
    /// Returns whether the request reads the content of a blob.
    pub fn reads_blob(&self) -> bool {
        self.method == "GET" && self.path.contains("/blobs/")
    }
}

/// A running registry. It is stopped and its content is gone when the value is dropped or this
/// process ends.
#[derive(Debug)]
pub struct Registry {
    // Before the folder, in which its log is.
    process: Guarded,
    folder: tempfile::TempDir,
    address: String,
    elsewhere: String,
    control: String,
    options: Options,
}

/// Returns the program, built with Go if needed: seconds when Go's own cache is cold.
///
/// # Errors
///
/// There is no Go, or the build fails.
pub fn program(progress: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let module: String = FILES.iter().map(|(name, text)| format!("{name}\0{text}\0")).collect();
    let key = go::short_digest(&format!("{module}{}\0{}", std::env::consts::OS, std::env::consts::ARCH));
    let cache = Cache::of_user("registry", &key)?;
    cache.fill(WHAT, progress, |folder, progress| {
        go::write_module(folder, &FILES)?;
        let version = go::version(folder, WHAT)?;
        progress(&format!("building {WHAT} with {version} in {}", folder.display()));
        go::build(folder, PROGRAM, ".", &["-ldflags", "-s -w"])
    })?;
    Ok(cache.folder.join(PROGRAM))
}

impl Registry {
    /// Starts a registry, and waits until it listens.
    ///
    /// # Errors
    ///
    /// It ends before, with the end of its log.
    pub fn start(program: &Path, options: Options) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("gyre-registry-").tempdir().context("no temporary folder")?;
        let authority = Authority::new(folder.path())?;
        let pair = authority.serving("registry", &["localhost", "127.0.0.1"])?;
        for attempt in 0..PORT_ATTEMPTS {
            let address = format!("127.0.0.1:{}", ports::free_port()?);
            let mut command = Command::new(program);
            command.args(["-address", &address, "-user", USER, "-password", PASSWORD]);
            command.args(["-authentication", options.authentication.name()]);
            if options.authentication == Authentication::BearerToPush {
                command.arg("-anonymous-pull");
            }
            command.arg(format!("-referrers={}", options.referrers == Referrers::Served));
            if options.transport == Transport::Tls {
                command.arg("-certificate").arg(&pair.certificate).arg("-key").arg(&pair.key);
            }
            let log = folder.path().join(format!("registry-{attempt}.log"));
            let mut process = Guarded::spawn(PROGRAM, &command, &log, GRACE)?;
            if let Some(addresses) = addresses(&mut process)? {
                let address_of = |server: &str| {
                    addresses.get(server).and_then(Value::as_str).map(str::to_owned).context("an address is missing")
                };
                let (elsewhere, control) = (address_of("elsewhere")?, address_of("control")?);
                let registry = Self { process, folder, address, elsewhere, control, options };
                registry.write_docker_config()?;
                return Ok(registry);
            }
        }
        bail!("each of {PORT_ATTEMPTS} ports was taken by somebody else before the registry could bind it")
    }

    /// Its host and port, as in references.
    pub fn host(&self) -> &str {
        &self.address
    }

    /// The options with which it was started.
    pub fn options(&self) -> Options {
        self.options
    }

    /// A reference to its content, e.g. of `team/echo:1.4`.
    pub fn reference(&self, name: &str) -> String {
        format!("oci://{}/{name}", self.address)
    }

    /// The certificate of the authority that issued its own one.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// A `config.json` of Docker with the credentials.
    pub fn docker_config(&self) -> PathBuf {
        self.folder.path().join("docker/config.json")
    }

    /// Makes a pair of keys for signatures (ECDSA with P-256), and returns the files of the private
    /// and of the public one, in PEM.
    pub fn new_keys(&self, name: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
        signing_key(self.folder.path(), name)
    }

    /// The URL of any blob on another server, for the fault `redirectBlobs`. The server has another
    /// name and another port.
    pub fn blobs_elsewhere(&self) -> String {
        let scheme = match self.options.transport {
            Transport::Tls => "https",
            Transport::Plain => "http",
        };
        let port = self.elsewhere.rsplit_once(':').map_or("", |(_, port)| port);
        format!("{scheme}://localhost:{port}/blobs/{{digest}}")
    }

    /// Makes the registry fail in the ways of `tests/registry/faults.go`, and in no others.
    ///
    /// # Errors
    ///
    /// It knows none of this name.
    pub fn fail(&self, faults: &Value) -> anyhow::Result<()> {
        self.control("PUT", "/faults", "application/json", faults.to_string().as_bytes()).map(drop)
    }

    /// Ends all failures.
    pub fn work(&self) -> anyhow::Result<()> {
        self.fail(&json!({}))
    }

    /// Makes all tokens invalid that were given out.
    pub fn expire_tokens(&self) -> anyhow::Result<()> {
        self.control("POST", "/expire", "", &[]).map(drop)
    }

    /// Closes the registry: connections break and are refused.
    pub fn go_down(&self) -> anyhow::Result<()> {
        self.control("POST", "/down", "", &[]).map(drop)
    }

    /// Opens the registry again, with the same content.
    pub fn come_up(&self) -> anyhow::Result<()> {
        self.control("POST", "/up", "", &[]).map(drop)
    }

    /// The requests since the start or the last [`Registry::forget_requests`], in their order.
    pub fn requests(&self) -> anyhow::Result<Vec<Request>> {
        let requests: Value = serde_json::from_slice(&self.control("GET", "/requests", "", &[])?)?;
        let text = |request: &Value, key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let request = |request: &Value| Request {
            server: text(request, "server"),
            method: text(request, "method"),
            path: text(request, "path"),
            query: text(request, "query"),
            authorization: text(request, "authorization"),
            user_agent: text(request, "userAgent"),
            status: request.get("status").and_then(Value::as_u64).unwrap_or_default(),
        };
        Ok(requests.as_array().context("no list of requests")?.iter().map(request).collect())
    }

    /// Empties the log of requests.
    pub fn forget_requests(&self) -> anyhow::Result<()> {
        self.control("DELETE", "/requests", "", &[]).map(drop)
    }

    /// Returns a manifest by tag or digest, past authentication and faults.
    ///
    /// # Errors
    ///
    /// Also if there is none.
    pub fn manifest(&self, repository: &str, reference: &str) -> anyhow::Result<Value> {
        let bytes = self.control("GET", &format!("/raw/v2/{repository}/manifests/{reference}"), "", &[])?;
        serde_json::from_slice(&bytes).context("the manifest is no JSON")
    }

    /// Puts a manifest there, as it is, past authentication and faults. Returns its digest.
    pub fn put_manifest(&self, repository: &str, tag: &str, manifest: &Value) -> anyhow::Result<String> {
        let media_type = manifest.get("mediaType").and_then(Value::as_str).context("a manifest without a media type")?;
        let text = manifest.to_string();
        self.control("PUT", &format!("/raw/v2/{repository}/manifests/{tag}"), media_type, text.as_bytes())?;
        Ok(digest(text.as_bytes()))
    }

    /// Returns the manifests that are about this one, e.g. its signatures, past authentication and
    /// faults.
    ///
    /// # Errors
    ///
    /// Also if the registry does not have the referrers API.
    pub fn referrers(&self, repository: &str, digest: &str) -> anyhow::Result<Vec<Value>> {
        let bytes = self.control("GET", &format!("/raw/v2/{repository}/referrers/{digest}"), "", &[])?;
        let index: Value = serde_json::from_slice(&bytes).context("the index is no JSON")?;
        let listed = index.get("manifests").and_then(Value::as_array).context("no manifests")?;
        let manifest = |listed: &Value| {
            let digest = listed.get("digest").and_then(Value::as_str).context("no digest")?;
            self.manifest(repository, digest)
        };
        listed.iter().map(manifest).collect()
    }

    /// Returns a blob, past authentication and faults.
    pub fn blob(&self, repository: &str, digest: &str) -> anyhow::Result<Vec<u8>> {
        self.control("GET", &format!("/raw/v2/{repository}/blobs/{digest}"), "", &[])
    }

    /// Puts a blob there, past authentication and faults. Returns its digest.
    pub fn put_blob(&self, repository: &str, content: &[u8]) -> anyhow::Result<String> {
        let digest = digest(content);
        let path = format!("/raw/v2/{repository}/blobs/uploads/?digest={digest}");
        self.control("POST", &path, "application/octet-stream", content)?;
        Ok(digest)
    }

    fn write_docker_config(&self) -> anyhow::Result<()> {
        let path = self.docker_config();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let config = json!({ "auths": { self.address.as_str(): { "auth": ENCODED } } });
        std::fs::write(path, config.to_string()).context("cannot write the credentials")
    }

    /// Sends a request to the control server, and returns the body of the answer.
    fn control(&self, method: &str, path: &str, media_type: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let what = || format!("{method} {path}; the end of the registry's log: {}", self.process.log_tail());
        let mut stream = TcpStream::connect(&self.control).with_context(what)?;
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: control\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).with_context(what)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).with_context(what)?;
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").with_context(what)?;
        let body = answer.split_off(end + 4);
        let head = String::from_utf8_lossy(&answer);
        let is_success = head.split(' ').nth(1).is_some_and(|status| status.starts_with('2'));
        ensure!(is_success, "{method} {path}: {head}{}", String::from_utf8_lossy(&body));
        Ok(body)
    }
}

impl Authentication {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "basic",
            Self::Bearer | Self::BearerToPush => "bearer",
        }
    }
}

/// Waits until the registry has printed its addresses. Returns `None` if its port was taken.
fn addresses(process: &mut Guarded) -> anyhow::Result<Option<Value>> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        let log = std::fs::read_to_string(process.log()).unwrap_or_default();
        let mut printed = log.lines().filter(|line| line.starts_with('{') && line.ends_with('}'));
        if let Some(addresses) = printed.find_map(|line| serde_json::from_str(line).ok()) {
            return Ok(Some(addresses));
        }
        if let Some(status) = process.exited()? {
            ensure!(ports::reports_port_taken(&log), "the registry ended ({status}): {log}");
            return Ok(None);
        }
        ensure!(Instant::now() < deadline, "the registry did not start within {START_TIMEOUT:?}: {log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The digest of a manifest or a blob, as registries write it.
pub fn digest(content: &[u8]) -> String {
    use std::fmt::Write as _;

    let mut digest = "sha256:".to_owned();
    for byte in Sha256::digest(content).iter() {
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}
