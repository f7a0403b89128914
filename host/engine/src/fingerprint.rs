//! Fingerprints, which are compared only within one process.

use std::hash::{DefaultHasher, Hash, Hasher as _};

pub(crate) fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
