//! Names for children: an object's name may hold 253 characters and dots, but that of a Job or a container may not.

/// How long a DNS label may be (RFC 1123).
pub const LABEL_LIMIT: usize = 63;

/// 64 bits at 5 bits a character.
const HASH_LENGTH: usize = 13;

/// The shortest limit at which something of the name is left in front of the hash.
const MINIMUM_LIMIT: usize = HASH_LENGTH + 2;

/// The name itself if it is a valid DNS label (RFC 1123), otherwise a label made from it: what fits of it, and a hash of all of
/// it. It is the same every time, and different names give different labels but for a coincidence of 64 bits.
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

/// As [`dns_label`], with at most `limit` characters: a CronJob's name, for one, has at most 52. Limits below 15 count as 15,
/// and ones above [`LABEL_LIMIT`] as that.
pub fn dns_label_within(name: &str, limit: usize) -> String {
    let limit = limit.clamp(MINIMUM_LIMIT, LABEL_LIMIT);
    if name.len() <= limit && is_dns_label(name) {
        return name.to_owned();
    }
    let mut label = String::with_capacity(limit);
    for character in name.chars().take(limit - HASH_LENGTH - 1) {
        match character.to_ascii_lowercase() {
            allowed @ ('a'..='z' | '0'..='9') => label.push(allowed),
            // A label starts with a letter or digit.
            _ if label.is_empty() => {}
            _ => label.push('-'),
        }
    }
    label.truncate(label.trim_end_matches('-').len());
    if !label.is_empty() {
        label.push('-');
    }
    push_hash(&mut label, name);
    label
}

fn is_dns_label(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_inner) && !name.starts_with('-') && !name.ends_with('-')
}

/// Appends 64 bits of FNV-1a in base 32: stable for ever, and a few instructions long.
fn push_hash(label: &mut String, name: &str) {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = name.bytes().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    for _ in 0..HASH_LENGTH {
        let digit = (hash & 31) as u8;
        label.push(char::from(if digit < 26 { b'a' + digit } else { b'2' + (digit - 26) }));
        hash >>= 5;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hash_never_changes() {
        // Children are found by these names in clusters that an older plugin wrote to.
        assert_eq!(dns_label("hello.world"), "hello-world-53hocbaalbhrb");
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
        fn names_that_differ_late_give_different_labels(start in "[a-z]{70}", one in "[a-z.]{1,9}", other in "[a-z.]{1,9}") {
            let labels = [&one, &other].map(|end| dns_label(&format!("{start}{end}")));
            prop_assert_eq!(labels[0] == labels[1], one == other);
        }
    }
}
