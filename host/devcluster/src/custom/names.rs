//! What names may look like, with the sentences of apimachinery's `util/validation`.

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// What is wrong with a DNS label that starts with a letter.
pub(crate) fn dns_1035_label(name: &str) -> Option<String> {
    let bytes = name.as_bytes();
    let ends = bytes.first().is_some_and(u8::is_ascii_lowercase) && bytes.last().copied().is_some_and(alphanumeric);
    let mut wrong = Vec::new();
    if name.len() > 63 {
        wrong.push("must be no more than 63 characters");
    }
    if !ends || !bytes.iter().all(|byte| alphanumeric(*byte) || *byte == b'-') {
        wrong.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end \
             with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        );
    }
    Some(wrong.join(",")).filter(|wrong| !wrong.is_empty())
}

/// Whether `label` is a DNS label.
pub(crate) fn is_dns_1123_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().copied().is_some_and(alphanumeric)
        && bytes.last().copied().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(*byte) || *byte == b'-')
}

/// What is wrong with a DNS name.
pub(crate) fn dns_1123_subdomain(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.len() > 253 {
        wrong.push("must be no more than 253 characters".to_owned());
    }
    if !name.split('.').all(is_dns_1123_label) {
        wrong.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with \
             an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    wrong
}
