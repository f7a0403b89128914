//! The messages that are compared: all of them, up to the first text that devcluster replaces by
//! its own words.
//!
//! A message is compared like every other part of an answer, because people and programs read it.
//! But some of the API server's messages are made by Go's libraries out of Go's types, values or
//! states of a parser, and would take another such library to reproduce. There devcluster says the
//! same in its own words. For these, [`OWN_WORDS`] lists how the API server's text begins: what is
//! before it must still be equal, and something must follow.
//!
//! Code, reason, and the reason and field of each cause are always compared.

/// Texts of the API server that devcluster replaces by its own words.
pub(crate) struct OwnWords {
    /// Where in a message they are.
    place: Place,
    /// The beginnings of the texts.
    texts: &'static [&'static str],
    /// The reason for not reproducing them.
    reason: &'static str,
}

#[derive(PartialEq)]
enum Place {
    Start,
    Anywhere,
}

/// All of them.
const OWN_WORDS: &[OwnWords] = &[
    OwnWords {
        place: Place::Anywhere,
        texts: &["json: cannot unmarshal ", "illegal base64 data"],
        reason: "Go's decoder names the structs of Go around a value of the wrong type; devcluster names its path",
    },
    OwnWords {
        place: Place::Anywhere,
        texts: &["parsing time \""],
        reason: "Go describes its parser's state and layout; devcluster shows the form of a time",
    },
    OwnWords {
        place: Place::Anywhere,
        texts: &["unexpected end of JSON input", "invalid character '"],
        reason: "the errors of Go's JSON parser; devcluster has those of serde_json, with line and column",
    },
    OwnWords {
        place: Place::Anywhere,
        texts: &["error parsing regexp: "],
        reason: "the errors of Go's regexp parser, which quote its remaining input; devcluster gives the place",
    },
    OwnWords {
        place: Place::Anywhere,
        texts: &[
            "expected exactly 5 fields",
            "failed to parse int from ",
            "failed to parse duration ",
            "negative number (",
            "beginning of range (",
            "end of range (",
            "step of range ",
            "too many hyphens: ",
            "too many slashes: ",
            "unrecognized descriptor: ",
            "provided bad location ",
            "invalid schedule format: ",
        ],
        reason: "robfig/cron has an error for each step of its parser; devcluster says what the field may be",
    },
    OwnWords {
        place: Place::Anywhere,
        texts: &["compilation failed: ERROR: <input>:"],
        reason: "cel-go shows the place in the expression; the checker of devcluster works on a tree without places",
    },
    OwnWords {
        place: Place::Start,
        texts: &["unable to parse requirement: ", "found '"],
        reason: "gyre-core reads label selectors for plugins, too, and has one set of errors",
    },
    OwnWords {
        place: Place::Anywhere,
        texts: &["expected numeric (int or float), got ", ", got &"],
        reason: "structured-merge-diff prints Go values; devcluster names the type of the value",
    },
    OwnWords {
        place: Place::Start,
        texts: &[
            "map: map[",
            "unknown patch type: ",
            "list element types are not identical: ",
            "expected a []interface {}",
            "expected a map[string]interface {}",
            "The order in patch list:",
            "unable to find api field in struct ",
        ],
        reason: "a strategic merge patch prints Go values and types; devcluster prints JSON",
    },
    OwnWords {
        place: Place::Anywhere,
        texts: &["Invalid value: \"map["],
        reason: "the API server shows a strategic merge patch as a Go value; devcluster shows the patched object",
    },
];

/// Returns whether a message is as expected from the API server's.
pub(crate) fn is_same(expected: &str, found: &str) -> bool {
    let starts = OWN_WORDS.iter().flat_map(|OwnWords { place, texts, .. }| {
        let starts = texts.iter().filter_map(|text| expected.find(text));
        starts.filter(|start| *place == Place::Anywhere || *start == 0)
    });
    match starts.min() {
        Some(start) => found.len() > start && found.get(..start) == expected.get(..start),
        None => found == expected,
    }
}

#[test]
fn own_words_have_a_reason() {
    for OwnWords { texts, reason, .. } in OWN_WORDS {
        println!("own words in place of {texts:?}: {reason}");
        assert!(!texts.is_empty() && texts.iter().all(|text| text.len() > 5) && reason.len() > 20, "{texts:?}");
    }
}

#[test]
fn a_message_is_compared_up_to_our_own_words() {
    let expected = "spec.schedule: Invalid value: \"x\": failed to parse int from x: strconv.Atoi: …";
    assert!(is_same(expected, "spec.schedule: Invalid value: \"x\": `x` is not a minute"));
    assert!(!is_same(expected, "spec.timeZone: Invalid value: \"x\": `x` is not a minute"));
    assert!(!is_same(expected, "spec.schedule: Invalid value: \"x\": "));
    assert!(is_same("found '=', expected: !", "it ends where a key is expected"));
    assert!(!is_same("expected type 'bool' but found 'int'", "expected type 'bool' but found 'uint'"));
    assert!(is_same("configmaps \"a\" not found", "configmaps \"a\" not found"));
    assert!(!is_same("configmaps \"a\" not found", "configmaps \"b\" not found"));
}
