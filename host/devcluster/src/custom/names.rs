//! Names of definitions, which are told all that is wrong in one sentence.

use crate::validation::syntax;

/// Returns the error of a DNS label that must start with a letter.
pub(crate) fn dns_1035_label(name: &str) -> Option<String> {
    Some(syntax::dns_1035_label(name).join(",")).filter(|wrong| !wrong.is_empty())
}
