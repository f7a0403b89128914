//! The syntax of names, label keys and label values in Kubernetes.

/// A DNS-1123 label, e.g. the name of a namespace: `[a-z0-9]([-a-z0-9]*[a-z0-9])?`, at most 63.
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

/// A DNS-1123 subdomain: labels with dots between them, at most 253. Unlike the DNS, Kubernetes
/// does not limit each label to 63.
pub fn is_dns_subdomain(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 253
        && text.split('.').all(|part| {
            part.as_bytes().first().is_some_and(alphanumeric)
                && part.as_bytes().last().is_some_and(alphanumeric)
                && part.bytes().all(|byte| alphanumeric(&byte) || byte == b'-')
        })
}

/// Returns whether a label may have this key: `name` or `example.com/name`.
pub fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_label_name(name),
        None => is_label_name(text),
    }
}

/// Returns whether a label may have this value, which may be empty.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_label_name(text)
}

/// The name in a label's key, or a label's value: `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`, at
/// most 63.
fn is_label_name(text: &str) -> bool {
    text.len() <= 63
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && text.as_bytes().last().is_some_and(u8::is_ascii_alphanumeric)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Returns whether an object of this group may have this name. The names of Roles and their
/// bindings may have colons and capitals (`system:node`); those of all other kinds that a plugin
/// would create are DNS subdomains.
///
/// The name becomes part of a URL: this check also prevents that a plugin addresses anything else.
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

/// Returns whether an object of any kind, also of an aggregated API, may have this name: it is a
/// segment of a path (`IsValidPathSegmentName` in `k8s.io/apimachinery/pkg/api/validation/path`) of
/// at most 253 bytes. Most kinds allow less, but the rules of a kind are not known here: a User of
/// OpenShift may be called `kube:admin`, an IPAddress `2001:db8::1`.
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
            (
                is_label_key,
                vec!["a", "A_b.c-1", "example.com/a", long_label.as_str()],
                vec!["", "-a", "a-", "a b", "/a", "a/", "A/b", "a/b/c", "\u{e4}"],
            ),
            (is_label_value, vec!["", "a", "A_b.c-1", long_label.as_str()], vec!["-a", "a-", "a b", "a/b"]),
        ] {
            for text in accepted {
                assert!(check(text), "{text:?} should be accepted");
            }
            for text in refused {
                assert!(!check(text), "{text:?} should be refused");
            }
        }
        assert!(!is_dns_label(&"a".repeat(64)));
        assert!(!is_label_value(&"a".repeat(64)) && !is_label_key(&"a".repeat(64)));
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
