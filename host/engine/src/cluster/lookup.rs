//! The read access of plugins: the caches of the kinds that a program reads, and its grants.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use gyre_core::grants::{ReadNamespaces, Scope, match_any};
use gyre_core::manifest::ReadKind;
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::reads::Read;
use gyre_core::selector::Selector;
use gyre_sandbox::ReadError;
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::cluster::informer::{Informers, WatchScope};
use crate::cluster::kinds::Resource;
use crate::cluster::object::SharedObject;
use crate::cluster::view::{View, ViewSnapshot};
use crate::program::Program;
use crate::target::Projection;

pub(crate) struct ReadCache {
    program: Arc<Program>,
    served: RwLock<BTreeMap<GroupVersionKind, Served>>,
    /// Fingerprints of lists, because many parents read the same ones.
    fingerprints: Mutex<Fingerprints>,
}

type Fingerprints = HashMap<(Read, Option<String>), (u64, u64)>;

/// The maximum number of list fingerprints. Beyond it, all are dropped and computed again.
const MOST_FINGERPRINTS: usize = 1024;

#[derive(Clone)]
pub(crate) struct Served {
    scope: Scope,
    /// The views, with the indexes of their declarations in the manifest.
    views: Vec<(usize, Arc<View>)>,
}

impl Served {
    pub(crate) fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.views.iter().map(|(_, view)| view)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum ReadResult {
    Objects(Vec<SharedObject>),
    Error(ReadError),
}

impl ReadResult {
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Objects(objects) => {
                for object in objects {
                    object.around_resource_version().hash(&mut hasher);
                }
            }
            Self::Error(error) => format!("{error:?}").hash(&mut hasher),
        }
        hasher.finish()
    }

    /// As [`Self::fingerprint`], without the object with this UID and its children.
    pub(crate) fn fingerprint_of_others(&self, uid: &str) -> u64 {
        match self {
            Self::Objects(objects) => {
                let is_of_others = |object: &&SharedObject| object.uid() != uid && object.owner_uid() != Some(uid);
                Self::Objects(objects.iter().filter(is_of_others).cloned().collect()).fingerprint()
            }
            Self::Error(_) => self.fingerprint(),
        }
    }
}

/// The namespaces that a declared read shows to calls about one parent.
enum VisibleNamespaces<'a> {
    Cluster,
    One(&'a str),
    /// The parent's, and those that match one of the patterns.
    Matching(Option<&'a str>, &'a BTreeSet<String>),
    All,
    Nothing,
}

impl VisibleNamespaces<'_> {
    /// Returns whether they include a namespace.
    fn contain(&self, namespace: &str) -> bool {
        match self {
            Self::Cluster | Self::Nothing => false,
            Self::One(name) => *name == namespace,
            Self::Matching(parent, patterns) => *parent == Some(namespace) || match_any(patterns, namespace),
            Self::All => true,
        }
    }
}

impl ReadCache {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Self { program, served: RwLock::default(), fingerprints: Mutex::default() }
    }

    pub(crate) fn kinds(&self) -> BTreeSet<GroupVersionKind> {
        granted(&self.program).map(|(_, read)| read.kind.clone()).collect()
    }

    /// Opens the views of a served kind. Call [`Self::publish`] once they have synced.
    pub(crate) fn open(&self, informers: &Informers, resource: &Resource) -> Served {
        let view = |(index, read): (usize, &ReadKind)| {
            let namespaces = self.program.watched(read, resource.scope)?;
            let projection = if read.metadata_only { Projection::Metadata } else { Projection::Whole };
            let scope = WatchScope { label_selector: read.label_selector.as_deref(), projection, ..WatchScope::default() };
            Some((index, Arc::new(View::new(informers, resource.clone(), &namespaces, scope))))
        };
        let kind = resource.kind();
        let views = granted(&self.program).filter(|(_, read)| read.kind == kind).filter_map(view).collect();
        Served { scope: resource.scope, views }
    }

    pub(crate) fn publish(&self, kind: GroupVersionKind, served: Served) {
        self.served.write().insert(kind, served);
    }

    /// Returns the views of a kind; `None` if it is not served, or no longer as it was.
    pub(crate) fn served(&self, kind: &GroupVersionKind) -> Option<Served> {
        let served = self.served.read().get(kind).cloned();
        served.filter(|served| !served.views().any(|view| view.is_outdated()))
    }

    pub(crate) fn all_views(&self) -> Vec<Arc<View>> {
        self.served.read().values().flat_map(Served::views).cloned().collect()
    }

    pub(crate) fn answer(&self, read: &Read, parent_namespace: Option<&str>) -> ReadResult {
        self.snapshot_of([read.kind()]).answer(read, parent_namespace)
    }

    /// Returns all that calls may read, as it is now.
    pub(crate) fn snapshot(&self) -> ReadSnapshot {
        self.snapshot_of(&self.kinds())
    }

    fn snapshot_of<'a>(&self, kinds: impl IntoIterator<Item = &'a GroupVersionKind>) -> ReadSnapshot {
        // A change after this makes the version too old, and not the objects.
        let version = self.version();
        let snapshot = |kind: &GroupVersionKind| {
            let Served { scope, views } = self.served(kind)?;
            let views = views.iter().map(|(index, view)| (*index, view.snapshot())).collect();
            Some((kind.clone(), ServedSnapshot { scope, views }))
        };
        ReadSnapshot { program: Arc::clone(&self.program), served: kinds.into_iter().filter_map(snapshot).collect(), version }
    }

    /// A number that changes with each change of what calls may read.
    pub(crate) fn version(&self) -> u64 {
        self.all_views().iter().map(|view| view.version()).fold(0, u64::wrapping_add)
    }

    pub(crate) fn fingerprint(&self, read: &Read, parent_namespace: Option<&str>) -> u64 {
        let (Read::List { .. }, Some(served)) = (read, self.served(read.kind())) else {
            return self.answer(read, parent_namespace).fingerprint();
        };
        let question = (read.clone(), parent_namespace.map(str::to_owned));
        let version = served.views().map(|view| view.version()).fold(0, u64::wrapping_add);
        let known = self.known_fingerprints().get(&question).copied();
        match known {
            Some((of, fingerprint)) if of == version => fingerprint,
            _ => {
                // If the views change meanwhile, the version is too old, and the next call computes
                // again.
                let fingerprint = self.answer(read, parent_namespace).fingerprint();
                let mut known = self.known_fingerprints();
                if known.len() >= MOST_FINGERPRINTS {
                    known.clear();
                }
                known.insert(question, (version, fingerprint));
                fingerprint
            }
        }
    }

    fn known_fingerprints(&self) -> MutexGuard<'_, Fingerprints> {
        self.fingerprints.lock()
    }
}

/// The objects that calls may read, at one moment. Reading it takes no lock.
pub(crate) struct ReadSnapshot {
    program: Arc<Program>,
    served: BTreeMap<GroupVersionKind, ServedSnapshot>,
    version: u64,
}

struct ServedSnapshot {
    scope: Scope,
    /// As in [`Served`].
    views: Vec<(usize, ViewSnapshot)>,
}

impl ReadSnapshot {
    /// The [`ReadCache::version`] of this moment.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn answer(&self, read: &Read, parent_namespace: Option<&str>) -> ReadResult {
        let answer = match read {
            Read::Get { kind, key } => self.get(kind, key, parent_namespace),
            Read::List { kind, namespace, selector } => self.list(kind, namespace.as_deref(), selector, parent_namespace),
        };
        answer.map_or_else(ReadResult::Error, ReadResult::Objects)
    }

    /// The read of a `get`. For a namespaced kind, no namespace means the parent's.
    pub(crate) fn get_question(
        &self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        name: &str,
        parent_namespace: Option<&str>,
    ) -> Read {
        let namespace = match self.served.get(kind) {
            Some(ServedSnapshot { scope: Scope::Cluster, .. }) => None,
            _ => namespace.or(parent_namespace),
        };
        Read::Get { kind: kind.clone(), key: ObjectKey::new(namespace, name) }
    }

    /// The read of a `list`. For a namespaced kind, no namespace means all granted ones.
    pub(crate) fn list_question(&self, kind: &GroupVersionKind, namespace: Option<&str>, selector: Selector) -> Read {
        let namespace = match self.served.get(kind) {
            Some(ServedSnapshot { scope: Scope::Cluster, .. }) => None,
            _ => namespace.map(str::to_owned),
        };
        Read::List { kind: kind.clone(), namespace, selector }
    }

    fn get(&self, kind: &GroupVersionKind, key: &ObjectKey, parent: Option<&str>) -> Result<Vec<SharedObject>, ReadError> {
        let views = self.views_of(kind)?;
        let mut is_granted = false;
        for (read, scope, view) in views {
            let covers = match (self.visible_namespaces(read, scope, parent), key.namespace.as_deref()) {
                (VisibleNamespaces::Cluster, _) => true,
                (visible @ VisibleNamespaces::One(_), Some(asked)) => visible.contain(asked),
                (visible, Some(asked)) => visible.contain(asked) && self.program.namespaces.contain(asked),
                (_, None) => false,
            };
            is_granted |= covers;
            if let Some(object) = view.get(key).filter(|_| covers) {
                return Ok(vec![object]);
            }
        }
        if is_granted { Ok(Vec::new()) } else { Err(ReadError::NotGranted) }
    }

    fn list(
        &self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        selector: &Selector,
        parent: Option<&str>,
    ) -> Result<Vec<SharedObject>, ReadError> {
        let mut found: BTreeMap<ObjectKey, SharedObject> = BTreeMap::new();
        let mut is_granted = false;
        for (read, scope, view) in self.views_of(kind)? {
            let objects = match (self.visible_namespaces(read, scope, parent), namespace) {
                (VisibleNamespaces::Cluster, _) => view.list(None),
                (VisibleNamespaces::One(granted), asked) if asked.is_none_or(|asked| asked == granted) => {
                    view.list(Some(granted))
                }
                (VisibleNamespaces::One(_) | VisibleNamespaces::Nothing, _) => continue,
                (visible, Some(asked)) if visible.contain(asked) && self.program.namespaces.contain(asked) => {
                    view.list(Some(asked))
                }
                (VisibleNamespaces::All, None) => view.list(None),
                (visible, None) => {
                    let mut objects = view.list(None);
                    objects.retain(|object| object.namespace().is_some_and(|namespace| visible.contain(namespace)));
                    objects
                }
                _ => continue,
            };
            is_granted = true;
            let matching =
                objects.into_iter().filter(|object| selector.is_empty() || selector.matches(|label| object.label(label)));
            found.extend(matching.map(|object| (object.key(), object)));
        }
        if is_granted { Ok(found.into_values().collect()) } else { Err(ReadError::NotGranted) }
    }

    /// The declared reads of a kind, with the scope of the kind and what the views hold.
    fn views_of(&self, kind: &GroupVersionKind) -> Result<Vec<(&ReadKind, Scope, &ViewSnapshot)>, ReadError> {
        if !granted(&self.program).any(|(_, read)| read.kind == *kind) {
            return Err(ReadError::NotGranted);
        }
        let served = self.served.get(kind).ok_or(ReadError::NotServed)?;
        let declaration = |index: usize| self.program.manifest().reads.get(index);
        let views = served.views.iter();
        Ok(views.filter_map(|(index, view)| Some((declaration(*index)?, served.scope, view))).collect())
    }

    fn visible_namespaces<'a>(&'a self, read: &'a ReadKind, scope: Scope, parent: Option<&'a str>) -> VisibleNamespaces<'a> {
        match (scope, &read.namespace, &self.program.reads.namespaces) {
            (Scope::Cluster, _, _) => VisibleNamespaces::Cluster,
            (Scope::Namespaced, Some(named), _) => VisibleNamespaces::One(named),
            (Scope::Namespaced, None, ReadNamespaces::All) => VisibleNamespaces::All,
            (Scope::Namespaced, None, ReadNamespaces::Named(patterns)) => VisibleNamespaces::Matching(parent, patterns),
            (Scope::Namespaced, None, ReadNamespaces::OfParent) => {
                parent.map_or(VisibleNamespaces::Nothing, VisibleNamespaces::One)
            }
        }
    }
}

fn granted(program: &Program) -> impl Iterator<Item = (usize, &ReadKind)> {
    let reads = program.manifest().reads.iter().enumerate();
    reads.filter(|(_, read)| program.reads.kinds.allow(&read.kind))
}
