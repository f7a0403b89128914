//! Decides which statuses of a group's members are written.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::ObjectKey;
use crate::plan::{Refusal, RefusalReason};
use crate::response::MemberStatus;
use crate::text::displayed;

/// The most bytes of a member's name in a message: its namespace and name are shorter.
const NAME: usize = 320;

/// Returns the statuses of members, each member once, and the refusals of others.
pub fn decide<'a>(
    members: &BTreeSet<ObjectKey>,
    wanted: &'a [MemberStatus],
) -> (BTreeMap<&'a ObjectKey, &'a MemberStatus>, Vec<Refusal>) {
    let mut accepted = BTreeMap::new();
    let mut refused = Vec::new();
    for status in wanted {
        let shown = || displayed(&status.member, NAME);
        let problem = if !members.contains(&status.member) {
            format!(
                "the plugin returns a status of {}, which is no member of the group: it can be one of request.members only",
                shown()
            )
        } else if accepted.insert(&status.member, status).is_some() {
            format!("the plugin returns two statuses of {}: the last one is written; return one", shown())
        } else {
            continue;
        };
        refused.push(Refusal { child: None, reason: RefusalReason::InvalidMemberStatus, message: problem });
    }
    (accepted, refused)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_are_of_members_and_each_is_written_once() {
        let key = |name: &str| ObjectKey::new(Some("default"), name);
        let status = |name: &str, ready: bool| MemberStatus {
            member: key(name),
            status: json!({ "ready": ready }).as_object().cloned(),
            conditions: Vec::new(),
        };
        let wanted = [status("a", false), status("b", true), status("c", true), status("a", true)];
        let (accepted, refused) = decide(&[key("a"), key("b")].into(), &wanted);
        assert_eq!(accepted.into_values().collect::<Vec<_>>(), [&wanted[3], &wanted[1]]);
        let problems: Vec<&str> = refused.iter().map(|refusal| refusal.message.as_str()).collect();
        assert!(problems[0].contains("default/c, which is no member"), "{problems:?}");
        assert!(problems[1].contains("two statuses of default/a"), "{problems:?}");
    }
}
