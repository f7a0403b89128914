//! The syntax of names, labels, keys etc., as in apimachinery's `pkg/util/validation`.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_MESSAGE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
                             with an alphanumeric character";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035_MESSAGE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                                  character, and end with an alphanumeric character";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_MESSAGE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                                 start and end with an alphanumeric character";
const WILDCARD: &str = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const WILDCARD_MESSAGE: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
                                lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_KEY_MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                                 character";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const LABEL_VALUE_MESSAGE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                                   start and end with an alphanumeric character";
const CONFIG_KEY_MESSAGE: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
const ENVIRONMENT_MESSAGE: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const HEADER_MESSAGE: &str = "a valid HTTP header must consist of alphanumeric characters or '-'";
const PERCENT_MESSAGE: &str = "a valid percent string must be a numeric string followed by an ending '%'";
const HTTP_PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;

/// `MaxLenError`.
pub(crate) fn too_long(length: usize) -> String {
    format!("must be no more than {length} characters")
}

/// `RegexError`.
fn pattern(message: &str, pattern: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{message} (regex used for validation is '{pattern}')");
    }
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

pub(crate) fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_label_key_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// `IsDNS1123Label`.
pub(crate) fn dns_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > LABEL_LENGTH {
        errors.push(too_long(LABEL_LENGTH));
    }
    if !is_label(text) {
        errors.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            pattern(LABEL_MESSAGE, LABEL, &["my-name", "123-abc"])
        });
    }
    errors
}

/// `IsDNS1035Label`.
pub(crate) fn dns_1035_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > LABEL_LENGTH {
        errors.push(too_long(LABEL_LENGTH));
    }
    if !is_label(text) || !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        errors.push(pattern(LABEL_1035_MESSAGE, LABEL_1035, &["my-name", "abc-123"]));
    }
    errors
}

/// `IsDNS1123Subdomain`.
pub(crate) fn dns_subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH {
        errors.push(too_long(SUBDOMAIN_LENGTH));
    }
    if !is_subdomain(text) {
        errors.push(pattern(SUBDOMAIN_MESSAGE, SUBDOMAIN, &["example.com"]));
    }
    errors
}

/// `IsWildcardDNS1123Subdomain`.
pub(crate) fn wildcard_subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH {
        errors.push(too_long(SUBDOMAIN_LENGTH));
    }
    if !text.strip_prefix("*.").is_some_and(is_subdomain) {
        errors.push(pattern(WILDCARD_MESSAGE, WILDCARD, &["*.example.com"]));
    }
    errors
}

/// `IsQualifiedName`, for keys of labels, and in lower case for keys of annotations.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let examples = ["MyName", "my.name", "123-abc"];
    let mut errors = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(dns_subdomain(prefix).into_iter().map(|message| format!("prefix part {message}")));
            }
            *name
        }
        _ => {
            let rule = pattern(LABEL_KEY_MESSAGE, LABEL_KEY, &examples);
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LENGTH {
        errors.push(format!("name part {}", too_long(LABEL_LENGTH)));
    }
    if !is_label_key_name(name) {
        errors.push(format!("name part {}", pattern(LABEL_KEY_MESSAGE, LABEL_KEY, &examples)));
    }
    errors
}

/// `IsValidLabelValue`.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > LABEL_LENGTH {
        errors.push(format!("must be no more than {LABEL_LENGTH} bytes"));
    }
    if !text.is_empty() && !is_label_key_name(text) {
        errors.push(pattern(LABEL_VALUE_MESSAGE, LABEL_VALUE, &["MyValue", "my_value", "12345"]));
    }
    errors
}

/// `IsConfigMapKey`: keys of ConfigMaps and Secrets.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH {
        errors.push(too_long(SUBDOMAIN_LENGTH));
    }
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        errors.push(pattern(CONFIG_KEY_MESSAGE, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." => errors.push("must not be '.'".to_owned()),
        ".." => errors.push("must not be '..'".to_owned()),
        text if text.starts_with("..") => errors.push("must not start with '..'".to_owned()),
        _ => {}
    }
    errors
}

/// `IsRelaxedEnvVarName`.
pub(crate) fn environment_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.is_empty() {
        errors.push("environment variable name must be non-empty".to_owned());
    }
    if text.bytes().any(|byte| !(b' '..=b'~').contains(&byte) || byte == b'=') {
        errors.push(ENVIRONMENT_MESSAGE.to_owned());
    }
    errors
}

/// `IsHTTPHeaderName`.
pub(crate) fn header_name(text: &str) -> Vec<String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Vec::new();
    }
    vec![pattern(HEADER_MESSAGE, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// `IsValidPercent`.
pub(crate) fn percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    vec![pattern(PERCENT_MESSAGE, "[0-9]+%", &["1%", "93%"])]
}

/// `IsInRange`.
pub(crate) fn in_range(number: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&number) { Vec::new() } else { vec![format!("must be between {low} and {high}, inclusive")] }
}

/// `IsValidPortNum`.
pub(crate) fn port_number(number: i64) -> Vec<String> {
    in_range(number, 1, 65535)
}

/// `IsValidPortName`.
pub(crate) fn port_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 15 {
        errors.push(too_long(15));
    }
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// `IsPathSegmentName`, or `IsValidPathSegmentPrefix`.
pub(crate) fn path_segment(text: &str, whole: Whole) -> Vec<String> {
    if whole == Whole::Name && (text == "." || text == "..") {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"].iter().filter(|part| text.contains(**part)).map(|part| format!("may not contain '{part}'")).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    Name,
    Prefix,
}

/// Validates the path of a domain-prefixed path such as `acme.io/foo`.
pub(crate) fn http_path(text: &str) -> Vec<String> {
    let admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !text.is_empty() && text.bytes().all(admitted) { Vec::new() } else { vec![pattern("Invalid path", HTTP_PATH, &[])] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_apimachinery_does() {
        let fits = |errors: Vec<String>| errors.is_empty();
        for good in
            ["a", "ab", "a1", "a-1", "a--1--2--b", "0", "1-a", "a.a", "ab.a", "1.2.3.4.5", "a.b.c.d.e", &"a".repeat(253)]
        {
            assert!(fits(dns_subdomain(good)), "{good}");
        }
        for bad in
            ["", "A", "aBc", "-", "a-", "-a", "_", "a_b", ".", "a.", ".a", "a..b", " ", "a ", "a@b", "a.B", &"a".repeat(254)]
        {
            assert!(!fits(dns_subdomain(bad)), "{bad}");
        }
        for bad in ["", "A", "a.b", "a_b", "-a", &"a".repeat(64)] {
            assert!(!fits(dns_label(bad)), "{bad}");
        }
        for good in
            ["simple", "now-with-dashes", "1-starts-with-num", "1234", "simple/simple", "1.2.3.4/5678", "Uppercase_Is_OK_123"]
        {
            assert!(fits(qualified_name(good)), "{good}");
        }
        for bad in [
            "nospecialchars%^=@",
            "cantendwithadash-",
            "-cantstartwithadash-",
            "only/one/slash",
            "Example.com/abc",
            "/simple",
            "",
        ] {
            assert!(!fits(qualified_name(bad)), "{bad}");
        }
        for bad in ["", "-", "0", "a--b", "-a", "a-", "toolongtoolonglo"] {
            assert!(!fits(port_name(bad)), "{bad}");
        }
        assert!(fits(port_name("http-2")));
    }

    #[test]
    fn sentences_are_those_of_apimachinery() {
        assert_eq!(
            dns_subdomain("Hello_World"),
            [
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
              alphanumeric character (e.g. 'example.com', regex used for validation is \
              '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]
        );
        assert_eq!(
            label_value("a b"),
            [
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
              alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
              '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ]
        );
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
    }
}
