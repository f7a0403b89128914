//! Names for children that may only be DNS labels, e.g. Jobs and containers.

use crate::fingerprint;

/// The maximum length of a DNS label (RFC 1123).
pub const LABEL_LIMIT: usize = 63;

/// The shortest limit that leaves a part of the name before the hash.
const MINIMUM_LIMIT: usize = fingerprint::LENGTH + 2;

/// Returns the name if it is a valid DNS label (RFC 1123). Otherwise returns a label with the start
/// of the name and a 64-bit hash of all of it. The same name always gives the same label.
///
/// ```
/// use gyre_sdk::names::dns_label;
///
/// assert_eq!(dns_label("hello"), "hello");
/// assert!(dns_label("hello.world").starts_with("hello-world-"));
/// assert!(dns_label(&"long".repeat(50)).len() == 63);
/// ```
pub fn dns_label(name: &str) -> String {
    dns_label_within(name, LABEL_LIMIT)
}

/// Like [`dns_label`], with at most `limit` characters, e.g. 52 for a CronJob. A limit below 15
/// counts as 15, one above [`LABEL_LIMIT`] as that.
pub fn dns_label_within(name: &str, limit: usize) -> String {
    let limit = limit.clamp(MINIMUM_LIMIT, LABEL_LIMIT);
    if name.len() <= limit && is_dns_label(name) {
        return name.to_owned();
    }
    let mut label = start(name, limit, |character| character.is_ascii_alphanumeric());
    if !label.is_empty() {
        label.push('-');
    }
    fingerprint::push_of(&mut label, name);
    label
}

/// Like [`dns_label`], but begins with a letter (RFC 1035), as the name of a Service must.
///
/// ```
/// use gyre_sdk::names::service_label;
///
/// assert_eq!(service_label("hello"), "hello");
/// assert!(service_label("3-hellos").starts_with("hellos-"));
/// ```
pub fn service_label(name: &str) -> String {
    if name.len() <= LABEL_LIMIT && is_service_label(name) {
        return name.to_owned();
    }
    let mut label = start(name, LABEL_LIMIT, |character| character.is_ascii_alphabetic());
    // The hash may begin with a digit.
    label.push_str(if label.is_empty() { "x-" } else { "-" });
    fingerprint::push_of(&mut label, name);
    label
}

/// Returns the part of the name before the hyphen and hash.
fn start(name: &str, limit: usize, may_be_first: fn(char) -> bool) -> String {
    let mut label = String::with_capacity(limit);
    for character in name.chars().take(limit - fingerprint::LENGTH - 1) {
        match character.to_ascii_lowercase() {
            first if label.is_empty() && !may_be_first(first) => {}
            allowed @ ('a'..='z' | '0'..='9') => label.push(allowed),
            _ => label.push('-'),
        }
    }
    label.truncate(label.trim_end_matches('-').len());
    label
}

fn is_dns_label(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_inner) && !name.starts_with('-') && !name.ends_with('-')
}

fn is_service_label(name: &str) -> bool {
    is_dns_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hash_never_changes() {
        // Existing clusters have children with these names.
        assert_eq!(dns_label("hello.world"), "hello-world-53hocbaalbhrb");
    }

    #[test]
    fn a_name_without_letters_becomes_the_label_of_a_service() {
        for name in ["", "...", "2026", "3.4"] {
            assert!(is_service_label(&service_label(name)), "{name:?}");
        }
    }

    fn any_name() -> impl Strategy<Value = String> {
        prop_oneof![".{0,300}", "[a-z0-9.-]{0,253}", "[a-z]([a-z0-9-]{0,61}[a-z0-9])?"]
    }

    proptest! {
        #[test]
        fn every_name_becomes_a_label_within_the_limit(name in any_name(), limit in MINIMUM_LIMIT..=LABEL_LIMIT) {
            let label = dns_label_within(&name, limit);
            prop_assert!(is_dns_label(&label), "{label:?}");
            prop_assert!(label.len() <= limit, "{label:?}");
        }

        #[test]
        fn a_valid_label_stays_as_it_is(name in "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?") {
            prop_assert_eq!(dns_label(&name), name);
        }

        #[test]
        fn different_names_give_different_labels(one in any_name(), other in any_name(), limit in MINIMUM_LIMIT..=LABEL_LIMIT) {
            prop_assert_eq!(dns_label_within(&one, limit) == dns_label_within(&other, limit), one == other);
        }

        #[test]
        fn every_name_becomes_the_label_of_a_service(name in any_name(), other in any_name()) {
            let label = service_label(&name);
            prop_assert!(is_service_label(&label) && label.len() <= LABEL_LIMIT, "{label:?}");
            prop_assert!(!is_service_label(&name) || name.len() > LABEL_LIMIT || label == name, "{label:?}");
            prop_assert_eq!(label == service_label(&other), name == other);
        }

        #[test]
        fn names_that_differ_late_give_different_labels(start in "[a-z]{70}", one in "[a-z.]{1,9}", other in "[a-z.]{1,9}") {
            let labels = [&one, &other].map(|end| dns_label(&format!("{start}{end}")));
            prop_assert_eq!(labels[0] == labels[1], one == other);
        }
    }
}
