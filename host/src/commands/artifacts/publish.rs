//! `gyre push`, `gyre tag` and `gyre sign`: what is written to registries.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use gyre_core::object::GroupVersionKind;
use gyre_registry::manifest::Reconciler;
use gyre_registry::{Component, Reference, media_type};
use gyre_sandbox::Plugin;
use gyre_signatures::{SigningKey, sign};

use super::{explained, print_digest};
use crate::config::arguments::mounts::CodeCacheArguments;
use crate::config::arguments::registry::AccessArguments;
use crate::config::arguments::signatures::Annotation;
use crate::plugins::source::oci::{Error, Transfer, block_on, parse, say};
use crate::plugins::{open_component, read_file};

pub(crate) const PUSH_EXAMPLES: &str = "\
Examples:
  gyre push echo.wasm oci://registry.example.com/team/echo:1.4
  gyre push echo.wasm oci://registry.example.com/team/echo:1.4 --annotation source=https://git.example.com/team/echo --annotation licenses=Apache-2.0

Title, version and description are those of the plugin's manifest. The layout is that of the CNCF TAG Runtime: wkg, oras and other Wasm tools read it.
The output is the digest of the manifest in the registry; the same file and annotations have the same digest each time.
Credentials are those of docker: `docker login`, or --registry-credentials.";

pub(crate) const TAG_EXAMPLES: &str = "\
Examples:
  gyre tag oci://registry.example.com/team/echo:1.4 stable

The output is the digest of the manifest in the registry.";

pub(crate) const SIGN_EXAMPLES: &str = "\
Examples:
  gyre sign --key cosign.key oci://registry.example.com/team/echo:1.4
  gyre sign --key team.key --annotation env=production oci://registry.example.com/team/echo:1.4

cosign and `gyre verify` verify the signature: `cosign verify --key cosign.pub --insecure-ignore-tlog registry.example.com/team/echo:1.4`.
`cosign generate-key-pair` makes keys; the password of an encrypted one is read from the variable COSIGN_PASSWORD. Without cosign:
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out team.key
  openssl pkey -in team.key -pubout -out team.pub
The last line of the output is the digest of the manifest that was signed.";

/// The prefix of the names of usual annotations.
const OPEN_CONTAINERS: &str = "org.opencontainers.image.";
/// The annotations of a signature, for tools that select by them.
const BUNDLE_ANNOTATIONS: [(&str, &str); 2] = [
    ("dev.sigstore.bundle.content", "dsse-envelope"),
    ("dev.sigstore.bundle.predicateType", "https://sigstore.dev/cosign/sign/v1"),
];

#[derive(Debug, Args)]
pub(crate) struct PushArguments {
    /// Path of the plugin, a WebAssembly component (.wasm).
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The place in a registry: oci://HOST/REPOSITORY:TAG.
    #[arg(value_name = "REFERENCE", value_parser = parse)]
    reference: Reference,
    /// Annotation of the manifest, such as source, revision, created or licenses, which get the
    /// prefix org.opencontainers.image, or a name with a dot. Can be repeated.
    #[arg(long = "annotation", value_name = "NAME=VALUE")]
    annotations: Vec<Annotation>,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    code: CodeCacheArguments,
}

pub(crate) fn push(arguments: &PushArguments) -> anyhow::Result<()> {
    let PushArguments { file, reference, annotations, access, code } = arguments;
    let read = read_file(file)?;
    let plugins: Vec<Plugin> = open_component(&code.sandbox()?, &read)?.iter().collect();
    let Some(first) = plugins.first() else { bail!("{} has no reconciler", file.display()) };
    let manifest = first.manifest();
    let usual = [("title", &manifest.name), ("version", &manifest.version), ("description", &manifest.description)];
    let usual = usual.into_iter().filter(|(_, value)| !value.is_empty());
    let mut all: BTreeMap<String, String> =
        usual.map(|(name, value)| (format!("{OPEN_CONTAINERS}{name}"), value.clone())).collect();
    all.extend(annotations.iter().map(|Annotation { name, value }| {
        let name = if name.contains('.') { name.clone() } else { format!("{OPEN_CONTAINERS}{name}") };
        (name, value.clone())
    }));
    let bytes = read.bytes()?;
    let component = Component {
        bytes: &bytes,
        annotations: all,
        imports: first.imports().to_vec(),
        exports: vec![format!("gyre:plugin/reconciler@{}", first.contract())],
        reconcilers: plugins.iter().map(described).collect(),
    };
    let (store, transfer) = (access.store(), Transfer::new("pushing", reference));
    let digest = block_on(async { Ok::<_, Error>(store.registries()?.push(component, reference, &transfer).await?) });
    drop(transfer);
    print_digest(&digest.map_err(explained)?)
}

/// A reconciler, for the page of a registry.
fn described(plugin: &Plugin) -> Reconciler {
    let manifest = plugin.manifest();
    let kind = |kind: &GroupVersionKind| format!("{}/{}", kind.api_version(), kind.kind);
    Reconciler {
        name: manifest.name.clone(),
        parent: kind(manifest.users_kind()),
        children: manifest.children.iter().map(|child| kind(&child.kind)).collect(),
        reads: manifest.reads.iter().map(|read| kind(&read.kind)).collect(),
    }
}

#[derive(Debug, Args)]
pub(crate) struct TagArguments {
    /// The plugin in its registry: oci://HOST/REPOSITORY with a tag, a digest or both.
    #[arg(value_name = "REFERENCE", value_parser = parse)]
    reference: Reference,
    /// The tag to add, or to move here.
    #[arg(value_name = "TAG")]
    tag: String,
    #[command(flatten)]
    access: AccessArguments,
}

pub(crate) fn tag(arguments: &TagArguments) -> anyhow::Result<()> {
    let TagArguments { reference, tag, access } = arguments;
    let store = access.store();
    let digest = block_on(async { Ok::<_, Error>(store.registries()?.tag(reference, tag).await?) });
    print_digest(&digest.map_err(explained)?)
}

#[derive(Debug, Args)]
pub(crate) struct SignArguments {
    /// The plugin in its registry: oci://HOST/REPOSITORY with a tag, a digest or both.
    #[arg(value_name = "REFERENCE", value_parser = parse)]
    reference: Reference,
    /// Private key (PEM), of cosign or PKCS #8, e.g. of ECDSA with P-256.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Annotation to sign. Can be repeated.
    #[arg(long = "annotation", value_name = "NAME=VALUE")]
    annotations: Vec<Annotation>,
    #[command(flatten)]
    access: AccessArguments,
}

/// The variable with the password of a private key, as for cosign.
const PASSWORD: &str = "COSIGN_PASSWORD";

/// The most bytes of a private key. The largest, of RSA with 16,384 bits, has some 13 KB.
const LARGEST_KEY: u64 = 64 << 10;

/// Reads a private key from a file, or from a pipe such as that of a secret store.
fn read_key(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST_KEY + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_KEY {
        let message = format!("it is larger than {} KiB, so it is no private key", LARGEST_KEY >> 10);
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

pub(crate) fn sign_plugin(arguments: &SignArguments) -> anyhow::Result<()> {
    let SignArguments { reference, key, annotations, access } = arguments;
    let text = read_key(key).with_context(|| format!("cannot read the key {}; name another file with --key", key.display()))?;
    let password = std::env::var_os(PASSWORD).map(|password| password.into_encoded_bytes());
    let signing_key = SigningKey::from_pem(&text, password.as_deref()).map_err(|error| {
        let is_locked = matches!(error, sign::Error::PasswordRequired | sign::Error::Password);
        let place = if is_locked { format!(", in the variable {PASSWORD}") } else { String::new() };
        anyhow!("cannot use the key {}: {error}; {}{place}", key.display(), error.remedy())
    })?;
    let annotations = annotations.iter().map(|one| (one.name.clone(), one.value.clone())).collect();
    let store = access.store();
    // The bytes are hashed, so that no digest is signed that only the registry names.
    let (digest, _) = block_on(async { Ok::<_, Error>(store.registries()?.manifest(reference).await?) }).map_err(explained)?;
    if reference.digest().is_none() {
        let pinned = reference.clone().with_digest(digest);
        say(format_args!("a tag may be moved by others; to sign what you know, name its digest: {pinned}"));
    }
    let bundle = sign(&signing_key, &digest.to_string(), &annotations)
        .map_err(|error| anyhow!("cannot sign {digest}: {error}; {}", error.remedy()))?;
    let of_bundle: BTreeMap<String, String> =
        BUNDLE_ANNOTATIONS.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let attached = block_on(async {
        Ok::<_, Error>(store.registries()?.attach(reference, &digest, &bundle, media_type::BUNDLE, of_bundle).await?)
    });
    attached.map_err(explained)?;
    print_digest(&digest)
}
