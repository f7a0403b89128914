//! Masks the parts of a transcript that vary.

use std::sync::LazyLock;

use regex::Regex;

/// An age in a cell of a table or in parentheses.
const AGE: &str = r"(?m)([ (])(?:\d+[smhdy])+(?: ago)?(?: +|(\))|$)";

/// The masks in order, because later matches may be within earlier ones.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let masks = [
        // helm fills its columns before tabs, and trailing zeros shorten times.
        (r" +\t", "\t"),
        // The log of client-go when a watch is stopped depends on the moment.
        (r"(?m)^[IWE]\d{4} .* reflector\.go:\d+\] .*\n", ""),
        // Messages that devcluster words itself: `tests/contract/suite/messages.rs` lists them,
        // with the reasons.
        (
            r"(cannot be handled as a \w+: |patch: Invalid value: <object>: )(?:json: cannot unmarshal |\S+: expected ).*",
            "$1<wrong type>",
        ),
        (r"(: expected \w+, got )(?:&value\.valueUnstructured\{Value:\w+\}|\w+)", "$1<value>"),
        (r"(unable to parse requirement: ).*", "$1<why>"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<time>"),
        (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
        (r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d( UTC)? \d{4}", "<time>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( [+-]\d{4} UTC)?", "<time>"),
        (r"\b(LIVE|MERGED)-\d+", "$1-<n>"),
        (r#"(resourceVersion"?: ?|Resource Version: +)"?\d+"?"#, "$1<revision>"),
        // The width of an age moves the cells after it.
        (AGE, "$1<age>$2  "),
        // An age after another, whose match took the space between.
        (AGE, "$1<age>$2  "),
        (r"(?m)^(?:\d+[smhdy])+(?: ago)? +", "<age>  "),
    ];
    masks.into_iter().map(|(pattern, mask)| (Regex::new(pattern).unwrap(), mask)).collect()
});

/// Replaces everything that varies by placeholders.
pub(super) fn mask(text: &str) -> String {
    MASKS.iter().fold(text.to_owned(), |text, (pattern, mask)| pattern.replace_all(&text, *mask).into_owned())
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn only_what_varies_is_masked() {
        let check = |text: &str, expected: &str| assert_eq!(mask(text), expected);
        check("NAME   AGE\na      12s\nb      3d4h", "NAME   AGE\na      <age>  \nb      <age>  ");
        check("a   12s   nginx", "a   <age>  nginx");
        check("a   1s    nginx", "a   <age>  nginx");
        check("a   12s   3m", "a   <age>  <age>  ");
        check("uid: 01234567-89ab-cdef-0123-456789abcdef", "uid: <uid>");
        check("  resourceVersion: \"17\"", "  resourceVersion: <revision>");
        check("at: \"2026-01-02T03:04:05Z\" for 5 s", "at: \"<time>\" for 5 s");
        check("Created:  Fri, 02 Jan 2026 03:04:05 +0000", "Created:  <time>");
        check("--- /tmp/LIVE-123/v1.ConfigMap", "--- /tmp/LIVE-<n>/v1.ConfigMap");
        check("a\nE1121 10:33:48.465102   29075 reflector.go:227] \"Failed\"\nb", "a\nb");
        check("--timeout=30s", "--timeout=30s");
        check("cannot be handled as a A: json: cannot unmarshal number into a", "cannot be handled as a A: <wrong type>");
        check("cannot be handled as a A: data[a]: expected string, got number 1", "cannot be handled as a A: <wrong type>");
        check(".a: expected string, got &value.valueUnstructured{Value:true}\"", ".a: expected string, got <value>\"");
        check(".a: expected string, got boolean\"", ".a: expected string, got <value>\"");
    }
}
