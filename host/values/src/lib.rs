//! Makes the values of Secrets that plugins ask for: passwords, keys, certificates, hashes.
//!
//! ```text
//!   requests, decision (gyre_core::generated) ──┐
//!   values that are kept, issuers ──────────────┼──▶ make ──▶ all values of the Secret
//!   randomness, time ───────────────────────────┘
//! ```
//!
//! With seeded randomness, the same arguments give the same values, bit for bit: also signatures,
//! for which RSA, Ed25519 and deterministic ECDSA need no randomness.
//!
//! What is absent: the cluster, and the decision what is made.

mod certificate;
mod hash;
mod inspect;
mod keys;
mod make;
mod randomness;
mod ssh;

pub use self::inspect::Inspector;
pub use self::make::{Error, Ingredients, make};
pub use self::randomness::{Randomness, Unavailable};

#[cfg(test)]
mod tests;
