//! The names that Kubernetes accepts.

/// A DNS-1123 label: `[a-z0-9]([-a-z0-9]*[a-z0-9])?`, at most 63. E.g. a namespace.
pub fn is_dns_label(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 63
        && text.as_bytes().first().is_some_and(alphanumeric)
        && text.as_bytes().last().is_some_and(alphanumeric)
        && text.bytes().all(|byte| alphanumeric(&byte) || byte == b'-')
}

/// A DNS-1123 label that begins with a letter (DNS-1035). E.g. the version of an API.
pub fn is_dns_label_with_letter(text: &str) -> bool {
    is_dns_label(text) && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
}

/// A DNS-1123 subdomain: dotted labels, at most 253. Kubernetes does not limit each label to 63.
pub fn is_dns_subdomain(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 253
        && text.split('.').all(|part| {
            part.as_bytes().first().is_some_and(alphanumeric)
                && part.as_bytes().last().is_some_and(alphanumeric)
                && part.bytes().all(|byte| alphanumeric(&byte) || byte == b'-')
        })
}

/// Returns whether an object of this group may have this name: a DNS subdomain, but for Roles and
/// their bindings (`system:node`). The name becomes part of a URL, so this confines a plugin.
pub(crate) fn is_object_name(group: &str, name: &str) -> bool {
    if group != "rbac.authorization.k8s.io" {
        return is_dns_subdomain(name);
    }
    !name.is_empty()
        && name.len() <= 253
        && name != "."
        && name != ".."
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

/// Returns whether an object of any kind may have this name (`IsValidPathSegmentName` in
/// `k8s.io/apimachinery/pkg/api/validation/path`, at most 253 bytes), e.g. `2001:db8::1`.
pub fn may_name_an_object(name: &str) -> bool {
    !name.is_empty() && name.len() <= 253 && name != "." && name != ".." && !name.contains(['/', '%', '\0'])
}

/// The name of a kind: `[A-Z][A-Za-z0-9]*`, at most 63.
pub fn is_kind(text: &str) -> bool {
    text.len() <= 63
        && text.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_held_to_what_the_api_server_accepts() {
        let long_label = "a".repeat(63);
        let long_name = "a".repeat(253);
        for (check, accepted, refused) in [
            (
                is_dns_label as fn(&str) -> bool,
                vec!["a", "a-b", "0", long_label.as_str()],
                vec!["", "-a", "a-", "A", "a.b", "a_b"],
            ),
            (is_dns_label_with_letter, vec!["v1", "v1alpha1", "v1api20230101"], vec!["", "1", "V1", "v1.2"]),
            (is_dns_subdomain, vec!["a", "a.b", "0.a-b", long_name.as_str()], vec!["", ".", "a.", "a..b", "a/b", "..", "a%2f"]),
            (is_kind, vec!["Job", "J1"], vec!["", "job", "My-Kind", "1J"]),
        ] {
            for text in accepted {
                assert!(check(text), "{text:?} should be accepted");
            }
            for text in refused {
                assert!(!check(text), "{text:?} should be refused");
            }
        }
        assert!(!is_dns_label(&"a".repeat(64)));
        assert!(!is_dns_subdomain(&"a".repeat(254)));
        assert!(is_object_name("rbac.authorization.k8s.io", "gyre:Echo_1"));
        for name in ["", ".", "..", "a/b", "a?b", "a#b", "a%b", "a b"] {
            assert!(!is_object_name("rbac.authorization.k8s.io", name), "{name:?}");
        }
        assert!(!is_object_name("", "gyre:echo"));
        for name in ["a", "kube:admin", "2001:db8::1", "sha256:0", "A_b", long_name.as_str()] {
            assert!(may_name_an_object(name), "{name:?}");
        }
        for name in ["", ".", "..", "a/b", "a%2fb", "a\0b", "a".repeat(254).as_str()] {
            assert!(!may_name_an_object(name), "{name:?}");
        }
    }
}
