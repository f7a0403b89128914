//! The config of a Wasm artifact, by the layout of the CNCF's TAG Runtime, with what gyre adds.

use serde::{Deserialize, Serialize};

use super::{Error, check_size, or_default};
use crate::bounds;
use crate::digest::Digest;

const ARCHITECTURE: &str = "wasm";
/// The value for components; modules have `wasip1`.
const OS: &str = "wasip2";
/// The time of a component whose time is not known. Tools require one, and the time of the push
/// would give the same component another digest each time.
const UNKNOWN_TIME: &str = "1970-01-01T00:00:00Z";

/// The description of a component that a registry shows. Nothing that gyre does follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WasmConfig {
    /// When the component was built, by RFC 3339.
    pub created: String,
    /// Who built it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// `wasm`.
    pub architecture: String,
    /// `wasip2` for a component.
    pub os: String,
    /// The digests of the layers.
    pub layer_digests: Vec<Digest>,
    /// The imports and exports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<Interface>,
    /// The reconcilers of a plugin; other tools ignore the field.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub reconcilers: Vec<Reconciler>,
}

/// The interface of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// The names of what it exports.
    #[serde(default, deserialize_with = "or_default")]
    pub exports: Vec<String>,
    /// The names of what it imports.
    #[serde(default, deserialize_with = "or_default")]
    pub imports: Vec<String>,
}

/// The kinds of a reconciler, each as `apiVersion/Kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciler {
    /// Its name.
    pub name: String,
    /// The kind of the parent.
    pub parent: String,
    /// The kinds of the children.
    #[serde(default, deserialize_with = "or_default")]
    pub children: Vec<String>,
    /// The kinds that it reads.
    #[serde(default, deserialize_with = "or_default")]
    pub reads: Vec<String>,
}

impl WasmConfig {
    /// The config of a component.
    pub(crate) fn new(layer: Digest, created: Option<&str>, component: Interface, reconcilers: Vec<Reconciler>) -> Self {
        Self {
            created: created.unwrap_or(UNKNOWN_TIME).to_owned(),
            author: None,
            architecture: ARCHITECTURE.to_owned(),
            os: OS.to_owned(),
            layer_digests: vec![layer],
            component: Some(component),
            reconcilers,
        }
    }

    /// Reads a config.
    ///
    /// # Errors
    ///
    /// If it is not one, within the [bounds].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        check_size(bytes, bounds::CONFIG)?;
        Ok(serde_json::from_slice(bytes)?)
    }

    /// Compares the config with the component that its manifest describes.
    pub(crate) fn check_layer(&self, layer: &Digest) -> Result<(), Error> {
        if self.layer_digests == [*layer] {
            return Ok(());
        }
        let found = self.layer_digests.iter().take(3).copied().collect();
        Err(Error::OtherComponent { layer: *layer, found })
    }

    /// The bytes to push.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        Ok(serde_json::to_vec(self)?)
    }
}
