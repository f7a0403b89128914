//! The Events of one mount.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::ops::Bound;

use super::{
    AddResult, COMBINED, MOST_BYTES, MOUNT_LIMIT, MountLimit, OBJECT_LIMIT, Publication, SERIES_END, SIMILAR, Subject,
};
use crate::queue::Time;
use crate::response::Event;
use crate::token_bucket::TokenBucket;

/// The estimated bytes of a waiting Event without its texts.
const OVERHEAD: usize = 256;

/// The most objects of a generation. A full one replaces the one before, so the series of idle
/// objects take at most 4 MB per mount.
const GENERATION: usize = 512;

/// The Events of a mount. `T` is the host's type of a time; objects have the key of their
/// [`Subject`].
#[derive(Debug)]
pub(super) struct Mount<T> {
    tokens: TokenBucket,
    /// The Event that is being published.
    taken: Option<Taken>,
    /// The size of all waiting Events.
    bytes: usize,
    /// The number of all waiting Events.
    waiting: usize,
    /// The objects with Events that wait or are being published.
    objects: HashMap<String, Object<T>>,
    /// The other objects, for their series and tokens: this generation, and the one before.
    remembered: [HashMap<String, Object<T>>; 2],
    /// By namespace, which is empty for cluster-scoped objects.
    lanes: BTreeMap<String, Lane>,
    /// The namespace that had the last turn.
    last_turn: Option<String>,
}

#[derive(Debug)]
struct Taken {
    ticket: u64,
    object: String,
}

/// The waiting Events of a namespace.
#[derive(Debug, Default)]
struct Lane {
    /// The objects with waiting Events, each once. An object is missing while an Event of it is
    /// being published, so that its Events stay in order.
    turns: VecDeque<String>,
    bytes: usize,
}

#[derive(Debug)]
struct Object<T> {
    tokens: TokenBucket,
    waiting: VecDeque<Waiting<T>>,
    series: Vec<Series<T>>,
}

#[derive(Debug)]
struct Waiting<T> {
    subject: Subject,
    event: Event,
    series: u64,
    added: T,
}

#[derive(Debug)]
struct Series<T> {
    /// A hash of its severity, reason and message, or of its group if it is combined.
    id: u64,
    /// A hash of its severity and reason: the Events of a group differ only in their message.
    group: u64,
    first: T,
    last: T,
    count: u32,
    /// The name of the published Event.
    name: Option<String>,
    ends: Time,
}

impl<T> Default for Mount<T> {
    fn default() -> Self {
        Self {
            tokens: TokenBucket::default(),
            taken: None,
            bytes: 0,
            waiting: 0,
            objects: HashMap::new(),
            remembered: [HashMap::new(), HashMap::new()],
            lanes: BTreeMap::new(),
            last_turn: None,
        }
    }
}

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self { tokens: TokenBucket::default(), waiting: VecDeque::new(), series: Vec::new() }
    }
}

impl<T: Copy> Mount<T> {
    pub(super) fn add(&mut self, subject: Subject, event: Event, at: T, now: Time) -> AddResult {
        let key = subject.key();
        let added = match self.recall(&key).count(event, at, now) {
            Counted::Merged => AddResult::Merged,
            Counted::ObjectLimit => AddResult::ObjectLimit,
            Counted::Publish { event, series } => self.enqueue(&key, Waiting { subject, event, series, added: at }),
        };
        self.settle(&key);
        added
    }

    /// Makes room by dropping Events of larger namespaces, and lets an Event wait.
    fn enqueue(&mut self, key: &str, waiting: Waiting<T>) -> AddResult {
        let (bytes, namespace) = (waiting.bytes(), waiting.namespace().to_owned());
        let mut displaced = 0;
        while self.bytes + bytes > MOST_BYTES {
            let own = self.lanes.get(&namespace).map_or(0, |lane| lane.bytes) + bytes;
            let longest = self.lanes.values().filter(|lane| lane.bytes > own).max_by_key(|lane| lane.bytes);
            let Some(newest) = longest.and_then(|lane| lane.turns.back()).cloned() else {
                return AddResult::QueueFull { displaced };
            };
            self.drop_newest(&newest);
            displaced += 1;
        }
        let is_taken = self.is_taken(key);
        let Some(object) = self.objects.get_mut(key) else { return AddResult::QueueFull { displaced } };
        let lane = self.lanes.entry(namespace).or_default();
        if object.waiting.is_empty() && !is_taken {
            lane.turns.push_back(key.to_owned());
        }
        lane.bytes += bytes;
        self.bytes += bytes;
        self.waiting += 1;
        object.waiting.push_back(waiting);
        AddResult::Waits { displaced }
    }

    pub(super) fn is_ready(&self, limit: MountLimit, now: Time) -> bool {
        let has_token = limit == MountLimit::Ignored || self.tokens.empty_until(MOUNT_LIMIT, now).is_none();
        has_token && self.taken.is_none() && self.waiting > 0
    }

    pub(super) fn ready_at(&self, now: Time) -> Option<Time> {
        let is_waiting = self.taken.is_none() && self.waiting > 0;
        is_waiting.then(|| self.tokens.empty_until(MOUNT_LIMIT, now).unwrap_or(now))
    }

    pub(super) fn take<M: Clone>(&mut self, mount: &M, ticket: u64, now: Time) -> Option<Publication<M, T>> {
        let after = self.last_turn.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut in_turn = self.lanes.range::<String, _>((after, Bound::Unbounded)).chain(&self.lanes);
        let namespace = in_turn.find(|(_, lane)| !lane.turns.is_empty()).map(|(namespace, _)| namespace.clone())?;
        let key = self.lanes.get_mut(&namespace)?.turns.pop_front()?;
        self.last_turn = Some(namespace);
        let waiting = self.objects.get_mut(&key)?.waiting.pop_front()?;
        self.tokens.spend(MOUNT_LIMIT, now);
        self.taken = Some(Taken { ticket, object: key.clone() });
        self.subtract_size(&waiting);
        let Waiting { subject, event, series: id, added } = waiting;
        // It is known, because a series stays while one of its Events waits.
        let series = self.objects.get(&key).and_then(|object| object.series.iter().find(|series| series.id == id));
        Some(Publication {
            mount: mount.clone(),
            subject,
            event,
            added,
            first: series.map_or(added, |series| series.first),
            last: series.map_or(added, |series| series.last),
            count: series.map_or(1, |series| series.count),
            name: series.and_then(|series| series.name.clone()),
            series: id,
            ticket,
        })
    }

    pub(super) fn done<M>(&mut self, publication: &Publication<M, T>, name: Option<String>) {
        // A mount of the same name may have been removed and added again.
        let Some(taken) = self.taken.take_if(|taken| taken.ticket == publication.ticket) else { return };
        let key = taken.object;
        if let Some(object) = self.objects.get_mut(&key) {
            let series = object.series.iter_mut().find(|series| series.id == publication.series);
            if let (Some(series), Some(name)) = (series, name) {
                series.name = Some(name);
            }
            if let Some(next) = object.waiting.front() {
                self.lanes.entry(next.namespace().to_owned()).or_default().turns.push_back(key.clone());
            }
        }
        self.settle(&key);
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn unpublished(&self) -> usize {
        self.waiting + usize::from(self.taken.is_some())
    }

    pub(super) fn retain(&mut self, keep: impl Fn(T) -> bool) -> usize {
        let mut dropped = Vec::new();
        for object in self.objects.values_mut() {
            let (kept, gone): (Vec<_>, Vec<_>) = object.waiting.drain(..).partition(|waiting| keep(waiting.added));
            object.waiting = kept.into();
            dropped.extend(gone);
        }
        let objects = &self.objects;
        for lane in self.lanes.values_mut() {
            lane.turns.retain(|key| objects.get(key).is_some_and(|object| !object.waiting.is_empty()));
        }
        for waiting in &dropped {
            self.subtract_size(waiting);
            self.settle(&waiting.subject.key());
        }
        dropped.len()
    }

    fn drop_newest(&mut self, key: &str) {
        let Some(object) = self.objects.get_mut(key) else { return };
        let Some(waiting) = object.waiting.pop_back() else { return };
        if object.waiting.is_empty()
            && let Some(lane) = self.lanes.get_mut(waiting.namespace())
        {
            let turn = lane.turns.iter().rposition(|turn| turn == key);
            turn.and_then(|turn| lane.turns.remove(turn));
        }
        self.subtract_size(&waiting);
        self.settle(key);
    }

    fn subtract_size(&mut self, waiting: &Waiting<T>) {
        self.bytes -= waiting.bytes();
        self.waiting -= 1;
        if let Some(lane) = self.lanes.get_mut(waiting.namespace()) {
            lane.bytes -= waiting.bytes();
            if lane.bytes == 0 {
                self.lanes.remove(waiting.namespace());
            }
        }
    }

    fn is_taken(&self, key: &str) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.object == key)
    }

    /// Returns an object, with its series if it is remembered.
    fn recall(&mut self, key: &str) -> &mut Object<T> {
        let remembered = self.remembered.iter_mut().find_map(|generation| generation.remove(key));
        let object = self.objects.entry(key.to_owned());
        match remembered {
            Some(remembered) => object.insert_entry(remembered).into_mut(),
            None => object.or_default(),
        }
    }

    /// Moves an object without waiting or taken Events to the remembered ones.
    fn settle(&mut self, key: &str) {
        if self.is_taken(key) || self.objects.get(key).is_none_or(|object| !object.waiting.is_empty()) {
            return;
        }
        let Some(mut object) = self.objects.remove(key) else { return };
        object.waiting.shrink_to_fit();
        let [generation, before] = &mut self.remembered;
        if generation.len() >= GENERATION {
            *before = std::mem::take(generation);
        }
        generation.insert(key.to_owned(), object);
    }
}

/// The decision about a new Event, by the limits and series of its object.
enum Counted {
    /// It is counted in a waiting or published Event.
    Merged,
    ObjectLimit,
    Publish {
        event: Event,
        series: u64,
    },
}

impl<T: Copy> Object<T> {
    /// Counts a new Event in its series, and takes a token if it is to be published.
    fn count(&mut self, mut event: Event, at: T, now: Time) -> Counted {
        let Self { tokens, waiting, series: known } = self;
        known.retain(|series| series.ends > now || waiting.iter().any(|waiting| waiting.series == series.id));
        let group = hash(&(event.severity, &event.reason));
        let mut id = hash(&event);
        let is_new = !known.iter().any(|series| series.id == id);
        if is_new && known.iter().filter(|series| series.group == group).count() >= SIMILAR {
            id = hash(&(group, COMBINED));
            event.message.insert_str(0, COMBINED);
        }
        let ends = now + SERIES_END;
        let has_token = tokens.empty_until(OBJECT_LIMIT, now).is_none();
        match known.iter_mut().find(|series| series.id == id) {
            Some(series) => {
                series.count = series.count.saturating_add(1);
                (series.last, series.ends) = (at, ends);
                if waiting.iter().any(|waiting| waiting.series == id) {
                    return Counted::Merged;
                }
                if !has_token {
                    // If the series was published, a later publication writes the new count.
                    return if series.name.is_some() { Counted::Merged } else { Counted::ObjectLimit };
                }
            }
            None if !has_token => return Counted::ObjectLimit,
            None => known.push(Series { id, group, first: at, last: at, count: 1, name: None, ends }),
        }
        tokens.spend(OBJECT_LIMIT, now);
        Counted::Publish { event, series: id }
    }
}

impl<T> Waiting<T> {
    fn namespace(&self) -> &str {
        self.subject.object.key.namespace.as_deref().unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        let Subject { object, uid, resource_version } = &self.subject;
        let texts = [&object.key.name, uid, resource_version, &self.event.reason, &self.event.message];
        OVERHEAD + self.namespace().len() + texts.iter().map(|text| text.len()).sum::<usize>()
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
