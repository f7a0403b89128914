//! The kinds that are served, and their objects. Every request reads or writes these.

use std::sync::Arc;

use crate::builtin;
use crate::custom::definition::Definitions;
use crate::kinds::Kinds;
use crate::random::Random;
use crate::store::{HistoryLimits, Store};

/// The kinds and their objects. What each verb does with them is in `verbs`.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) store: Store,
    pub(crate) kinds: Kinds,
    pub(crate) random: Random,
    /// What the watch cache has come to; none: it is current.
    pub(crate) cached: Option<u64>,
}

impl Registry {
    /// The built-in kinds, without objects.
    pub(crate) fn new(history: HistoryLimits, seed: u64) -> Self {
        Self { store: Store::new(history), kinds: Kinds::builtin(), random: Random::new(seed), cached: None }
    }

    /// What the watch cache has come to.
    pub(crate) fn cached_revision(&self) -> u64 {
        self.cached.unwrap_or(u64::MAX).min(self.store.revision())
    }
}

impl Kinds {
    /// The built-in kinds.
    pub fn builtin() -> Self {
        let mut kinds = Self::default();
        for mut kind in builtin::kinds() {
            if kind.is_definition() {
                kind.strategy = Arc::new(Definitions);
            }
            kinds.insert(kind);
        }
        kinds
    }
}
