//! Manifests, indexes and configs: what they say, and what gyre accepts of it.
//!
//! A manifest comes from a registry, and the digest of its bytes says only that nobody changed it
//! since. Whether it describes a component that gyre can pull is decided here.

mod config;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

pub use self::config::{Interface, Reconciler, WasmConfig};
use crate::bounds;
use crate::digest::Digest;
use crate::media_type;

const SCHEMA_VERSION: u64 = 2;

/// A manifest of one artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    schema_version: u64,
    /// Its media type.
    pub media_type: String,
    /// The kind of artifact, if the config does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The config.
    pub config: Descriptor,
    /// The layers; those of a plugin are one component.
    pub layers: Vec<Descriptor>,
    /// The manifest that this one is about, e.g. the one that it signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// The annotations, e.g. title and version.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A list of manifests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    schema_version: u64,
    /// Its media type.
    pub media_type: String,
    /// The manifests.
    pub manifests: Vec<Descriptor>,
    /// The annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The description of a blob or another manifest.
///
/// Its `urls` and `data` are not read: the content comes from the registry, and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The media type.
    pub media_type: String,
    /// The digest.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The kind of artifact, of a manifest in an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The annotations.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// An error about the content of a manifest, an index or a config.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It has too many bytes.
    #[error("it has {size} bytes, which is more than {limit}")]
    Size {
        /// The size in bytes.
        size: u64,
        /// The bound in bytes.
        limit: u64,
    },
    /// It is not JSON, or has not the fields of a manifest.
    #[error("it cannot be read as JSON with the expected fields: line {line}, column {column}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// It is of another version of the format.
    #[error("its schemaVersion is {0}, not 2")]
    SchemaVersion(u64),
    /// It is something else than was asked for.
    #[error("its media type is {found:?}, not {expected}")]
    MediaType {
        /// The media type that was asked for.
        expected: &'static str,
        /// The media type that it has.
        found: String,
    },
    /// It has the fields of a manifest and of an index, so two programs could read it differently.
    #[error("it is a manifest and an index at once")]
    Ambiguous,
    /// It lists several manifests.
    #[error("it is an index of several manifests, and not the manifest of one artifact")]
    Index,
    /// A field that it needs is missing.
    #[error("it has no {0:?}")]
    Missing(&'static str),
    /// It has too many layers, or descriptors.
    #[error("it has {found} {what}, which is more than {limit}")]
    Number {
        /// The name of the field.
        what: &'static str,
        /// The number.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// Its layers are those of a container image.
    #[error("it is a container image, and not a component: its first layer has the media type {0:?}")]
    Image(String),
    /// It is no component.
    #[error("it is not a component: its config has the media type {config:?}, and its layers {layers:?}")]
    NoComponent {
        /// The media type of the config.
        config: String,
        /// The media types of the first layers.
        layers: Vec<String>,
    },
    /// A component is one layer.
    #[error("it has {0} layers, and a component has one")]
    Layers(usize),
    /// Its component is too large, or empty.
    #[error("its component has {size} bytes, and gyre accepts 1 to {limit}")]
    Component {
        /// The size in bytes that the manifest says.
        size: u64,
        /// The bound in bytes.
        limit: u64,
    },
    /// The config belongs to another component.
    #[error("its config is about {found:?}, and its layer is {layer}")]
    OtherComponent {
        /// The digest of the layer.
        layer: Digest,
        /// The digests in the config.
        found: Vec<Digest>,
    },
}

impl Error {
    /// The remedy, for people.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Index => "name one of its manifests by digest",
            Self::Image(_) => "mount it as an image volume and name the file, or push the component with gyre push",
            Self::NoComponent { .. } | Self::Layers(_) => "name an artifact that gyre push or wkg pushed",
            Self::Component { .. } => "build a smaller component",
            Self::Size { .. }
            | Self::Json { .. }
            | Self::SchemaVersion(_)
            | Self::MediaType { .. }
            | Self::Ambiguous
            | Self::Missing(_)
            | Self::Number { .. }
            | Self::OtherComponent { .. } => "push the component again, with gyre push or wkg",
        }
    }
}

/// Without its text, which may quote as much as the document has.
impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { line: error.line(), column: error.column() }
    }
}

/// All fields that a manifest or an index may have.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u64,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
    subject: Option<Descriptor>,
    #[serde(default, deserialize_with = "or_default")]
    annotations: BTreeMap<String, String>,
}

impl Document {
    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        check_size(bytes, bounds::MANIFEST)?;
        let document: Self = serde_json::from_slice(bytes)?;
        if document.schema_version != SCHEMA_VERSION {
            return Err(Error::SchemaVersion(document.schema_version));
        }
        if document.manifests.is_some() && (document.layers.is_some() || document.config.is_some()) {
            return Err(Error::Ambiguous);
        }
        Ok(document)
    }

    /// Checks the media type, which the specification does not require inside of a document.
    fn check_media_type(&self, expected: &'static str) -> Result<(), Error> {
        match &self.media_type {
            Some(found) if found != expected => Err(Error::MediaType { expected, found: shown(found) }),
            _ => Ok(()),
        }
    }
}

impl Manifest {
    /// A manifest to push.
    pub(crate) fn new(config: Descriptor, layer: Descriptor, annotations: BTreeMap<String, String>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            media_type: media_type::MANIFEST.to_owned(),
            artifact_type: None,
            config,
            layers: vec![layer],
            subject: None,
            annotations,
        }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// If it is not an OCI image manifest within the [bounds].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let document = Document::parse(bytes)?;
        if document.manifests.is_some() {
            return Err(Error::Index);
        }
        document.check_media_type(media_type::MANIFEST)?;
        let config = document.config.ok_or(Error::Missing("config"))?;
        let layers = document.layers.ok_or(Error::Missing("layers"))?;
        check_number("layers", layers.len(), bounds::LAYERS)?;
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            media_type: media_type::MANIFEST.to_owned(),
            artifact_type: document.artifact_type,
            config,
            layers,
            subject: document.subject,
            annotations: document.annotations,
        })
    }

    /// The component that it describes.
    ///
    /// The config is not compared, because nothing that gyre does follows from it. It may be empty,
    /// as after `oras push`.
    ///
    /// # Errors
    ///
    /// If it does not describe exactly one component within the [bounds].
    pub fn component(&self) -> Result<&Descriptor, Error> {
        let mut types = self.layers.iter().map(|layer| layer.media_type.as_str());
        if let Some(image) = types.clone().next().filter(|first| is_of_image(first)) {
            return Err(Error::Image(shown(image)));
        }
        let is_config = [media_type::WASM_CONFIG, media_type::EMPTY].contains(&self.config.media_type.as_str());
        if !is_config || !types.all(|layer| layer == media_type::WASM) {
            let layers = self.layers.iter().take(3).map(|layer| shown(&layer.media_type)).collect();
            return Err(Error::NoComponent { config: shown(&self.config.media_type), layers });
        }
        let [layer] = self.layers.as_slice() else { return Err(Error::Layers(self.layers.len())) };
        if layer.size == 0 || layer.size > bounds::COMPONENT {
            return Err(Error::Component { size: layer.size, limit: bounds::COMPONENT });
        }
        Ok(layer)
    }

    /// The bytes to push, whose digest names the manifest.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        Ok(serde_json::to_vec(self)?)
    }
}

impl Index {
    /// An index to push.
    pub(crate) fn new(manifests: Vec<Descriptor>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            media_type: media_type::INDEX.to_owned(),
            manifests,
            annotations: BTreeMap::new(),
        }
    }

    /// Reads an index.
    ///
    /// # Errors
    ///
    /// If it is not an OCI image index within the [bounds].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let document = Document::parse(bytes)?;
        document.check_media_type(media_type::INDEX)?;
        let manifests = document.manifests.ok_or(Error::Missing("manifests"))?;
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            media_type: media_type::INDEX.to_owned(),
            manifests,
            annotations: document.annotations,
        })
    }

    /// The bytes to push.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        Ok(serde_json::to_vec(self)?)
    }
}

impl Descriptor {
    /// The descriptor of these bytes.
    pub(crate) fn of(bytes: &[u8], media_type: &str) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            artifact_type: None,
            annotations: BTreeMap::new(),
        }
    }
}

fn is_of_image(media_type: &str) -> bool {
    media_type::IMAGE_LAYERS.iter().any(|beginning| media_type.starts_with(beginning))
}

/// A media type for people: it may have any length and any letters.
fn shown(media_type: &str) -> String {
    const LONGEST: usize = 100;
    gyre_core::text::cut(&gyre_core::text::without_control(media_type), LONGEST)
}

pub(crate) fn check_size(bytes: &[u8], limit: u64) -> Result<(), Error> {
    let size = bytes.len() as u64;
    if size > limit { Err(Error::Size { size, limit }) } else { Ok(()) }
}

fn check_number(what: &'static str, found: usize, limit: usize) -> Result<(), Error> {
    if found > limit { Err(Error::Number { what, found, limit }) } else { Ok(()) }
}

/// Reads `null` as the default, because Go writes it for empty lists and maps.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
