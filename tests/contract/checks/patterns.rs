//! `pattern` in schemas, in the dialect of Go's `regexp` package.

use serde_json::{Value, json};

use crate::suite::objects::{widget, widget_crd};
use crate::suite::probe::Probe;
use crate::suite::registry::checks;

checks! { Api:
    a_pattern_is_in_the_dialect_of_go,
    an_invalid_pattern_is_refused,
}

const WIDGETS: &str = "{group}/v1/widgets";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Patterns, each with matching and other texts.
const DIALECT: &[(&str, &[&str], &[&str])] = &[
    (r"^\d+$", &["0123456789"], &["\u{664}\u{665}", "\u{ff11}", "x"]),
    (r"^\D$", &["\u{664}", "x"], &["1"]),
    (r"^\w+$", &["aZ_9"], &["\u{e4}", "\u{17f}", "-"]),
    (r"^\W$", &["\u{e4}", "-"], &["a"]),
    (r"^\s$", &["\t", "\n", "\u{c}", "\r", " "], &["\u{b}", "\u{85}", "\u{a0}", "\u{2003}"]),
    (r"^\S$", &["\u{b}", "\u{a0}"], &[" "]),
    (r"\bword\b", &["\u{e4}word\u{e4}", "a word"], &["swords"]),
    (r"^a\Bb$", &["ab"], &["a b"]),
    ("^[^[]+$", &["abc", "]"], &["a[b"]),
    ("^[[]$", &["["], &["]"]),
    ("^[]a]+$", &["]a"], &["b"]),
    ("^[^]a]+$", &["b"], &["]"]),
    ("^[a&&b]+$", &["&", "a", "b"], &["c"]),
    ("^[a~~b]+$", &["~a"], &["c"]),
    ("^[+--]+$", &["+", ",", "-"], &["."]),
    (r"^[\w.-]+$", &["a.b-c"], &["a b", "\u{e4}"]),
    (r"^[\d-x]+$", &["1-x"], &["y"]),
    (r"^[\Wa]+$", &["a-\u{e4}"], &["b"]),
    ("^[[:alpha:]]+$", &["abc"], &["\u{e4}", "1"]),
    ("^[[:^alpha:]]+$", &["1\u{e4}"], &["a"]),
    ("^[[:word:]]+$", &["a_1"], &["-"]),
    ("^{x}$", &["{x}"], &["x"]),
    ("^a{$", &["a{"], &["a"]),
    ("^a{,2}$", &["a{,2}"], &["a", "aa"]),
    ("^a{1,x}$", &["a{1,x}"], &["a"]),
    ("^a{2}$", &["aa"], &["a"]),
    ("^a{2,}?$", &["aaa"], &["a"]),
    ("^a{0,1000}$", &["aaa"], &["b"]),
    ("^}]$", &["}]"], &["x"]),
    (r"^\Qa.b*\E$", &["a.b*"], &["axb"]),
    (r"^\Qa.b", &["a.b"], &["axb"]),
    (r"^\<\>\_\-\/\#\ $", &["<>_-/# "], &["x"]),
    (r"^\x41\x{42}\x{1F600}$", &["AB\u{1f600}"], &["x"]),
    (r"^\101\012$", &["A\n"], &["x"]),
    (r"^\a\f\t\n\r\v$", &["\u{7}\u{c}\t\n\r\u{b}"], &["x"]),
    (r"^\pL\p{Greek}\P{Lu}\p{^Lu}\PN$", &["a\u{3b1}bcd"], &["a\u{3b1}BCD"]),
    (r"^[\pL\p{^Nd}]$", &["a", "-"], &["1"]),
    (r"(?i)^\w+s$", &["K\u{17f}", "\u{212a}S"], &["-"]),
    ("(?i)^[^a]$", &["b"], &["A"]),
    ("(?s)^.$", &["\n", "x"], &["xx"]),
    ("^.$", &["x"], &["\n"]),
    ("(?m)^b$", &["a\nb\nc"], &["abc"]),
    ("^b$", &["b"], &["a\nb", "b\n"]),
    (r"\Ab\z", &["b"], &["a\nb"]),
    ("(?U)^a+$", &["aaa"], &["b"]),
    ("^(?:a|)(?P<n>b)(?<m>c)$", &["abc", "bc"], &["ab"]),
    ("^(?i:A)b$", &["ab"], &["aB"]),
    ("^(|a)$", &["", "a"], &["b"]),
    ("^a#b c$", &["a#b c"], &["ab"]),
    ("^(?:(?:a*)*)*$", &["aaa"], &["b"]),
];

const INVALID: &[&str] = &[
    "(",
    ")",
    "a)",
    "(?:a",
    "[",
    "[a",
    "[]",
    "[^]",
    "[b-a]",
    r"[a-\d]",
    "*",
    "+a",
    "a|*",
    "(*)",
    "a**",
    "a*+",
    "a+?*",
    "a???",
    "a{2}{3}",
    "a{1001}",
    "a{2,1}",
    "(a{100}){100}",
    "a{1,1001}",
    r"\1",
    r"\8",
    r"\y",
    r"\Z",
    r"\C",
    r"\u0041",
    r"\xg",
    r"\x{110000}",
    r"\x{}",
    r"a\",
    r"\pX",
    r"\p{Nonsense}",
    r"\p",
    r"\p{L",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    "(?<!a)",
    "(?>a)",
    "(?x)a",
    "(?i",
    "(?",
    "(?P<a",
    "(?P<a b>c)",
    "(?P=a)",
    "(?<1a>b",
    "(?<>b)",
    "[[:nonsense:]]",
    r"[\b]",
    r"[\Q]",
    "(?i-)",
    "(?-)",
    "\u{e4}\\\u{e4}",
];

async fn a_pattern_is_in_the_dialect_of_go(server: &Probe) {
    let name = |index: usize| format!("p{index:02}");
    let patterns = DIALECT.iter().enumerate().map(|(index, (pattern, ..))| {
        let lists = json!({"type": "array", "items": {"type": "string", "pattern": pattern}});
        (name(index), lists)
    });
    let properties: serde_json::Map<_, _> = patterns.collect();
    server.install(widget_crd(json!({"type": "object", "properties": properties}))).await;
    let spec = |texts: &dyn Fn(usize) -> Value| -> Value {
        (0..DIALECT.len()).map(|index| (name(index), texts(index))).collect::<serde_json::Map<_, _>>().into()
    };
    let matching = spec(&|index| json!(DIALECT[index].1));
    server.post(WIDGETS).query("dryRun=All").body(widget("a", matching)).expect(201).await;
    // One text per object, so that the answer names it.
    for (index, (pattern, _, others)) in DIALECT.iter().enumerate() {
        for text in *others {
            let body = widget("a", json!({ name(index): [text] }));
            let answer = server.post(WIDGETS).query("dryRun=All").body(body).expect(422).await;
            assert!(answer.message().contains("should match"), "{pattern} and {text:?}: {}", answer.message());
        }
    }
}

async fn an_invalid_pattern_is_refused(server: &Probe) {
    for pattern in INVALID {
        let crd = widget_crd(json!({"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}));
        let answer = server.post(CRDS).query("dryRun=All").body(crd).send().await;
        assert_eq!(answer.status, 422, "{pattern} is answered with {:#}", answer.body);
        assert!(answer.message().contains("must be a valid regular expression, but isn't: "), "{}", answer.message());
    }
}
