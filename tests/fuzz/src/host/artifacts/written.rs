//! The content that gyre's own client writes to a registry: samples of what it reads.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gyre_registry::manifest::Reconciler;
use gyre_registry::{Component, Digest, Error, Reference, Registries, Silent, media_type};
use serde_json::json;

use super::exchange::{Exchange, REPOSITORY, Script};
use crate::outcome::Failure;

/// The component that is pushed.
pub(super) const COMPONENT: &[u8] = b"\0asm a component";
/// The tag of its manifest.
pub(super) const TAG: &str = "1.4";

const REGISTRY: &str = "registry.example.com";
const BUNDLE: &[u8] = include_bytes!("../../../../../host/signatures/tests/fixtures/gyre/bundle.json");
const PAYLOAD: &[u8] = include_bytes!("../../../../../host/signatures/tests/fixtures/cosign/simple.payload.json");
const ANNOTATION: &str = "dev.cosignproject.cosign/signature";

/// The content of a registry after a push, and with signatures in both forms.
pub(super) struct Written {
    /// By tag and by digest.
    pub(super) manifests: BTreeMap<String, Vec<u8>>,
    /// By digest.
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    /// The manifest of the component.
    pub(super) digest: Digest,
    /// The manifest of the signature of the component.
    pub(super) attached: Digest,
}

impl Written {
    /// Returns the manifest with this tag or digest, or no bytes if the registry has none.
    pub(super) fn manifest(&self, target: &str) -> &[u8] {
        self.manifests.get(target).map_or(&[], Vec::as_slice)
    }
}

/// Returns what one push and one signature leave in a registry.
pub(super) fn written() -> Result<&'static Written, Failure> {
    static WRITTEN: OnceLock<Result<Written, String>> = OnceLock::new();
    let written = WRITTEN.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(write()).map_err(|error| error.to_string())
    });
    written.as_ref().map_err(|error| Failure(error.clone()))
}

/// The component that cases push.
pub(super) fn component(bytes: &[u8]) -> Component<'_> {
    let annotations = [("org.opencontainers.image.title", "echo"), ("org.opencontainers.image.version", TAG)];
    Component {
        bytes,
        annotations: annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        imports: vec!["gyre:plugin/cluster@0.1.0".to_owned()],
        exports: vec!["gyre:plugin/reconciler@0.1.0".to_owned()],
        reconcilers: vec![Reconciler {
            name: "echo".to_owned(),
            parent: "example.com/v1/Echo".to_owned(),
            ..Reconciler::default()
        }],
    }
}

/// The annotations of what cases attach.
pub(super) fn annotations() -> BTreeMap<String, String> {
    BTreeMap::from([("org.opencontainers.image.created".to_owned(), "2026-11-28T00:00:00Z".to_owned())])
}

/// The bundle that cases attach.
pub(super) fn bundle() -> &'static [u8] {
    BUNDLE
}

async fn write() -> anyhow::Result<Written> {
    let exchange = Exchange::start(Script::new(REGISTRY)).await?;
    let registries = Registries::new(exchange.settings(&[REGISTRY], None))?;
    let reference: Reference = format!("oci://{REGISTRY}/{REPOSITORY}:{TAG}").parse()?;
    let (digest, attached) = push(&registries, &reference).await?;
    let (mut manifests, mut blobs) = exchange.with(|script| (script.manifests.clone(), script.blobs.clone()));
    // The older form, which cosign writes.
    let layer = json!({
        "mediaType": media_type::SIMPLE_SIGNING, "digest": Digest::of(PAYLOAD), "size": PAYLOAD.len(),
        "annotations": { ANNOTATION: "MEUCIA==" },
    });
    let config = json!({
        "mediaType": "application/vnd.oci.image.config.v1+json", "digest": Digest::of(b"{}"), "size": 2,
    });
    let older = json!({ "schemaVersion": 2, "mediaType": media_type::MANIFEST, "config": config, "layers": [layer] });
    manifests.insert(format!("sha256-{}.sig", digest.hex()), older.to_string().into_bytes());
    blobs.insert(Digest::of(PAYLOAD).to_string(), PAYLOAD.to_vec());
    Ok(Written { manifests, blobs, digest, attached })
}

async fn push(registries: &Registries, reference: &Reference) -> Result<(Digest, Digest), Error> {
    let digest = registries.push(component(COMPONENT), reference, &Silent).await?;
    let attached = registries.attach(reference, &digest, BUNDLE, media_type::BUNDLE, annotations()).await?;
    Ok((digest, attached))
}
