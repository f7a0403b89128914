use std::collections::BTreeMap;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

type Reader = u8;
/// Few, so that they meet.
const READERS: Reader = 4;

#[derive(Clone, Debug, PartialEq)]
struct Object {
    labels: BTreeMap<String, String>,
    version: usize,
}

impl Object {
    fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        self.labels.get(name).map(|value| value.as_str().into())
    }
}

type Cluster = BTreeMap<(GroupVersionKind, ObjectKey), Object>;

fn evaluate<'cluster>(read: &Read, cluster: &'cluster Cluster) -> Vec<(&'cluster ObjectKey, &'cluster Object)> {
    let answers = cluster.iter().filter(|((kind, key), object)| match read {
        Read::Get { kind: wanted, key: name } => (wanted, name) == (kind, key),
        Read::List { kind: wanted, namespace, selector } => {
            let inside = namespace.is_none() || *namespace == key.namespace;
            wanted == kind && inside && selector.matches(|label| object.label(label))
        }
    });
    answers.map(|((_, key), object)| (key, object)).collect()
}

#[derive(Default)]
struct Model(Vec<(Reader, Read)>);

impl Model {
    fn reads_of(&self, reader: Reader) -> BTreeSet<&Read> {
        self.0.iter().filter(|(other, _)| *other == reader).map(|(_, read)| read).collect()
    }

    fn who(&self, mut is_concerned: impl FnMut(&Read) -> bool) -> BTreeSet<Reader> {
        self.0.iter().filter(|(_, read)| is_concerned(read)).map(|(reader, _)| *reader).collect()
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Add(Reader, Read),
    Replace(Reader, BTreeSet<Read>),
    Remove(Reader),
    Change(GroupVersionKind, ObjectKey, Option<BTreeMap<String, String>>),
}

fn kinds() -> impl Strategy<Value = GroupVersionKind> {
    select(vec![
        GroupVersionKind::new("", "v1", "ConfigMap"),
        GroupVersionKind::new("example.com", "v1", "Widget"),
        GroupVersionKind::new("example.com", "v2", "Widget"),
    ])
}

fn namespaces() -> impl Strategy<Value = Option<String>> {
    select(vec![None, Some("a".to_owned()), Some("b".to_owned())])
}

fn keys() -> impl Strategy<Value = ObjectKey> {
    (namespaces(), select(vec!["x", "y"])).prop_map(|(namespace, name)| ObjectKey::new(namespace, name))
}

fn selectors() -> impl Strategy<Value = Selector> {
    select(vec!["", "app", "!app", "app=web", "app!=web", "app in (web,api),tier", "tier notin (front)"])
        .prop_map(|text| text.parse().expect("a selector"))
}

fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    let value = |values: Vec<&'static str>| proptest::option::of(select(values));
    (value(vec!["web", "api", "other"]), value(vec!["front", "back"])).prop_map(|(app, tier)| {
        let labels = [("app", app), ("tier", tier)].into_iter();
        labels.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect()
    })
}

fn reads() -> impl Strategy<Value = Read> {
    prop_oneof![
        (kinds(), keys()).prop_map(|(kind, key)| Read::Get { kind, key }),
        (kinds(), namespaces(), selectors()).prop_map(|(kind, namespace, selector)| Read::List { kind, namespace, selector }),
    ]
}

fn operations() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0..READERS, reads()).prop_map(|(reader, read)| Operation::Add(reader, read)),
        3 => (0..READERS, btree_set(reads(), 0..5)).prop_map(|(reader, reads)| Operation::Replace(reader, reads)),
        1 => (0..READERS).prop_map(Operation::Remove),
        8 => (kinds(), keys(), proptest::option::weighted(0.8, labels()))
            .prop_map(|(kind, key, labels)| Operation::Change(kind, key, labels)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_change_concerns_exactly_those_whose_reads_would_be_answered_differently(operations in vec(operations(), 1..40)) {
        let (mut readers, mut model, mut cluster) = (ReadIndex::default(), Model::default(), Cluster::new());
        for (version, operation) in operations.into_iter().enumerate() {
            match operation {
                Operation::Add(reader, read) => {
                    readers.add(&reader, read.clone());
                    model.0.push((reader, read));
                }
                Operation::Replace(reader, reads) => {
                    model.0.retain(|(other, _)| *other != reader);
                    model.0.extend(reads.iter().map(|read| (reader, read.clone())));
                    readers.replace(&reader, reads);
                }
                Operation::Remove(reader) => {
                    readers.remove(&reader);
                    model.0.retain(|(other, _)| *other != reader);
                }
                Operation::Change(kind, key, labels) => {
                    let before = cluster.clone();
                    let place = (kind.clone(), key.clone());
                    match labels {
                        Some(labels) => cluster.insert(place.clone(), Object { labels, version }),
                        None => cluster.remove(&place),
                    };
                    let expected = model.who(|read| evaluate(read, &before) != evaluate(read, &cluster));
                    let (old, new) = (before.get(&place), cluster.get(&place));
                    let old = old.map(|object| |label: &str| object.label(label));
                    let new = new.map(|object| |label: &str| object.label(label));
                    let existed_or_exists = old.is_some() || new.is_some();
                    let concerned = readers.affected_by(
                        &kind,
                        &key,
                        old.as_ref().map(|labels| labels as Labels<'_, '_>),
                        new.as_ref().map(|labels| labels as Labels<'_, '_>),
                    );
                    // A reader of an object that neither existed nor exists may be notified.
                    prop_assert!(!existed_or_exists || concerned == expected, "{:?} instead of {:?}", concerned, expected);
                }
            }
            for reader in 0..READERS {
                prop_assert_eq!(readers.reads_of(&reader).collect::<BTreeSet<_>>(), model.reads_of(reader));
            }
            let all = (0..READERS).map(|reader| model.reads_of(reader).len()).filter(|reads| *reads > 0);
            prop_assert_eq!(readers.len(), (all.clone().count(), all.sum()));
            for read in model.0.iter().map(|(_, read)| read) {
                let of_kind = model.who(|other| other.kind() == read.kind());
                prop_assert_eq!(readers.readers_of_kind(read.kind()), of_kind);
            }
        }
        for reader in 0..READERS {
            readers.remove(&reader);
        }
        prop_assert!(readers.kinds.is_empty() && readers.readers.is_empty(), "{:?} is left of nobody", readers);
    }
}

fn get(name: impl Into<String>) -> Read {
    let kind = GroupVersionKind::new("", "v1", "ConfigMap");
    Read::Get { kind, key: ObjectKey { namespace: Some("a".to_owned()), name: name.into() } }
}

#[test]
fn earlier_reads_count_until_the_call_ends() {
    let kind = GroupVersionKind::new("", "v1", "ConfigMap");
    let mut readers = ReadIndex::default();
    let affected_by = |readers: &ReadIndex<u8>, name: &str| {
        let bare = |_: &str| None;
        !readers.affected_by(&kind, &ObjectKey::new(Some("a"), name), None, Some(&bare)).is_empty()
    };
    readers.replace(&1, [get("old")].into());
    readers.add(&1, get("new"));
    assert!(affected_by(&readers, "old") && affected_by(&readers, "new"));
    readers.replace(&1, [get("new")].into());
    assert!(!affected_by(&readers, "old") && affected_by(&readers, "new"));
}

#[test]
fn a_read_that_many_parents_share_is_stored_once() {
    let list =
        || Read::List { kind: GroupVersionKind::new("", "v1", "ConfigMap"), namespace: None, selector: Selector::default() };
    let mut readers = ReadIndex::default();
    for reader in 0..10_000_u32 {
        readers.add(&reader, list());
    }
    let shared = readers.readers[&0].first().expect("a read");
    assert!(readers.readers.values().all(|reads| reads.iter().all(|read| Arc::ptr_eq(read, shared))));
}
