//! A client of a registry that lies: in challenges, tokens, places, manifests, lists and errors.
//!
//! The client has credentials for this registry and for others. The laws are about its requests
//! (where they go, and with which secrets), its results, and its errors. Without the lies, the same
//! client then succeeds.

mod lies;

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_core::text::error_chain;
use gyre_devcluster::random::Random;
use gyre_registry::manifest::{Manifest, WasmConfig};
use gyre_registry::{
    Cache, Digest, Error, FoundSignature, Pulled, Reference, Registries, SignatureKind, Silent, bounds, media_type,
};
use serde_json::{Value, json};

use super::check_message;
use super::exchange::{BASIC, Exchange, Lie, Listing, REPOSITORY, Script, Seen, TOKEN, Wants};
use super::written::{self, TAG, written};
use crate::mutate::Draw as _;
use crate::outcome::{Failure, Log, Tally, count, law, shown};

/// The registries: a name, and addresses of the Internet and of a private network.
const REGISTRIES: &[&str] =
    &["registry.example.com", "registry.example.com:5000", "8.8.4.4:5000", "10.1.2.3:5000", "[2001:4860:4860::8888]:5000"];
/// The other hosts that may be without TLS.
const INSECURE: &[&str] = &["auth.example.com", "auth.example.org", "storage.example.com", "10.9.9.9:5000"];

const PASSWORD: &str = "password-of-the-registry";
const IDENTITY: &str = "identity-of-the-registry";
/// The password of all other entries.
const OTHER: &str = "password-of-another";

/// More requests than any operation needs with all repetitions.
const MOST_REQUESTS: usize = 1_000;

/// The credentials that the client has for the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Absent,
    Password,
    Identity,
    Token,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Resolve,
    Config,
    Pull,
    Signatures,
    Push,
    Attach,
    Tag,
}

struct Case {
    registry: &'static str,
    wants: Wants,
    entry: Entry,
    listing: Listing,
    operation: Operation,
    reference: Reference,
    lies: Vec<Lie>,
}

/// The result of an operation, as far as laws are about it.
enum Done {
    Resolved(Digest),
    Manifest { digest: Digest, manifest: Box<Manifest>, config: Option<Box<WasmConfig>> },
    Pulled(Pulled),
    Found(Vec<FoundSignature>),
    Pushed(Digest),
    Attached,
}

pub(super) fn run(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    let case = draw(random)?;
    log.step(&|| case.described());
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    let checked = runtime.block_on(case.check(folder.path(), tally));
    checked.map_err(|failure| Failure(format!("{failure}\n  {}", case.described())))
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure(error.to_string())
}

fn draw(random: &mut Random) -> Result<Case, Failure> {
    use Operation::{Attach, Config, Pull, Push, Resolve, Signatures, Tag};
    let written = written()?;
    let registry = *random.pick(REGISTRIES);
    let (wants, entry) = match random.below(6) {
        0 => (Wants::Nothing, Entry::Password),
        1 => (Wants::Basic, Entry::Password),
        2 => (Wants::Token, Entry::Absent),
        3 => (Wants::Token, Entry::Identity),
        4 => (Wants::Token, Entry::Token),
        _ => (Wants::Token, Entry::Password),
    };
    let text = format!("oci://{registry}/{REPOSITORY}:{TAG}");
    let reference = text.parse::<Reference>().map_err(|error| failed(&error))?;
    let reference = if random.chance(0.2) { reference.with_digest(written.digest) } else { reference };
    let lies = lies::draw(random, registry, written);
    let listing = *random.pick(&[Listing::Api, Listing::Tag]);
    let operation = *random.pick(&[Resolve, Config, Pull, Pull, Signatures, Signatures, Push, Attach, Tag]);
    Ok(Case { registry, wants, entry, listing, operation, reference, lies })
}

impl Case {
    fn described(&self) -> String {
        let Self { wants, entry, listing, operation, reference, lies, .. } = self;
        let lies: Vec<String> = lies.iter().map(lies::described).collect();
        format!("{operation:?} {reference}, wants {wants:?}, has {entry:?}, {listing:?}\n  {}", lies.join("\n  "))
    }

    async fn check(&self, folder: &Path, tally: &mut Tally) -> Result<(), Failure> {
        let written = written()?;
        let script = Script {
            wants: self.wants,
            listing: self.listing,
            manifests: written.manifests.clone(),
            blobs: written.blobs.clone(),
            lies: self.lies.clone(),
            ..Script::new(self.registry)
        };
        let exchange = Exchange::start(script).await.map_err(|error| failed(&error))?;
        let credentials = folder.join("config.json");
        fs::write(&credentials, self.config().to_string()).map_err(|error| failed(&error))?;
        let insecure: Vec<&str> = INSECURE.iter().copied().chain([self.registry]).collect();
        let registries = Registries::new(exchange.settings(&insecure, Some(credentials))).map_err(|error| failed(&error))?;
        let cache = Cache::open(&folder.join("plugins"), 1 << 30).map_err(|error| failed(&error))?;
        let result = self.operate(&registries, &cache).await;
        self.check_requests(&exchange)?;
        match &result {
            Ok(done) => {
                count(tally, "done");
                self.check_done(&exchange, &cache, done)?;
            }
            Err(error) => {
                count(tally, "failed");
                self.check_error(error)?;
            }
        }
        exchange.with(|script| script.lies.clear());
        let again = self.operate(&registries, &cache).await;
        self.check_requests(&exchange)?;
        let done = again.map_err(|error| Failure(format!("it does not recover: {}", error_chain(&error))))?;
        self.check_done(&exchange, &cache, &done)?;
        count(tally, "recovered-client");
        Ok(())
    }

    /// The `config.json` of the client.
    fn config(&self) -> Value {
        let password = |word: &str| json!({ "auth": STANDARD.encode(format!("me:{word}")) });
        let mut auths = json!({ "other.example.com": password(OTHER), "example.com": password(OTHER) });
        for host in INSECURE {
            auths[host] = password(OTHER);
        }
        match self.entry {
            Entry::Absent => {}
            Entry::Password => auths[self.registry] = password(PASSWORD),
            Entry::Identity => auths[self.registry] = json!({ "identitytoken": IDENTITY }),
            Entry::Token => auths[self.registry] = json!({ "registrytoken": TOKEN }),
        }
        json!({ "auths": auths })
    }

    async fn operate(&self, registries: &Registries, cache: &Cache) -> Result<Done, Error> {
        let reference = &self.reference;
        match self.operation {
            Operation::Resolve => Ok(Done::Resolved(registries.resolve(reference).await?)),
            Operation::Config => {
                let (digest, manifest) = registries.manifest(reference).await?;
                let config = registries.config(reference, &manifest).await?.map(Box::new);
                Ok(Done::Manifest { digest, manifest: Box::new(manifest), config })
            }
            Operation::Pull => Ok(Done::Pulled(registries.pull(reference, cache, &Silent).await?)),
            Operation::Signatures => {
                let digest = registries.resolve(reference).await?;
                Ok(Done::Found(registries.signatures(reference, &digest).await?))
            }
            Operation::Push => {
                // Another component, so that it is uploaded.
                let component = written::component(b"\0asm another component");
                let new = reference.clone().with_tag("new")?;
                Ok(Done::Pushed(registries.push(component, &new, &Silent).await?))
            }
            Operation::Attach => {
                let digest = registries.resolve(reference).await?;
                let (bundle, kind) = (written::bundle(), media_type::BUNDLE);
                registries.attach(reference, &digest, bundle, kind, written::annotations()).await?;
                Ok(Done::Attached)
            }
            Operation::Tag => Ok(Done::Resolved(registries.tag(reference, "other").await?)),
        }
    }

    /// Checks where requests went, and what they brought along.
    fn check_requests(&self, exchange: &Exchange) -> Result<(), Failure> {
        let seen = exchange.with(|script| std::mem::take(&mut script.seen));
        law(seen.len() <= MOST_REQUESTS, || format!("{} requests", seen.len()))?;
        for seen in &seen {
            let checked = self.check_place(seen).and_then(|()| self.check_secrets(seen)).and_then(|()| self.check_scope(seen));
            checked.map_err(|failure| Failure(format!("{failure}: {seen:?}")))?;
        }
        Ok(())
    }

    fn check_place(&self, seen: &Seen) -> Result<(), Failure> {
        let host = host_of(&seen.authority);
        law(!host.is_empty() && !seen.authority.contains('@'), || "it goes to no host".to_owned())?;
        if self.is_to_registry(seen) {
            return Ok(());
        }
        let has_tls = seen.is_tunnel() || INSECURE.contains(&seen.authority.as_str());
        law(has_tls, || "it goes to a host without TLS".to_owned())?;
        let is_private = self.registry.starts_with("10.");
        let is_local = host == "localhost" || host.ends_with(".localhost");
        let is_refused = host.parse::<IpAddr>().is_ok_and(|address| is_refused(address, is_private));
        law(!is_local && !is_refused, || "it goes to a network that is more local than the registry's".to_owned())
    }

    fn is_to_registry(&self, seen: &Seen) -> bool {
        seen.authority == self.registry && !seen.is_tunnel()
    }

    fn check_secrets(&self, seen: &Seen) -> Result<(), Failure> {
        let Seen { path, headers, body, .. } = seen;
        let whole = format!("{path} {headers:?} {}", String::from_utf8_lossy(body));
        let has = |secret: &str| whole.contains(secret);
        let is_to_registry = self.is_to_registry(seen);
        // A storage of the same site gets nothing.
        let is_to_realm = has("client_id=gyre") && !seen.is_tunnel() && self.is_of_site(host_of(&seen.authority));
        let other = STANDARD.encode(format!("me:{OTHER}"));
        law(!has(OTHER) && !has(&other), || "it has the credentials of another registry".to_owned())?;
        law(!has(TOKEN) || is_to_registry, || "it takes a token elsewhere".to_owned())?;
        let has_own = [PASSWORD, IDENTITY, BASIC].into_iter().any(has);
        law(!has_own || is_to_registry || is_to_realm, || "it takes credentials elsewhere".to_owned())?;
        let authorization = seen.header("authorization");
        let is_right = match authorization {
            None => true,
            Some(value) => is_to_registry || is_to_realm && value == format!("Basic {BASIC}"),
        };
        law(is_right, || "it has an authorization".to_owned())?;
        law(authorization.is_none() || !path.starts_with(lies::BACK), || "it has an authorization again".to_owned())
    }

    /// Returns whether a realm at this host may get the password of the registry.
    fn is_of_site(&self, host: &str) -> bool {
        let registry = host_of(self.registry);
        let is_name = registry.ends_with(".example.com");
        host == registry || is_name && (host == "example.com" || host.ends_with(".example.com"))
    }

    /// Checks that a token is asked for this repository only.
    fn check_scope(&self, seen: &Seen) -> Result<(), Failure> {
        let query = match (seen.method.as_str(), seen.path.split_once('?')) {
            ("POST", _) => String::from_utf8_lossy(&seen.body).into_owned(),
            (_, Some((_, query))) => query.to_owned(),
            _ => return Ok(()),
        };
        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let values = |name: &str| {
            let named = pairs.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
            named.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
        };
        // The last one is the client's own.
        if values("client_id").last() != Some(&"gyre") {
            return Ok(());
        }
        let scope = values("scope");
        let is_right = matches!(scope.as_slice(), ["repository:team/echo:pull" | "repository:team/echo:pull,push"]);
        law(is_right && values("service").len() <= 1 && values("account").is_empty(), || format!("it asks for {pairs:?}"))
    }

    fn check_done(&self, exchange: &Exchange, cache: &Cache, done: &Done) -> Result<(), Failure> {
        let pinned = self.reference.digest();
        match done {
            Done::Resolved(digest) => law(pinned.is_none_or(|pinned| pinned == digest), || format!("it is {digest}")),
            Done::Manifest { digest, manifest, config } => {
                law(pinned.is_none_or(|pinned| pinned == digest), || format!("it is {digest}"))?;
                let layers: Vec<Digest> = manifest.layers.iter().map(|layer| layer.digest).collect();
                let is_right = config.as_ref().is_none_or(|config| config.layer_digests == layers);
                law(is_right, || format!("{manifest:?} has the config {config:?}"))?;
                let is_sent = |bytes: &Vec<u8>| {
                    Digest::of(bytes) == *digest && Manifest::parse(bytes).is_ok_and(|sent| sent == **manifest)
                };
                let was_sent = exchange.with(|script| script.sent.iter().any(is_sent));
                law(was_sent, || format!("{digest} is not the digest of {manifest:?}"))
            }
            Done::Pulled(pulled) => {
                law(pinned.is_none_or(|pinned| *pinned == pulled.manifest), || format!("it is {}", pulled.manifest))?;
                let bytes = fs::read(&pulled.path).map_err(|error| failed(&error))?;
                let manifest = cache.manifest(&pulled.manifest);
                let layer = manifest.as_ref().and_then(|manifest| manifest.component().ok());
                let is_right = layer.is_some_and(|layer| {
                    (layer.digest, layer.size) == (pulled.component, bytes.len() as u64)
                        && Digest::of(&bytes) == pulled.component
                });
                law(is_right, || format!("{} bytes of {pulled:?} by {manifest:?}", bytes.len()))
            }
            Done::Found(found) => check_found(found),
            Done::Pushed(digest) => {
                let expected = written::component(b"\0asm another component").digest().map_err(|error| failed(&error))?;
                law(*digest == expected, || format!("{digest} is pushed instead of {expected}"))
            }
            Done::Attached => Ok(()),
        }
    }

    fn check_error(&self, error: &Error) -> Result<(), Failure> {
        check_message(error, error.remedy())?;
        let text = format!("{} {error:?}", error_chain(error));
        let secret = [PASSWORD, IDENTITY, OTHER, TOKEN, BASIC].into_iter().find(|secret| text.contains(*secret));
        law(secret.is_none(), || format!("an error shows {secret:?}: {}", shown(&text)))
    }
}

fn check_found(found: &[FoundSignature]) -> Result<(), Failure> {
    law(found.len() <= bounds::REFERRERS, || format!("{} signatures", found.len()))?;
    let bytes: u64 = found.iter().map(|found| found.bytes.len() as u64).sum();
    law(bytes <= bounds::SIGNATURES, || format!("{bytes} bytes of signatures"))?;
    for (index, one) in found.iter().enumerate() {
        let is_listed = one.kind == SignatureKind::Bundle || one.digest == Digest::of(&one.bytes);
        law(is_listed && one.bytes.len() as u64 <= bounds::SIGNATURE, || format!("{one:?} is found"))?;
        law(!found[..index].contains(one), || format!("{one:?} is found twice"))?;
    }
    Ok(())
}

/// The host of an authority, without the port and without brackets.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Returns whether a registry on the Internet or in a private network must not lead to an address.
fn is_refused(address: IpAddr, is_private: bool) -> bool {
    match address {
        IpAddr::V4(address) => is_refused_v4(address, is_private),
        IpAddr::V6(address) => match address.to_ipv4() {
            // Mapped and compatible addresses, without `::` and `::1`.
            Some(inner) if address.segments()[6] != 0 => is_refused_v4(inner, is_private),
            _ => is_refused_v6(address, is_private),
        },
    }
}

fn is_refused_v4(address: Ipv4Addr, is_private: bool) -> bool {
    let [first, second, ..] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    let is_never = first == 0 || first >= 224 || address.is_loopback() || address.is_link_local();
    is_never || !is_private && (address.is_private() || is_shared)
}

fn is_refused_v6(address: Ipv6Addr, is_private: bool) -> bool {
    let is_never = address.is_loopback() || address.is_unspecified() || address.is_multicast();
    is_never || address.is_unicast_link_local() || !is_private && address.is_unique_local()
}
