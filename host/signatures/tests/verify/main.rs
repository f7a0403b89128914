//! Signatures that cosign, gyre and a Sigstore with known keys made, under all policies.

#[cfg(test)]
mod accepted;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod refused;
