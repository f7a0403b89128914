//! Verifies and makes signatures of the manifests of OCI registries, as cosign does.
//!
//! ```text
//!   configuration ── Requirements ──▶ Policy ──────┐
//!   registry ── Candidates (bundle, older form) ───┼─▶ verify ──▶ Verified, or a Refusal that says what was found
//!   digest of the manifest ────────────────────────┘
//!   private key, digest of the manifest ──▶ sign ──▶ bundle, which cosign verifies
//! ```
//!
//! `sigstore-verify` checks certificates, logs and times. This crate checks the rest: which
//! predicate type, digest and annotations are signed, and by whom. It also checks signatures by
//! keys without a log, which `sigstore-verify` refuses if they have no timestamp.
//!
//! Modules: [`keys`] and [`policy`] are what is required; `bundle` and `simple` read the two
//! forms of signatures, and `claim` what they sign; `check` compares; [`refusal`] has the
//! sentences; `provider` lends ring to `sigstore-verify`; `sign` makes signatures and keys.
//!
//! What is absent:
//! - Networks: a trusted root is given and pinned, and neither Rekor nor Fulcio is asked.
//! - Signing without a key, and entries in a log: cosign makes both.
//! - Keys in a KMS or a token, Ed25519ph (which cosign signs with if a key is Ed25519, although
//!   `cosign verify --key` refuses it), RSA-PSS, P-521, and ML-DSA.
//! - In the older form with a log entry, keys other than P-256 and Ed25519.

mod bundle;
mod check;
mod claim;
pub mod keys;
pub mod policy;
mod provider;
pub mod refusal;
#[cfg(feature = "sign")]
pub mod sign;
mod signature;
mod simple;
mod verify;

pub use self::keys::PublicKey;
pub use self::policy::{Identity, Log, Policy, Requirements};
pub use self::refusal::{Found, Refusal};
#[cfg(feature = "sign")]
pub use self::sign::{KeyPair, SigningKey, generate_key, sign};
pub use self::verify::{Candidate, Content, MAX_SIGNATURE, Signer, Verified, verify};
