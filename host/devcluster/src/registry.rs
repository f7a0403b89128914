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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::custom;
    use crate::kinds::Origin;

    #[test]
    fn the_strategy_of_a_kind_is_that_of_where_it_comes_from() {
        let kinds = Kinds::builtin();
        for kind in kinds.versions().flat_map(|(group, version)| kinds.of_version(group, version)) {
            let expected = if &*kind.kind == "CustomResourceDefinition" { "Definitions" } else { "Builtin" };
            assert!(matches!(kind.origin, Origin::Builtin), "{}", kind.kind);
            assert_eq!(format!("{:?}", kind.strategy), expected, "{}", kind.kind);
        }
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let custom = custom::kinds(&json!({
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            },
            "status": {
                "acceptedNames": {"kind": "Custom", "plural": "customs", "listKind": "CustomList"},
                "conditions": [{"type": "Established", "status": "True"}],
            },
        }));
        let [custom] = &custom[..] else { panic!("one version is served: {custom:?}") };
        assert!(matches!(custom.origin, Origin::Custom(_)));
        assert!(format!("{:?}", custom.strategy).starts_with("Version"), "{:?}", custom.strategy);
    }
}
