//! A sorted index of objects. Clones share all chunks, and a change copies one.

use std::sync::Arc;

use super::object::{Object, SharedObject};

/// The maximum size of a chunk: a change moves or copies at most this many pointers, 1 KiB.
const CHUNK: usize = 128;
/// A vector shrinks below 1/8 of its capacity: rare enough for amortized constant time.
const SPARSE: usize = 8;

pub(super) type Key<'a> = [&'a str; 3];

#[derive(Clone)]
pub(super) struct ObjectIndex {
    key: fn(&Object) -> Key<'_>,
    /// Each chunk is sorted and not empty. Two neighbours exceed half of [`CHUNK`] together.
    chunks: Arc<Vec<Arc<Vec<SharedObject>>>>,
    length: usize,
}

impl ObjectIndex {
    pub(super) fn by(key: fn(&Object) -> Key<'_>) -> Self {
        Self { key, chunks: Arc::default(), length: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn insert(&mut self, object: SharedObject) -> Option<SharedObject> {
        let key = (self.key)(&object);
        let mut number = self.chunk_of(key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let mut place = match chunks.get(number) {
            Some(chunk) => match chunk.binary_search_by(|other| (self.key)(other).cmp(&key)) {
                Ok(place) => return own(chunks.get_mut(number)?).get_mut(place).map(|other| std::mem::replace(other, object)),
                Err(place) => place,
            },
            None => {
                chunks.push(Arc::default());
                0
            }
        };
        let length = |number: usize| chunks.get(number).map_or(CHUNK, |chunk| chunk.len());
        if length(number) == CHUNK {
            if place == CHUNK && length(number + 1) < CHUNK {
                (number, place) = (number + 1, 0);
            } else {
                // Objects in ascending order, as in lists, leave full chunks behind.
                let half = if place == CHUNK { CHUNK } else { CHUNK / 2 };
                let rest = chunks.get_mut(number).map(|chunk| own(chunk).split_off(half)).unwrap_or_default();
                chunks.insert(number + 1, Arc::new(rest));
                if place >= half {
                    (number, place) = (number + 1, place - half);
                }
            }
        }
        if let Some(chunk) = chunks.get_mut(number) {
            let chunk = own(chunk);
            if chunk.len() == chunk.capacity() {
                chunk.reserve_exact(chunk.len().max(4).min(CHUNK - chunk.len()));
            }
            chunk.insert(place, object);
            self.length += 1;
        }
        None
    }

    pub(super) fn remove(&mut self, key: Key<'_>) -> Option<SharedObject> {
        let (number, place) = self.find(key)?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = own(chunks.get_mut(number)?);
        let removed = chunk.remove(place);
        self.length -= 1;
        shrink(chunk);
        if chunk.is_empty() {
            chunks.remove(number);
        } else {
            merge_with_next(chunks, number);
        }
        if let Some(previous) = number.checked_sub(1) {
            merge_with_next(chunks, previous);
        }
        shrink(chunks);
        Some(removed)
    }

    pub(super) fn get(&self, key: Key<'_>) -> Option<&SharedObject> {
        let (number, place) = self.find(key)?;
        self.chunks.get(number)?.get(place)
    }

    pub(super) fn starting_with<'a>(&'a self, texts: &'a [&'a str]) -> impl Iterator<Item = &'a SharedObject> {
        let is_before = move |object: &SharedObject| compare(&(self.key)(object), texts).is_lt();
        let first = self.chunks.partition_point(|chunk| chunk.last().is_some_and(is_before));
        let chunks = self.chunks.get(first..).unwrap_or_default();
        let begin = chunks.first().map_or(0, |chunk| chunk.partition_point(is_before));
        let objects = chunks.iter().flat_map(|chunk| chunk.iter()).skip(begin);
        objects.take_while(move |object| compare(&(self.key)(object), texts).is_eq())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SharedObject> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    pub(super) fn footprint(&self) -> usize {
        let chunk =
            |chunk: &Arc<Vec<SharedObject>>| size_of::<Vec<SharedObject>>() + chunk.capacity() * size_of::<SharedObject>();
        self.chunks.capacity() * size_of::<Arc<Vec<SharedObject>>>() + self.chunks.iter().map(chunk).sum::<usize>()
    }

    fn chunk_of(&self, key: Key<'_>) -> usize {
        let begins_before = |chunk: &Arc<Vec<SharedObject>>| chunk.first().is_some_and(|first| (self.key)(first) <= key);
        self.chunks.partition_point(begins_before).saturating_sub(1)
    }

    fn find(&self, key: Key<'_>) -> Option<(usize, usize)> {
        let number = self.chunk_of(key);
        let place = self.chunks.get(number)?.binary_search_by(|other| (self.key)(other).cmp(&key)).ok()?;
        Some((number, place))
    }
}

fn own(chunk: &mut Arc<Vec<SharedObject>>) -> &mut Vec<SharedObject> {
    if Arc::get_mut(chunk).is_none() {
        // `Arc::make_mut` would copy without room for another object.
        let mut copy = Vec::with_capacity(CHUNK);
        copy.extend(chunk.iter().cloned());
        *chunk = Arc::new(copy);
    }
    Arc::make_mut(chunk)
}

fn merge_with_next(chunks: &mut Vec<Arc<Vec<SharedObject>>>, number: usize) {
    let length = |number: usize| chunks.get(number).map_or(CHUNK, |chunk| chunk.len());
    if length(number) + length(number + 1) <= CHUNK / 2 {
        let next = chunks.remove(number + 1);
        if let Some(chunk) = chunks.get_mut(number) {
            own(chunk).extend(next.iter().cloned());
        }
    }
}

fn shrink<T>(vector: &mut Vec<T>) {
    if vector.capacity() > SPARSE * vector.len() {
        vector.shrink_to(2 * vector.len());
    }
}

fn compare(key: &Key<'_>, texts: &[&str]) -> std::cmp::Ordering {
    key.iter().take(texts.len()).cmp(texts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn object(name: &str, uid: &str) -> SharedObject {
        let json = format!(r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"{uid}","resourceVersion":"1"}}}}"#);
        Arc::new(Object::parse(json).unwrap())
    }

    fn by_name() -> ObjectIndex {
        ObjectIndex::by(|object| [object.name(), "", ""])
    }

    fn filled(names: impl IntoIterator<Item = usize>) -> ObjectIndex {
        let mut index = by_name();
        names.into_iter().for_each(|number| drop(index.insert(object(&name(number), ""))));
        index
    }

    fn name(number: usize) -> String {
        format!("{number:05}")
    }

    fn by_parts_of_names() -> ObjectIndex {
        ObjectIndex::by(|object| {
            let (first, second) = object.name().split_once('-').unwrap();
            [first, second, ""]
        })
    }

    fn assert_dense(index: &ObjectIndex) {
        let lengths: Vec<usize> = index.chunks.iter().map(|chunk| chunk.len()).collect();
        assert!(lengths.iter().all(|length| (1..=CHUNK).contains(length)), "{lengths:?}");
        assert!(lengths.windows(2).all(|pair| pair.iter().sum::<usize>() > CHUNK / 2), "{lengths:?}");
        assert!(index.chunks.iter().all(|chunk| chunk.capacity() <= CHUNK));
        assert_eq!(index.len(), lengths.iter().sum::<usize>());
    }

    #[derive(Clone, Copy, Debug)]
    enum Order {
        Ascending,
        Descending,
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(Order, u8, u16, u16),
        Remove(u8, u16, u16),
        Clone,
    }

    fn step() -> impl Strategy<Value = Step> {
        let (first, second) = (0..4_u8, 0..500_u16);
        let order = prop_oneof![Just(Order::Ascending), Just(Order::Descending)];
        prop_oneof![
            10 => (order.clone(), first.clone(), second.clone()).prop_map(|(order, first, second)| Step::Insert(order, first, second, 1)),
            2 => (order, first.clone(), second.clone(), 0..300_u16)
                .prop_map(|(order, first, second, count)| Step::Insert(order, first, second, count)),
            2 => (first, second, 0..300_u16).prop_map(|(first, second, count)| Step::Remove(first, second, count)),
            1 => Just(Step::Clone),
        ]
    }

    fn names(first: u8, second: u16) -> (String, String) {
        (format!("f{first}"), format!("{second:05}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn an_index_answers_as_a_map_and_clones_do_not_change(steps in vec(step(), 0..200)) {
            let (mut index, mut model) = (by_parts_of_names(), BTreeMap::<(String, String), SharedObject>::new());
            let mut clones = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(order, first, second, count) => {
                        let mut keys: Vec<_> = (second..second + count).map(|second| names(first, second)).collect();
                        if matches!(order, Order::Descending) {
                            keys.reverse();
                        }
                        for key in keys {
                            let new = object(&format!("{}-{}", key.0, key.1), &number.to_string());
                            prop_assert_eq!(index.insert(Arc::clone(&new)), model.insert(key, new));
                        }
                    }
                    Step::Remove(first, second, count) => {
                        for key in (second..second + count).map(|second| names(first, second)) {
                            prop_assert_eq!(index.remove([&key.0, &key.1, ""]), model.remove(&key));
                        }
                    }
                    Step::Clone => clones.push((index.clone(), model.clone())),
                }
                assert_dense(&index);
            }
            clones.push((index, model));
            for (index, model) in clones {
                prop_assert!(index.iter().eq(model.values()));
                for first in ["f0", "f1", "f2", "f3", "f4"] {
                    let of_first = model.iter().filter(|((of, _), _)| of == first).map(|(_, object)| object);
                    prop_assert!(index.starting_with(&[first]).eq(of_first));
                }
                for second in (0..800).step_by(7) {
                    let key = names(1, second);
                    prop_assert_eq!(index.get([&key.0, &key.1, ""]), model.get(&key));
                }
            }
        }
    }

    #[test]
    fn objects_that_come_in_order_or_in_reverse_order_fill_the_chunks() {
        let ascending = filled(0..10 * CHUNK);
        assert!(ascending.chunks.iter().all(|chunk| chunk.len() == CHUNK && chunk.capacity() == CHUNK));
        let both = filled((0..CHUNK).chain((CHUNK..100 * CHUNK).rev()));
        assert_dense(&both);
        assert!(both.chunks.len() <= 200, "{}", both.chunks.len());
    }

    #[test]
    fn an_index_shrinks_when_its_objects_go() {
        let mut index = filled(0..10_000);
        let full = index.footprint();
        for number in (0..10_000).filter(|number| number % 100 != 0) {
            index.remove([&name(number), "", ""]);
        }
        assert_eq!(index.len(), 100);
        assert!(index.footprint() < full / 20, "{} {full}", index.footprint());
        for number in 0..10_000 {
            index.remove([&name(number), "", ""]);
        }
        assert_eq!((index.len(), index.footprint()), (0, 0));
    }

    #[test]
    fn a_change_copies_one_chunk_of_those_that_a_clone_uses() {
        let mut index = filled(0..10 * CHUNK);
        let clone = index.clone();
        index.remove([&name(700), "", ""]);
        let shared = index.chunks.iter().zip(clone.chunks.iter()).filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!(shared.count(), 9);
    }
}
