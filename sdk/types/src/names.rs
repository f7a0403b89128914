//! Names in Rust for names in JSON.

/// The keywords of Rust, which no field can be called.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut",
    "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Returns the words of a name, in lower case: `externalIPs` has `external` and `ips`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let at = |index: usize| letters.get(index).copied().unwrap_or(' ');
    let mut words: Vec<String> = Vec::new();
    let mut is_new = true;
    for (index, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            is_new = true;
            continue;
        }
        let previous = if index == 0 { ' ' } else { at(index - 1) };
        let ends_acronym =
            previous.is_ascii_uppercase() && at(index + 1).is_ascii_lowercase() && !is_plural(at(index + 1), at(index + 2));
        let begins = letter.is_ascii_uppercase() && (!previous.is_ascii_uppercase() || ends_acronym);
        if is_new || begins {
            words.push(String::new());
        }
        is_new = false;
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words
}

/// Returns whether these letters after an acronym are its plural, as in `IPs`.
fn is_plural(next: char, after: char) -> bool {
    next == 's' && !after.is_ascii_lowercase()
}

/// Returns a name in snake case, which is an identifier unless it is a keyword.
pub(crate) fn snake(name: &str) -> String {
    let joined = words(name).join("_");
    if joined.starts_with(|first: char| first.is_ascii_digit()) || joined.is_empty() { format!("n{joined}") } else { joined }
}

/// Returns whether no function can be called so.
pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Returns an identifier in camel case. Acronyms are kept: `HTTPGetAction`.
pub(crate) fn camel(name: &str) -> String {
    let mut camel = String::new();
    let mut is_new = true;
    for letter in name.chars() {
        match letter {
            '+' => camel.push_str("Plus"),
            _ if !letter.is_ascii_alphanumeric() => {}
            _ if is_new => camel.push(letter.to_ascii_uppercase()),
            _ => camel.push(letter),
        }
        is_new = !letter.is_ascii_alphanumeric();
    }
    match camel.chars().next() {
        None => "Empty".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("N{camel}"),
        Some(_) if camel == "Self" => "Self_".to_owned(),
        Some(_) => camel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acronyms_are_one_word() {
        let snakes = [
            "concurrencyPolicy",
            "clusterIP",
            "externalIPs",
            "podCIDRs",
            "hostIPC",
            "HTTPHeaders",
            "fsGroup",
            "awsEBS2Id",
            "a-b.c",
        ];
        let expected = [
            "concurrency_policy",
            "cluster_ip",
            "external_ips",
            "pod_cidrs",
            "host_ipc",
            "http_headers",
            "fs_group",
            "aws_ebs2_id",
            "a_b_c",
        ];
        assert_eq!(snakes.map(snake), expected);
    }

    #[test]
    fn every_name_gives_an_identifier() {
        assert_eq!(["type", "$ref", "-", "1st", "fooBar"].map(snake), ["type", "ref", "n", "n1st", "foo_bar"]);
        assert_eq!(
            ["", "SIGRTMAX-1", "SIGRTMIN+1", "10x", "self", "bare-metal"].map(camel),
            ["Empty", "SIGRTMAX1", "SIGRTMINPlus1", "N10x", "Self_", "BareMetal"]
        );
    }
}
