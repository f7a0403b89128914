//! The plugin under test: native code or a component.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use gyre_sdk::Reconciler;
use gyre_sdk::testing::hosted;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::native::{self, Code};
use crate::program::Lane;

/// A plugin, which is cheap to clone.
#[derive(Clone)]
pub struct Plugin(Arc<Loaded>);

struct Loaded {
    /// The number by which the program knows it.
    number: u64,
    manifest: Value,
    code: Option<Code>,
}

impl Plugin {
    /// Returns a plugin that runs in the process of the test: debuggers work, and no build for Wasm
    /// is needed.
    ///
    /// Calls have no deadline and no memory limit, and use the machine's clock, random numbers and
    /// files. A panic ends the call like a trap.
    ///
    /// # Panics
    ///
    /// If its manifest is invalid, or the program `gyre` is missing.
    #[track_caller]
    #[expect(clippy::panic, reason = "without a plugin there is no test")]
    pub fn native<R: Reconciler>() -> Self {
        let manifest = native::manifest(hosted::manifest::<R>());
        let text = |field: &str| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
        let identity = format!("{} {} {}", std::any::type_name::<R>(), text("name"), text("version"));
        let kit = json!({"kit": {"identity": identity, "manifest": manifest}});
        match Self::load(&kit, Some(Code::of::<R>())) {
            Ok(plugin) => plugin,
            Err(error) => panic!("{error}"),
        }
    }

    /// Loads a component with one reconciler from a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no plugin, or has several reconcilers.
    pub fn wasm(path: impl AsRef<Path>) -> Result<Self> {
        Self::load(&json!({"path": path.as_ref()}), None)
    }

    /// Loads the reconciler of this name from a component with several.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no plugin, or has no such reconciler.
    pub fn wasm_reconciler(path: impl AsRef<Path>, name: &str) -> Result<Self> {
        Self::load(&json!({"path": path.as_ref(), "reconciler": name}), None)
    }

    /// Loads a component.
    ///
    /// # Errors
    ///
    /// If it is no plugin.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::load(&json!({"base64": base64(bytes)}), None)
    }

    fn load(source: &Value, code: Option<Code>) -> Result<Self> {
        let mut loaded = Lane::open()?.ask(&json!({"load": source}), |_| Ok(None))?;
        let number = loaded.get("plugin").and_then(Value::as_u64).ok_or_else(|| Error::new("gyre has loaded no plugin"))?;
        let manifest = loaded.get_mut("manifest").map(Value::take).unwrap_or_default();
        Ok(Self(Arc::new(Loaded { number, manifest, code })))
    }

    /// Returns the manifest, as `gyre inspect -o json` prints it.
    pub fn manifest(&self) -> &Value {
        &self.0.manifest
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Returns the functions, if it is native code.
    pub(crate) fn code(&self) -> Option<Code> {
        self.0.code
    }
}

/// Base64 with padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |index: u32| LETTERS.get(index as usize..=index as usize).unwrap_or_default();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().chain([&0, &0]).take(3).fold(0, |bits, byte| (bits << 8) | u32::from(*byte));
        for place in 0..4 {
            let _ = match place <= chunk.len() {
                true => write!(text, "{}", letter((bits >> (18 - 6 * place)) & 63)),
                false => write!(text, "="),
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_as_in_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
        assert_eq!(base64(&[255, 254, 253]), "//79");
    }
}
