//! The media types of what gyre reads and writes.

/// A manifest of one artifact.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// A list of manifests, as the answer about referrers is.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The config of a Wasm artifact, by the layout of the CNCF's TAG Runtime.
pub const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The component of a Wasm artifact.
pub const WASM: &str = "application/wasm";
/// The config of an artifact that needs none; its content is `{}`.
pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// A Sigstore bundle, as cosign attaches it by default.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The beginning of the media types of all versions of Sigstore bundles.
pub(crate) const BUNDLES: &str = "application/vnd.dev.sigstore.bundle";
/// The payload of a signature in the older form of cosign.
pub const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The beginning of the media types of layers of container images.
pub(crate) const IMAGE_LAYERS: [&str; 2] = ["application/vnd.oci.image.layer.", "application/vnd.docker.image.rootfs."];
