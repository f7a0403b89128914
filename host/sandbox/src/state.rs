//! What belongs to one store, and how a call begins and ends in it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gyre_core::manifest::Manifest;
use gyre_core::object::GroupVersionKind;

use crate::call::{ClockUse, Error};
use crate::console::Console;
use crate::limiter::Limiter;
use crate::limits::Limits;
use crate::random::Random;
use crate::wasi::Wasi;
use crate::world::{ReadError, World};

/// The one moment that all clocks show during a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    now: Duration,
    pub(crate) used: ClockUse,
}

impl Clock {
    fn new(now: SystemTime) -> Self {
        Self { now: now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(), used: ClockUse::NotRead }
    }

    /// Since 1970. Times before it read as 1970.
    pub(crate) fn read(&mut self) -> Duration {
        self.used = ClockUse::Read;
        self.now
    }
}

/// Whether a call may look at the cluster, and what it may ask for.
pub(crate) enum Access {
    /// `describe` and `validate-settings`.
    Closed,
    /// `reconcile` and `finalize`.
    Open { world: Box<dyn World>, manifest: Arc<Manifest> },
}

impl Access {
    /// The world, if there is one.
    pub(crate) fn into_world(self) -> Option<Box<dyn World>> {
        match self {
            Self::Open { world, .. } => Some(world),
            Self::Closed => None,
        }
    }
}

/// What belongs to one store. Everything but the limiter's count and the WASI handles is replaced for each call.
pub(crate) struct State {
    pub(crate) limiter: Limiter,
    pub(crate) wasi: Wasi,
    pub(crate) console: Console,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) undeclared_read: Option<GroupVersionKind>,
    pub(crate) output_bytes: usize,
    /// How often the cluster may still be read, and how often it might at first.
    reads: (usize, usize),
    access: Access,
}

/// Which function of `cluster` was called.
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

impl State {
    /// A store's first state; [`State::begin`] arms it.
    pub(crate) fn new() -> Self {
        Self {
            limiter: Limiter::default(),
            wasi: Wasi::default(),
            console: Console::default(),
            clock: Clock::new(SystemTime::UNIX_EPOCH),
            random: Random::new(""),
            undeclared_read: None,
            output_bytes: 0,
            reads: (0, 0),
            access: Access::Closed,
        }
    }

    /// Begins a call: nothing of an earlier one stays.
    pub(crate) fn begin(&mut self, seed: &str, now: SystemTime, limits: &Limits, access: Access) {
        self.limiter.arm(limits.memory_bytes);
        self.console = Console::new(limits);
        self.clock = Clock::new(now);
        self.random = Random::new(seed);
        self.undeclared_read = None;
        self.output_bytes = 0;
        self.reads = (limits.reads, limits.reads);
        self.access = access;
    }

    /// Ends a call: flushes what it said and takes the world out.
    pub(crate) fn end(&mut self) -> Option<Box<dyn World>> {
        let mut access = std::mem::replace(&mut self.access, Access::Closed);
        match &mut access {
            Access::Open { world, .. } => self.console.flush(Some(world.as_mut())),
            Access::Closed => self.console.flush(None),
        }
        access.into_world()
    }

    /// The console, and where its lines go.
    pub(crate) fn console(&mut self) -> (&mut Console, Option<&mut dyn World>) {
        let world = match &mut self.access {
            Access::Open { world, .. } => Some(world.as_mut()),
            Access::Closed => None,
        };
        (&mut self.console, world)
    }

    /// Shows the world the texts of an answer.
    pub(crate) fn answered(&mut self, texts: &[&[u8]]) {
        if let Access::Open { world, .. } = &mut self.access {
            world.answered(texts);
        }
    }

    /// The world, if this call may look at it and the manifest declares the kind. The outer error ends the call; the inner
    /// one is the plugin's to handle.
    pub(crate) fn read(&mut self, read: Read, kind: &GroupVersionKind) -> Result<Result<&mut dyn World, ReadError>, Error> {
        let Access::Open { world, manifest } = &mut self.access else {
            return Err(Error::ClusterNotAllowed { function: read.name() });
        };
        let (left, limit) = self.reads;
        self.reads.0 = left.checked_sub(1).ok_or(Error::TooManyReads { limit })?;
        let declared = match read {
            Read::Children => manifest.children.iter().any(|child| child.kind == *kind),
            Read::Get | Read::List => manifest.reads.iter().any(|read| read.kind == *kind),
        };
        if declared {
            Ok(Ok(world.as_mut()))
        } else {
            self.undeclared_read.get_or_insert_with(|| kind.clone());
            Ok(Err(ReadError::NotDeclared))
        }
    }
}
