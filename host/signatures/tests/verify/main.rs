//! Signatures that cosign, gyre and a Sigstore with known keys made, under all policies.

mod accepted;
mod fixtures;
mod laws;
mod refused;
