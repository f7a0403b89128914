//! Reads answers within limits, for any version of the contract.

use gyre_core::text::cut_owned;
use serde::de::DeserializeOwned;

use crate::call::Error;
use crate::json::{self, JsonError};
use crate::limits::Limits;

/// The depth of a manifest's JSON: CRD schemas are deeper than objects. serde_json's limit, too.
const MANIFEST_DEPTH: usize = 127;

/// The longest kept text, in bytes. It is logged; Events have at most 1 KiB.
pub(super) const TEXT: usize = 4 << 10;

pub(super) struct Answer {
    pub(super) bytes: usize,
    max_bytes: usize,
    max_depth: usize,
    text_bytes: usize,
}

impl Answer {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { bytes: 0, max_bytes: limits.output_bytes, max_depth: limits.output_depth, text_bytes: limits.text_bytes }
    }

    pub(super) fn manifest(limits: &Limits) -> Self {
        Self { bytes: 0, max_bytes: limits.output_bytes, max_depth: MANIFEST_DEPTH, text_bytes: limits.text_bytes }
    }

    pub(super) fn count(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes { Err(Error::OutputTooLarge { limit: self.max_bytes }) } else { Ok(()) }
    }

    pub(super) fn text(&mut self, text: String) -> Result<String, Error> {
        self.count(text.len())?;
        let kept = cut_owned(text, TEXT.min(self.text_bytes));
        self.text_bytes -= kept.len();
        Ok(kept)
    }

    /// Parses JSON. `at` names the part of the answer in errors.
    pub(super) fn json<T: DeserializeOwned>(&self, bytes: &[u8], at: impl FnOnce() -> String) -> Result<T, Error> {
        json::parse(bytes, self.max_depth).map_err(|problem| match problem {
            JsonError::TooDeep => Error::OutputTooDeep { at: at(), limit: self.max_depth },
            JsonError::Invalid(message) => Error::InvalidOutput { at: at(), message },
        })
    }
}
