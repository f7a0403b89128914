//! Pseudorandom numbers.

use sha2::{Digest as _, Sha256};

/// Pseudorandom bytes: SHA-256 in counter mode. They are not secret: the parent's UID is the seed.
pub(crate) struct Random {
    seed: Box<str>,
    counter: u64,
    block: [u8; 32],
    used: usize,
}

impl Random {
    pub(crate) fn new(seed: &str) -> Self {
        Self { seed: seed.into(), counter: 0, block: [0; 32], used: 32 }
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            if self.used >= self.block.len() {
                self.block = self.hash("stream", self.counter);
                self.counter = self.counter.wrapping_add(1);
                self.used = 0;
            }
            let fresh = self.block.get(self.used..).unwrap_or_default();
            let taken = fresh.len().min(len - bytes.len());
            bytes.extend_from_slice(fresh.get(..taken).unwrap_or_default());
            self.used += taken;
        }
        bytes
    }

    pub(crate) fn u64(&mut self) -> u64 {
        let bytes = self.bytes(8);
        u64::from_le_bytes(bytes.try_into().unwrap_or_default())
    }

    /// The seed of hash tables, which stays the same during a call.
    pub(crate) fn pair(&self) -> (u64, u64) {
        let hash = u128::from_le_bytes(*self.hash("pair", 0).first_chunk().unwrap_or(&[0; 16]));
        (hash as u64, (hash >> 64) as u64)
    }

    fn hash(&self, purpose: &str, counter: u64) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"gyre ");
        hash.update(purpose);
        hash.update(counter.to_le_bytes());
        hash.update(self.seed.as_bytes());
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_depends_on_the_seed_and_not_on_the_size_of_requests() {
        let mut at_once = Random::new("uid-1");
        let mut by_piece = Random::new("uid-1");
        let pieces: Vec<u8> = [1, 2, 40, 57].into_iter().flat_map(|len| by_piece.bytes(len)).collect();
        assert_eq!(at_once.bytes(100), pieces);
        assert_eq!(Random::new("uid-1").pair(), Random::new("uid-1").pair());
        assert_ne!(Random::new("uid-1").u64(), Random::new("uid-2").u64());
        assert_ne!(Random::new("uid-1").pair(), Random::new("uid-2").pair());
    }
}
