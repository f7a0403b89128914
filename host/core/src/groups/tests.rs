use proptest::prelude::*;
use serde_json::json;

use super::*;

fn by_field(pointer: &str) -> Grouping {
    Grouping::ByField(pointer.to_owned())
}

#[test]
fn a_field_with_a_scalar_value_puts_an_object_into_a_group() {
    let object =
        json!({ "metadata": { "labels": { "example.com/pool": "gold" } }, "spec": { "tier": 2, "on": true, "list": [] } });
    for (pointer, value) in [
        ("/metadata/labels/example.com~1pool", Some("gold")),
        ("/spec/tier", Some("2")),
        ("/spec/on", Some("true")),
        ("/spec/list", None),
        ("/spec", None),
        ("/spec/other", None),
    ] {
        let group = Group::of_member("tenants", &by_field(pointer), &object);
        assert_eq!(group, value.map(|value| Group::of_value("tenants", value.to_owned())), "{pointer}");
    }
    assert_eq!(Group::of_member("tenants", &Grouping::All, &object), Some(Group::all("tenants")));
}

/// Each change of one of its members would call the plugin about all.
#[test]
fn a_group_of_50_000_members_is_called_at_most_once_in_a_second() {
    let pauses = [0, 50, 50_000, 500_000, 50_000_000].map(pause);
    assert_eq!(pauses, [0, 1, 1_000, 10_000, 10_000].map(Duration::from_millis));
}

fn group() -> impl Strategy<Value = Option<(String, Membership)>> {
    let membership = prop_oneof![Just(Membership::Member), Just(Membership::NotSelected)];
    proptest::option::weighted(0.8, ("[a-c]{1}", membership))
}

proptest! {
    /// The index is what one gets by going through all objects.
    #[test]
    fn members_are_the_objects_whose_last_group_it_is(changes in proptest::collection::vec((0_u8..6, group()), 0..40)) {
        let mut index = MemberIndex::default();
        let mut last = BTreeMap::new();
        for (number, group) in changes {
            let key = ObjectKey::new(Some("default"), number.to_string());
            index.set(&key, group.as_ref().map(|(group, membership)| (&**group, *membership)));
            last.insert(key, group);
        }
        for group in ["a", "b", "c"] {
            let with = |wanted| {
                let has = move |(_, of): &(&ObjectKey, &Option<(String, Membership)>)| of.as_ref() == Some(&(group.to_owned(), wanted));
                last.iter().filter(has).map(|(key, _)| key).collect::<BTreeSet<_>>()
            };
            let (members, others) = (with(Membership::Member), with(Membership::NotSelected));
            let expected = match (members.is_empty(), others.is_empty()) {
                (false, _) => Some(Membership::Member),
                (true, false) => Some(Membership::NotSelected),
                (true, true) => None,
            };
            prop_assert_eq!(index.membership(group), expected);
            prop_assert_eq!(index.members(group).collect::<BTreeSet<_>>(), members);
        }
    }

    /// So that a host recognises its groups after a restart, and no group is another's.
    #[test]
    fn a_group_is_recognised_by_its_object(
        reconciler in "[a-z]([a-z0-9-]{0,8}[a-z0-9])?",
        other in "[a-z]([a-z0-9-]{0,8}[a-z0-9])?",
        value in proptest::option::of(".{0,12}"),
    ) {
        let group = value.map_or_else(|| Group::all(&reconciler), |value| Group::of_value(&reconciler, value));
        let mut object = group.object(&reconciler);
        prop_assert_eq!(Group::of_object(&reconciler, &object), Some(group));
        if other != reconciler {
            prop_assert_eq!(Group::of_object(&other, &object), None);
        }
        object["metadata"]["name"] = json!("made-by-hand");
        prop_assert_eq!(Group::of_object(&reconciler, &object), None);
    }

    #[test]
    fn pauses_grow_with_the_members_and_end(members in 0_usize..10_000_000) {
        prop_assert!(pause(members) <= pause(members + 1));
        prop_assert!(pause(members) <= LONGEST_PAUSE);
    }
}
