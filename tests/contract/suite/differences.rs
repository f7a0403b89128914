//! Known differences of devcluster from kube-apiserver. The list must stay short.

pub(crate) struct Difference {
    /// The name of the check, or `*` for all.
    pub(crate) check: &'static str,
    /// A JSON pointer from `/status`, `/headers`, `/body` or `/events`, with `*` and `**`.
    pub(crate) path: &'static str,
    /// The reason for the difference, and for keeping it.
    pub(crate) reason: &'static str,
}

pub(crate) const KNOWN: &[Difference] = &[
    Difference {
        check: "a_rule_that_failed_before_is_not_held_against_an_unchanged_field",
        path: "/headers/warning",
        reason: "faults that are forgiven since they were there before are not warned of",
    },
    Difference {
        check: "the_template_of_a_job_is_immutable",
        path: "/body/**",
        reason: "the message quotes the value with the names of Go's internal types, which are published nowhere",
    },
    Difference {
        check: "other_kinds_as_table",
        path: "/body/rows/0/object/metadata/annotations",
        reason: "an annotation that conversion to v1 adds to DaemonSets is stored here, and so is in their metadata alone too",
    },
    Difference {
        check: "an_object_is_read_through_each_version",
        path: "/body/metadata/managedFields",
        reason: "the real server forgets the owners when their fields are not in the schema of the version that is written",
    },
    Difference {
        check: "owner_references_are_validated",
        path: "/body/**",
        reason: "the message quotes the value with its fields in the order of Go's struct",
    },
];

#[test]
fn known_differences_are_few_and_have_a_reason() {
    for Difference { check, path, reason } in KNOWN {
        println!("known difference: {check} {path}: {reason}");
        assert!(reason.len() > 20, "{check} {path} needs a reason");
    }
    println!("{} known differences", KNOWN.len());
    assert!(KNOWN.len() <= 20, "that is another API, not a few differences");
}
