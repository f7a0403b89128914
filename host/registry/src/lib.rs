//! Plugins in OCI registries: pulls, pushes and tags them, and finds their signatures.
//!
//! ```text
//!   reference ──▶ registries ──▶ session ──▶ transport ──▶ registry, its storage
//!                  │   ▲            │            │
//!        component │   │ manifest   │ challenge  └── guard, routes: where a request may go
//!                  ▼   │            ▼
//!                 cache         authorization ──▶ realm ──▶ token
//! ```
//!
//! Whatever a registry sends is checked: digests and sizes are compared, sizes, times and numbers
//! have [bounds], credentials go to the registry and its realm only, and no place that a registry
//! names is more local than the registry.
//!
//! The modules form layers. Each imports only from modules below it in this table:
//!
//! | module | what it does |
//! |---|---|
//! | [`registries`] | pull, push, tag, signatures |
//! | `session` | the API of one registry |
//! | `authorization` | logs in to a registry |
//! | `transport` | requests with redirects, repetitions and time limits |
//! | `guard`, `routes`, `tls`, `upload` | where requests may go, by which way, and how bodies are sent |
//! | `error`, [`settings`], [`progress`] | what may go wrong, and what users set |
//! | [`cache`] | a folder with components and their signatures, by digest |
//! | [`manifest`], [`token`], [`challenge`], [`credentials`] | what registries send, and docker's file |
//! | `realm`, `address`, `signature`, [`reference`](mod@reference), [`digest`], [`media_type`], [`bounds`] | names and rules |
//!
//! What is absent: the check of signatures, the compilation of components, and programs that help
//! with credentials.

mod address;
mod authorization;
pub mod bounds;
pub mod cache;
pub mod challenge;
pub mod credentials;
pub mod digest;
mod error;
mod guard;
pub mod manifest;
pub mod media_type;
pub mod progress;
mod realm;
pub mod reference;
pub mod registries;
mod routes;
mod session;
pub mod settings;
mod signature;
mod tls;
pub mod token;
mod transport;
mod upload;

pub use self::address::Refused;
pub use self::cache::{Cache, Pulled, PulledFrom};
pub use self::digest::Digest;
pub use self::error::{Error, Missing};
pub use self::manifest::Manifest;
pub use self::progress::{Progress, Silent};
pub use self::reference::{Reference, is_reference};
pub use self::registries::{Component, Registries};
pub use self::settings::{Environment, Settings};
pub use self::signature::{FoundSignature, SignatureKind};

/// When a component is pulled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PullPolicy {
    /// If the cache does not have what the reference means. A tag that moves is not noticed at a
    /// start, but by the host while it runs.
    #[default]
    IfNotPresent,
    /// At each start, even if the registry is away then and the cache has it.
    Always,
    /// Never: it must be in the cache.
    Never,
}
