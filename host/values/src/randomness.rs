//! Where random bytes come from.

use rand_core::{TryCryptoRng, TryRng};
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

/// The operating system has no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system has no random bytes")]
pub struct Unavailable;

/// A source of random bytes.
#[derive(Clone, Debug, Default)]
pub enum Randomness {
    /// The operating system.
    #[default]
    System,
    /// A seed, for simulations: the bytes follow from it and from what they are for.
    Seeded(u64),
}

impl Randomness {
    /// The bytes for one purpose.
    pub(crate) fn stream(&self, purpose: &[&str]) -> Stream {
        match self {
            Self::System => Stream::System(SystemRandom::new()),
            Self::Seeded(seed) => {
                let mut hasher = Sha256::new();
                hasher.update(seed.to_be_bytes());
                for part in purpose {
                    hasher.update(part.len().to_be_bytes());
                    hasher.update(part);
                }
                Stream::Seeded { key: hasher.finalize().into(), blocks: 0 }
            }
        }
    }

    /// Returns a new key of digests.
    ///
    /// # Errors
    ///
    /// If the operating system has no random bytes.
    pub fn digest_key(&self) -> Result<gyre_core::generated::DigestKey, Unavailable> {
        let mut bytes = [0; 32];
        self.stream(&["digest key"]).try_fill_bytes(&mut bytes)?;
        Ok(gyre_core::generated::DigestKey::new(bytes))
    }
}

pub(crate) enum Stream {
    System(SystemRandom),
    Seeded { key: [u8; 32], blocks: u64 },
}

impl TryRng for Stream {
    type Error = Unavailable;

    fn try_next_u32(&mut self) -> Result<u32, Unavailable> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Unavailable> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Unavailable> {
        match self {
            Self::System(system) => system.fill(bytes).map_err(|_| Unavailable),
            Self::Seeded { key, blocks } => {
                for chunk in bytes.chunks_mut(32) {
                    let block = Sha256::new().chain_update(&key).chain_update(blocks.to_be_bytes()).finalize();
                    *blocks += 1;
                    chunk.iter_mut().zip(block).for_each(|(byte, random)| *byte = random);
                }
                Ok(())
            }
        }
    }
}

impl TryCryptoRng for Stream {}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(randomness: &Randomness, purpose: &[&str]) -> [u8; 100] {
        let mut bytes = [0; 100];
        randomness.stream(purpose).try_fill_bytes(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn seeded_bytes_follow_from_the_seed_and_the_purpose() {
        let of = |seed, purpose: &[&str]| bytes(&Randomness::Seeded(seed), purpose);
        assert_eq!(of(1, &["a", "b"]), of(1, &["a", "b"]));
        assert_ne!(of(1, &["a", "b"]), of(2, &["a", "b"]));
        assert_ne!(of(1, &["a", "b"]), of(1, &["ab", ""]));
        assert_ne!(bytes(&Randomness::System, &[]), bytes(&Randomness::System, &[]));
    }
}
