//! Where devcluster is known to differ from kube-apiserver, and why. Short, or something is wrong.

/// One known difference.
pub(crate) struct Difference {
    /// The check, or `*` for all.
    pub(crate) check: &'static str,
    /// The place in the answer as a JSON path that begins with `/status`, `/headers`, `/body` or `/events`; `*` is any one
    /// step, and a last `**` any number of them.
    pub(crate) path: &'static str,
    /// Why it is so, and why it is left so.
    pub(crate) reason: &'static str,
}

/// All of them.
pub(crate) const KNOWN: &[Difference] = &[];

#[test]
fn known_differences_are_few_and_have_a_reason() {
    for Difference { check, path, reason } in KNOWN {
        println!("known difference: {check} {path}: {reason}");
        assert!(reason.len() > 20, "{check} {path} needs a reason");
    }
    println!("{} known differences", KNOWN.len());
    assert!(KNOWN.len() <= 20, "that is another API, not a few differences");
}
