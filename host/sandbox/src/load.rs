//! Turns bytes into a plugin, or explains why they are none.

use gyre_core::text::{displayed, list};
use wasmtime::component::{Component, Linker};

use crate::call;
use crate::state::CallState;
use crate::wit::latest::{self, Prepared};

const MESSAGE: usize = 4 << 10;

/// The reason why bytes are not a plugin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There are no bytes.
    #[error("the plugin is empty")]
    Empty,
    /// The first bytes are not those of WebAssembly.
    #[error("the plugin is not WebAssembly: it begins with {begins}")]
    NotWasm {
        /// The first bytes, printable.
        begins: String,
    },
    /// The bytes are a core module.
    #[error("the plugin is a core WebAssembly module, not a component")]
    CoreModule,
    /// The bytes are truncated or damaged.
    #[error("the plugin is truncated or corrupt: {message}")]
    Corrupt {
        /// The validator's message, with the offset.
        message: String,
    },
    /// The component imports something that the sandbox does not provide.
    #[error("the plugin imports {import}, which gyre does not provide: {message}")]
    UnknownImport {
        /// The import.
        import: String,
        /// The missing part.
        message: String,
    },
    /// The component has another purpose.
    #[error("the component is not a gyre plugin: it does not export {export} as the contract defines it: {message}")]
    NotAPlugin {
        /// The expected export.
        export: &'static str,
        /// The missing part.
        message: String,
    },
    /// The component does not fit into the slots of the pool.
    #[error("the plugin is too large for the sandbox: {message}")]
    TooLarge {
        /// The exceeded limit.
        message: String,
    },
    /// `describe` did not answer.
    #[error("the plugin's function `describe` failed")]
    Describe(#[source] call::Error),
    /// `describe` returned no manifest.
    #[error("the plugin has no reconciler: its function `describe` returned no manifest")]
    NoReconciler,
    /// The plugin has several reconcilers, and none is named.
    #[error("the plugin has several reconcilers: {}", list(reconcilers))]
    ReconcilerNotNamed {
        /// Their names.
        reconcilers: Vec<String>,
    },
    /// The plugin has no reconciler of that name.
    #[error("the plugin has no reconciler {name}, only {}", list(reconcilers))]
    NoSuchReconciler {
        /// The name.
        name: String,
        /// The names of its reconcilers.
        reconcilers: Vec<String>,
    },
    /// The manifest violates the contract.
    #[error("the plugin's manifest is not valid")]
    Manifest(#[source] gyre_core::manifest::Error),
    /// An error in the host.
    #[error("the sandbox cannot load plugins: {0}")]
    Internal(String),
}

impl Error {
    /// One word in CamelCase: a label of metrics, and a reason of conditions and events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "EmptyPlugin",
            Self::NotWasm { .. } => "NotWasm",
            Self::CoreModule => "CoreModule",
            Self::Corrupt { .. } => "CorruptPlugin",
            Self::UnknownImport { .. } => "UnknownImport",
            Self::NotAPlugin { .. } => "NotAPlugin",
            Self::TooLarge { .. } => "PluginTooLarge",
            Self::Describe(_) => "DescribeFailed",
            Self::NoReconciler => "NoReconciler",
            Self::ReconcilerNotNamed { .. } => "ReconcilerNotNamed",
            Self::NoSuchReconciler { .. } => "NoSuchReconciler",
            Self::Manifest(_) => "InvalidManifest",
            Self::Internal(_) => "SandboxFailed",
        }
    }
}

impl Error {
    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Empty | Self::Corrupt { .. } => "build it again, and copy it as a whole",
            Self::NotWasm { .. } => "give the .wasm file that a build for wasm32-wasip2 writes",
            Self::CoreModule => "build it for wasm32-wasip2, or use wasm-tools component new",
            Self::UnknownImport { .. } => "build it for wasm32-wasip2, with no imports but those of the contract and WASI",
            Self::NotAPlugin { .. } => "give a component of the world gyre:plugin/plugin, such as gyre_sdk::export! defines",
            Self::TooLarge { .. } => "make it smaller, or allow its mount more memory",
            Self::Describe(_) | Self::NoReconciler => "correct its function `describe`",
            Self::ReconcilerNotNamed { .. } | Self::NoSuchReconciler { .. } => "name one of them",
            Self::Manifest(_) => "correct it, and build the plugin again",
            Self::Internal(_) => "start gyre again; if that does not help, it is a defect of gyre",
        }
    }
}

const MAGIC: &[u8; 4] = b"\0asm";
const CORE: &[u8; 4] = &[1, 0, 0, 0];
const COMPONENT: &[u8; 4] = &[0x0d, 0, 1, 0];

pub(crate) fn check_header(bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    if !MAGIC.starts_with(bytes.get(..4).unwrap_or(bytes)) {
        let begins = bytes.get(..16).unwrap_or(bytes).escape_ascii();
        return Err(Error::NotWasm { begins: format!("\"{begins}\"") });
    }
    match bytes.get(4..8) {
        Some(version) if version == COMPONENT => Ok(()),
        Some(version) if version == CORE => Err(Error::CoreModule),
        Some(version) => Err(Error::Corrupt { message: format!("its version is {version:02x?}") }),
        None => Err(Error::Corrupt { message: format!("it ends after {} bytes", bytes.len()) }),
    }
}

pub(crate) fn compile_error(error: &wasmtime::Error) -> Error {
    let message = displayed(&format_args!("{error:#}"), MESSAGE);
    // wasmtime reports limits of the pool only as texts.
    let pool = ["pooling allocator", "exceeds the limit of", "exceeds the configured maximum", "exceeds the per-instance"];
    if pool.iter().any(|text| message.contains(text)) { Error::TooLarge { message } } else { Error::Corrupt { message } }
}

pub(crate) fn link(linker: &Linker<CallState>, component: &Component) -> Result<Prepared, Error> {
    if !latest::is_exported_by(component) {
        return Err(Error::NotAPlugin { export: latest::EXPORT, message: "there is no such export".to_owned() });
    }
    let linked = linker.instantiate_pre(component).map_err(|error| Error::UnknownImport {
        // E.g. "component imports instance `wasi:http/types@0.2.0`, but …".
        import: displayed(&error, MESSAGE).split('`').nth(1).unwrap_or("something").to_owned(),
        message: displayed(error.root_cause(), MESSAGE),
    })?;
    Prepared::new(linked)
        .map_err(|error| Error::NotAPlugin { export: latest::EXPORT, message: displayed(&format_args!("{error:#}"), MESSAGE) })
}
