//! Names in definitions.

use crate::validation::syntax;

/// Returns all errors about a DNS label that must start with a letter, joined into one.
pub(crate) fn dns_1035_label(name: &str) -> Option<String> {
    Some(syntax::dns_1035_label(name).join(",")).filter(|wrong| !wrong.is_empty())
}
