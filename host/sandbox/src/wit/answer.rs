//! Reading answers within limits, whatever the contract's version.

use gyre_core::text::cut_owned;
use serde::de::DeserializeOwned;

use crate::call::Error;
use crate::json::{self, JsonError};
use crate::limits::Limits;

/// The deepest JSON of a manifest: CRD schemas nest deeper than objects do. serde_json stops at the same depth.
const MANIFEST_DEPTH: usize = 127;

/// The most that is kept of one text, in bytes. It is logged as a whole; the API server takes 1 KiB of an Event's message.
pub(super) const TEXT: usize = 4 << 10;

/// Counts an answer's bytes and reads its JSON.
pub(super) struct Answer {
    pub(super) bytes: usize,
    max_bytes: usize,
    max_depth: usize,
    /// The bytes of text that may still be kept.
    text_bytes: usize,
}

impl Answer {
    /// To a call about an object.
    pub(super) fn new(limits: &Limits) -> Self {
        Self { bytes: 0, max_bytes: limits.output_bytes, max_depth: limits.output_depth, text_bytes: limits.text_bytes }
    }

    /// To `describe`.
    pub(super) fn manifest(limits: &Limits) -> Self {
        Self { bytes: 0, max_bytes: limits.output_bytes, max_depth: MANIFEST_DEPTH, text_bytes: limits.text_bytes }
    }

    /// Counts bytes toward the limit.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes { Err(Error::OutputTooLarge { limit: self.max_bytes }) } else { Ok(()) }
    }

    /// Counts a text, and cuts it to what is kept of it.
    pub(super) fn text(&mut self, text: String) -> Result<String, Error> {
        self.count(text.len())?;
        let kept = cut_owned(text, TEXT.min(self.text_bytes));
        self.text_bytes -= kept.len();
        Ok(kept)
    }

    /// Reads a JSON text. The name of the place is only made when it is needed.
    pub(super) fn json<T: DeserializeOwned>(&self, bytes: &[u8], at: impl FnOnce() -> String) -> Result<T, Error> {
        json::parse(bytes, self.max_depth).map_err(|problem| match problem {
            JsonError::TooDeep => Error::OutputTooDeep { at: at(), limit: self.max_depth },
            JsonError::Invalid(message) => Error::InvalidOutput { at: at(), message },
        })
    }
}
