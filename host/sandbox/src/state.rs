//! The state of a store, and the begin and end of a call in it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gyre_core::manifest::Manifest;
use gyre_core::names::{is_dns_label, may_name_an_object};
use gyre_core::object::GroupVersionKind;
use gyre_core::text::cut;

use crate::call::{ClockUse, Error};
use crate::console::Console;
use crate::handles::Handles;
use crate::host_imports::{Bytes, HostImports, ReadError};
use crate::limiter::Limiter;
use crate::limits::Limits;
use crate::random::Random;

/// The longest label selector, in bytes: each change of an object of the kind is matched with it.
const SELECTOR: usize = 4 << 10;

/// The memory of a selector's requirement beside its text, in bytes: two strings and a list.
const REQUIREMENT: usize = 128;

const NAME: usize = 253;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    now: Duration,
    pub(crate) used: ClockUse,
}

impl Clock {
    fn new(now: SystemTime) -> Self {
        Self { now: now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(), used: ClockUse::NotRead }
    }

    /// The time since 1970, and zero before.
    pub(crate) fn read(&mut self) -> Duration {
        self.used = ClockUse::Read;
        self.now
    }
}

pub(crate) enum Access {
    /// For `describe` and `validate-settings`.
    Closed,
    /// For `reconcile` and `finalize`.
    Open { imports: Box<dyn HostImports>, manifest: Arc<Manifest> },
}

impl Access {
    pub(crate) fn into_imports(self) -> Option<Box<dyn HostImports>> {
        match self {
            Self::Open { imports, .. } => Some(imports),
            Self::Closed => None,
        }
    }
}

/// The state of a store. Each call replaces all but the limiter's count and the WASI handles.
pub(crate) struct CallState {
    pub(crate) limiter: Limiter,
    pub(crate) handles: Handles,
    pub(crate) console: Console,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) undeclared_read: Option<GroupVersionKind>,
    pub(crate) output_bytes: usize,
    reads: (usize, usize),
    read_bytes: (usize, usize),
    access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Children,
    Get,
    List,
}

impl Read {
    fn name(self) -> &'static str {
        match self {
            Self::Children => "children",
            Self::Get => "get",
            Self::List => "list",
        }
    }
}

impl CallState {
    pub(crate) fn new() -> Self {
        Self {
            limiter: Limiter::default(),
            handles: Handles::default(),
            console: Console::default(),
            clock: Clock::new(SystemTime::UNIX_EPOCH),
            random: Random::new(""),
            undeclared_read: None,
            output_bytes: 0,
            reads: (0, 0),
            read_bytes: (0, 0),
            access: Access::Closed,
        }
    }

    pub(crate) fn begin(&mut self, seed: &str, now: SystemTime, limits: &Limits, access: Access) {
        self.limiter.arm(limits.memory_bytes);
        self.console = Console::new(limits);
        self.clock = Clock::new(now);
        self.random = Random::new(seed);
        self.undeclared_read = None;
        self.output_bytes = 0;
        self.reads = (limits.reads, limits.reads);
        self.read_bytes = (limits.read_bytes, limits.read_bytes);
        self.access = access;
    }

    pub(crate) fn end(&mut self) -> Option<Box<dyn HostImports>> {
        let mut access = std::mem::replace(&mut self.access, Access::Closed);
        match &mut access {
            Access::Open { imports, .. } => self.console.flush(Some(imports.as_mut())),
            Access::Closed => self.console.flush(None),
        }
        access.into_imports()
    }

    pub(crate) fn console(&mut self) -> (&mut Console, Option<&mut dyn HostImports>) {
        let imports = match &mut self.access {
            Access::Open { imports, .. } => Some(imports.as_mut()),
            Access::Closed => None,
        };
        (&mut self.console, imports)
    }

    pub(crate) fn answered(&mut self, texts: &[&[u8]]) {
        if let Access::Open { imports, .. } = &mut self.access {
            imports.answered(texts);
        }
    }

    /// Answers `cluster.children`. The outer error ends the call; the plugin gets the inner one.
    pub(crate) fn children(&mut self, kind: &GroupVersionKind) -> Result<Result<Vec<Bytes>, ReadError>, Error> {
        Ok(self.read(Read::Children, kind)?.and_then(|imports| imports.children(kind)))
    }

    /// Answers `cluster.get` like [`Self::children`]. An impossible name is not passed on.
    pub(crate) fn get(
        &mut self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Result<Option<Bytes>, ReadError>, Error> {
        if let Err(error) = self.read(Read::Get, kind)? {
            return Ok(Err(error));
        }
        if !may_name_an_object(name) || !may_be_a_namespace(namespace) {
            return Ok(Ok(None));
        }
        self.count_question(kind, &[namespace.unwrap_or_default(), name])?;
        Ok(self.imports().and_then(|imports| imports.get(kind, namespace, name)))
    }

    /// Answers `cluster.list` like [`Self::children`]. An impossible namespace is empty.
    pub(crate) fn list(
        &mut self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        label_selector: Option<&str>,
    ) -> Result<Result<Vec<Bytes>, ReadError>, Error> {
        if let Err(error) = self.read(Read::List, kind)? {
            return Ok(Err(error));
        }
        let selector = label_selector.unwrap_or_default();
        if selector.len() > SELECTOR {
            let message = format!("it has {} bytes, more than {SELECTOR}", selector.len());
            return Ok(Err(ReadError::InvalidSelector(message)));
        }
        if !may_be_a_namespace(namespace) {
            return Ok(Ok(Vec::new()));
        }
        self.count_question(kind, &[namespace.unwrap_or_default(), selector])?;
        // Each requirement is kept separately.
        self.count_read_bytes(selector.split(',').count() * REQUIREMENT)?;
        Ok(self.imports().and_then(|imports| imports.list(kind, namespace, label_selector)))
    }

    fn read(&mut self, read: Read, kind: &GroupVersionKind) -> Result<Result<&mut dyn HostImports, ReadError>, Error> {
        let Access::Open { manifest, .. } = &self.access else {
            return Err(Error::ClusterNotAllowed { function: read.name() });
        };
        let (left, limit) = self.reads;
        self.reads.0 = left.checked_sub(1).ok_or(Error::TooManyReads { limit })?;
        let declared = match read {
            Read::Children => manifest.children.iter().any(|child| child.kind == *kind),
            Read::Get | Read::List => manifest.reads.iter().any(|read| read.kind == *kind),
        };
        if declared {
            return Ok(self.imports());
        }
        self.undeclared_read.get_or_insert_with(|| {
            let [group, version, kind] = [&kind.group, &kind.version, &kind.kind].map(|text| cut(text, NAME));
            GroupVersionKind { group, version, kind }
        });
        Ok(Err(ReadError::NotDeclared))
    }

    fn imports(&mut self) -> Result<&mut dyn HostImports, ReadError> {
        match &mut self.access {
            Access::Open { imports, .. } => Ok(imports.as_mut()),
            Access::Closed => Err(ReadError::NotDeclared),
        }
    }

    /// Counts the bytes of a question. The kind is declared, so its name is bounded.
    fn count_question(&mut self, kind: &GroupVersionKind, texts: &[&str]) -> Result<(), Error> {
        let texts = texts.iter().map(|text| text.len());
        self.count_read_bytes(kind.group.len() + kind.version.len() + kind.kind.len() + texts.sum::<usize>())
    }

    fn count_read_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        let (left, limit) = self.read_bytes;
        self.read_bytes.0 = left.checked_sub(bytes).ok_or(Error::ReadsTooLarge { limit })?;
        Ok(())
    }
}

/// Returns whether a namespace may have this name. The host decides about the empty one.
fn may_be_a_namespace(namespace: Option<&str>) -> bool {
    namespace.is_none_or(|namespace| namespace.is_empty() || is_dns_label(namespace))
}
