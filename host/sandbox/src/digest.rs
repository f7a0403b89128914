//! The identity of a plugin.

use std::fmt;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// The bytes that are read and hashed at once.
const PIECE: usize = 64 << 10;

/// The SHA-256 of a component's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of all bytes of a reader. They are read in pieces, because components and
    /// compiled interpreters have tens of megabytes.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut hash = Sha256::new();
        let mut piece = vec![0; PIECE];
        loop {
            let read = reader.read(&mut piece)?;
            if read == 0 {
                return Ok(Self(hash.finalize().into()));
            }
            hash.update(piece.get(..read).unwrap_or_default());
        }
    }

    /// The first 12 hexadecimal digits, for people.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(12);
        text
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_read_in_pieces_have_the_same_digest() {
        for length in [0, 1, PIECE - 1, PIECE, 2 * PIECE + 1] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            assert_eq!(Digest::of_reader(&bytes[..]).unwrap(), Digest::of(&bytes), "{length}");
        }
    }
}
