use proptest::prelude::*;
use serde_json::json;

use super::*;

const UNBOUNDED: HistoryLimits = HistoryLimits { changes: usize::MAX, bytes: usize::MAX };

fn resource(number: usize) -> Resource {
    Resource::new("x.test", &format!("kind{number}"))
}

fn object(size: usize) -> Value {
    json!({ "metadata": { "name": "a" }, "data": "x".repeat(size) })
}

#[test]
fn the_history_of_all_kinds_is_bounded_in_bytes() {
    const BYTES: usize = 1 << 20;
    let mut store = Store::new(HistoryLimits { changes: usize::MAX, bytes: BYTES });
    let quiet = resource(0);
    store.put(&quiet, &Key::new("", "a"), object(1));
    store.put(&quiet, &Key::new("", "a"), object(1));
    let before = store.revision();
    for number in 0..1_000 {
        store.put(&resource(1 + number % 3), &Key::new("", "a"), object(100_000));
        assert!(store.history_bytes() <= BYTES, "{} bytes", store.history_bytes());
    }
    let kept: usize = (0..4).map(|kind| store.tables[&resource(kind)].history.len()).sum();
    assert!((3..10).contains(&kept), "{kept} changes are kept");
    // The oldest changes of all kinds are forgotten first; watches after them continue.
    assert!(store.changes_since(&quiet, before - 1).is_err());
    assert_eq!(store.changes_since(&quiet, before).unwrap().count(), 0);
}

#[test]
fn kinds_that_are_no_longer_served_leave_few_tables() {
    let mut store = Store::new(UNBOUNDED);
    for number in 0..1_000 {
        let kind = resource(number);
        store.begin(&kind);
        store.put(&kind, &Key::new("", "a"), object(1_000));
        store.remove(&kind, &Key::new("", "a"));
        store.end(&kind);
    }
    assert_eq!(store.table_count(), ENDED_TABLES);
    assert!(store.history_bytes() < ENDED_TABLES * 20_000, "{} bytes", store.history_bytes());
    let last: Vec<Presence> =
        store.changes_since(&resource(999), store.revision() - 2).unwrap().map(|change| change.presence).collect();
    assert_eq!(last, [Presence::Present, Presence::Deleted]);
}

#[test]
fn a_kind_that_is_served_again_has_no_history_and_its_objects() {
    let mut store = Store::new(UNBOUNDED);
    let kind = resource(0);
    store.begin(&kind);
    store.put(&kind, &Key::new("", "a"), object(1));
    store.end(&kind);
    store.begin(&kind);
    assert!(store.changes_since(&kind, store.revision() - 1).is_err());
    assert_eq!(store.count(&kind, None), 1);
    assert_eq!(store.history_bytes(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize, usize, usize),
    Remove(usize, usize),
    Begin(usize),
    End(usize),
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4_usize, 0..3_usize, 0..2_000_usize).prop_map(|(kind, key, size)| Step::Put(kind, key, size)),
        3 => (0..4_usize, 0..3_usize).prop_map(|(kind, key)| Step::Remove(kind, key)),
        1 => (0..4_usize).prop_map(Step::Begin),
        1 => (0..4_usize).prop_map(Step::End),
        1 => Just(Step::Compact),
    ]
}

proptest! {
    #[test]
    fn the_counted_size_of_the_history_is_its_size(steps in prop::collection::vec(step(), 0..60), changes in 1..20_usize, bytes in 1_000..40_000_usize) {
        let mut store = Store::new(HistoryLimits { changes, bytes });
        let key = |number: usize| Key::new("", &number.to_string());
        for step in steps {
            match step {
                Step::Put(kind, name, size) => drop(store.put(&resource(kind), &key(name), object(size))),
                Step::Remove(kind, name) => drop(store.remove(&resource(kind), &key(name))),
                Step::Begin(kind) => store.begin(&resource(kind)),
                Step::End(kind) => store.end(&resource(kind)),
                Step::Compact => store.compact(),
            }
            let histories = || store.tables.values().flat_map(|table| &table.history);
            prop_assert_eq!(store.history_bytes(), histories().map(Change::footprint).sum::<usize>());
            prop_assert!(store.history_bytes() <= bytes);
            let numbers: BTreeSet<u64> = histories().map(|change| change.revision).collect();
            prop_assert_eq!(store.history_order.keys().copied().collect::<BTreeSet<_>>(), numbers);
            for table in store.tables.values() {
                prop_assert!(table.history.len() <= changes);
                prop_assert!(table.history.iter().all(|change| change.revision > table.forgotten));
            }
        }
    }
}
