//! Pushing a component with its config and its manifest.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::Registries;
use crate::bounds;
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{self, Descriptor, Interface, Manifest, Reconciler, WasmConfig};
use crate::media_type;
use crate::progress::Progress;
use crate::reference::Reference;

const CREATED: &str = "org.opencontainers.image.created";
const TITLE: &str = "org.opencontainers.image.title";

/// A component to push, with what its manifest and config say about it.
#[derive(Clone, Debug, Default)]
pub struct Component<'a> {
    /// The bytes of the component.
    pub bytes: &'a [u8],
    /// The annotations of the manifest, e.g. `org.opencontainers.image.title`. Its `created` is the
    /// time in the config, too; without it, the same component has the same digest each time.
    pub annotations: BTreeMap<String, String>,
    /// The names of what the component imports.
    pub imports: Vec<String>,
    /// The names of what the component exports.
    pub exports: Vec<String>,
    /// The kinds of its reconcilers.
    pub reconcilers: Vec<Reconciler>,
}

/// The blobs and the manifest of a component.
struct Artifact {
    layer: Descriptor,
    config: (Descriptor, Vec<u8>),
    manifest: Vec<u8>,
}

impl Artifact {
    fn new(component: &Component<'_>) -> Result<Self, manifest::Error> {
        let Component { bytes, annotations, imports, exports, reconcilers } = component;
        let mut layer = Descriptor::of(bytes, media_type::WASM);
        // oras gives the file this name.
        let title = annotations.get(TITLE).map_or("component", String::as_str);
        layer.annotations.insert(TITLE.to_owned(), format!("{}.wasm", file_name(title)));
        let interface = Interface { exports: exports.clone(), imports: imports.clone() };
        let created = annotations.get(CREATED).map(String::as_str);
        let config = WasmConfig::new(layer.digest, created, interface, reconcilers.clone()).to_bytes()?;
        let config = (Descriptor::of(&config, media_type::WASM_CONFIG), config);
        let manifest = Manifest::new(config.0.clone(), layer.clone(), annotations.clone()).to_bytes()?;
        Ok(Self { layer, config, manifest })
    }
}

impl Component<'_> {
    /// The digest of the manifest that [`Registries::push`] pushes.
    ///
    /// # Errors
    ///
    /// If the manifest cannot be written.
    pub fn digest(&self) -> Result<Digest, manifest::Error> {
        Ok(Digest::of(&Artifact::new(self)?.manifest))
    }
}

impl Registries {
    /// Pushes a component, and returns the digest of its manifest.
    ///
    /// # Guarantees
    ///
    /// The blobs are there before the manifest, so nobody pulls half of it. A blob that the
    /// repository has is not sent again.
    ///
    /// # Errors
    ///
    /// If the component is empty or exceeds the [bounds], if the reference has another digest, or
    /// if the registry does not take it.
    pub async fn push(
        &self,
        component: Component<'_>,
        reference: &Reference,
        progress: &dyn Progress,
    ) -> Result<Digest, Error> {
        let size = component.bytes.len() as u64;
        if size == 0 || size > bounds::COMPONENT {
            return Err(Error::Push { what: "the component", size, limit: bounds::COMPONENT });
        }
        let refused = |source| Error::Manifest { what: reference.to_string(), source };
        let artifact = Artifact::new(&component).map_err(refused)?;
        let digest = Digest::of(&artifact.manifest);
        match reference.digest() {
            Some(expected) if *expected != digest => {
                return Err(Error::OtherDigest { expected: *expected, found: digest });
            }
            _ => {}
        }
        for (what, size, limit) in [
            ("the config of the component", artifact.config.1.len() as u64, bounds::CONFIG),
            ("the manifest of the component", artifact.manifest.len() as u64, bounds::MANIFEST),
        ] {
            if size > limit {
                return Err(Error::Push { what, size, limit });
            }
        }
        let (session, repository) = (self.session(reference)?, reference.repository());
        progress.begin(size);
        let bytes = Bytes::copy_from_slice(component.bytes);
        session.push_blob(repository, &artifact.layer, bytes, Some(progress)).await?;
        progress.advance(size);
        let (config, bytes) = artifact.config;
        session.push_blob(repository, &config, bytes.into(), None).await?;
        // A tag and a digest mean the tag here; the digest has been compared.
        let target = reference.tag().map_or_else(|| digest.to_string(), str::to_owned);
        session.push_manifest(repository, &target, media_type::MANIFEST, artifact.manifest).await?;
        Ok(digest)
    }
}

/// A title as the name of a file.
fn file_name(title: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let name: String = title.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).take(100).collect();
    // No hidden file, and not the folder above.
    let name = name.trim_start_matches('.');
    if name.is_empty() { "component".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn component() -> Component<'static> {
        Component {
            bytes: b"\0asm",
            annotations: BTreeMap::from([(TITLE.to_owned(), "echo".to_owned())]),
            imports: vec!["gyre:plugin/cluster@0.1.0".to_owned()],
            exports: vec!["gyre:plugin/reconciler@0.1.0".to_owned()],
            reconcilers: vec![Reconciler {
                name: "echo".to_owned(),
                parent: "example.com/v1/Echo".to_owned(),
                ..Reconciler::default()
            }],
        }
    }

    #[test]
    fn what_is_pushed_can_be_pulled() {
        let artifact = Artifact::new(&component()).unwrap();
        let manifest = Manifest::parse(&artifact.manifest).unwrap();
        let layer = manifest.component().unwrap();
        assert_eq!((layer.digest, layer.size), (Digest::of(b"\0asm"), 4));
        assert_eq!(layer.annotations[TITLE], "echo.wasm");
        assert_eq!(manifest.annotations[TITLE], "echo");
        let config = WasmConfig::parse(&artifact.config.1).unwrap();
        config.check_layer(&layer.digest).unwrap();
        assert_eq!(config.reconcilers, component().reconcilers);
        assert_eq!(manifest.config.digest, Digest::of(&artifact.config.1));
    }

    #[test]
    fn the_same_component_has_the_same_digest_and_another_time_another_one() {
        let digest = component().digest().unwrap();
        assert_eq!(component().digest().unwrap(), digest);
        let mut later = component();
        later.annotations.insert(CREATED.to_owned(), "2026-11-28T00:00:00Z".to_owned());
        assert_ne!(later.digest().unwrap(), digest);
        let config = WasmConfig::parse(&Artifact::new(&later).unwrap().config.1).unwrap();
        assert_eq!(config.created, "2026-11-28T00:00:00Z");
    }

    proptest! {
        #[test]
        fn a_title_becomes_the_name_of_a_file(title in ".{0,150}") {
            let name = file_name(&title);
            prop_assert!(!name.is_empty() && name.len() <= 100 && !name.starts_with('.') && !name.contains('/'));
        }
    }
}
