//! The host's side of one call: what it can read, and where its log lines go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::reads::Read;
use gyre_core::selector::Selector;
use gyre_sandbox::{Bytes, HostImports, LogLevel, LogLine, ReadError};
use tracing::{Level, Span, event};

use crate::cluster::lookup::ReadResult;
use crate::cluster::object::SharedObject;
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::mount::Mount;
use crate::record::{Question, Reply, Transcript};
use gyre_core::text::without_control;

enum Audience {
    /// The mount reconciles the parent when something that it read changes.
    Mount(Arc<Mount>, Span),
    Log(Span),
    None,
}

/// The world of a call: children as of its start, and other objects as of their first read.
pub(crate) struct CallContext {
    audience: Audience,
    active: Arc<ActiveProgram>,
    parent: ObjectKey,
    children: BTreeMap<GroupVersionKind, Vec<SharedObject>>,
    served: BTreeSet<GroupVersionKind>,
    /// The answers so far: a call that reads the same twice gets the same answer.
    pub(crate) answers: BTreeMap<Read, ReadResult>,
    pub(crate) transcript: Option<Transcript>,
}

impl CallContext {
    pub(crate) fn new<'a>(
        mount: &Arc<Mount>,
        active: &Arc<ActiveProgram>,
        parent: ObjectKey,
        children: impl Iterator<Item = &'a (GroupVersionKind, SharedObject)>,
        served: impl Iterator<Item = &'a GroupVersionKind>,
    ) -> Self {
        Self::before(Audience::Mount(Arc::clone(mount), Span::current()), active, parent, children, served)
    }

    /// The context of a call that does not affect when the parent is reconciled.
    pub(crate) fn detached<'a>(
        span: Option<Span>,
        active: &Arc<ActiveProgram>,
        parent: ObjectKey,
        children: impl Iterator<Item = &'a (GroupVersionKind, SharedObject)>,
        served: impl Iterator<Item = &'a GroupVersionKind>,
    ) -> Self {
        Self::before(span.map_or(Audience::None, Audience::Log), active, parent, children, served)
    }

    fn before<'a>(
        audience: Audience,
        active: &Arc<ActiveProgram>,
        parent: ObjectKey,
        children: impl Iterator<Item = &'a (GroupVersionKind, SharedObject)>,
        served: impl Iterator<Item = &'a GroupVersionKind>,
    ) -> Self {
        let mut by_kind: BTreeMap<GroupVersionKind, Vec<SharedObject>> = BTreeMap::new();
        for (kind, child) in children {
            by_kind.entry(kind.clone()).or_default().push(child.clone());
        }
        Self {
            audience,
            active: Arc::clone(active),
            parent,
            children: by_kind,
            served: served.cloned().collect(),
            answers: BTreeMap::new(),
            transcript: None,
        }
    }

    pub(crate) fn start_transcript(&mut self) {
        self.transcript = Some(Transcript::default());
    }

    pub(crate) fn shown_children(&self) -> BTreeMap<GroupVersionKind, Vec<Bytes>> {
        let of_kind = |kind: &GroupVersionKind| self.children.get(kind).into_iter().flatten().map(bytes).collect();
        self.served.iter().map(|kind| (kind.clone(), of_kind(kind))).collect()
    }

    fn record_read(&mut self, question: impl FnOnce() -> Question, reply: impl FnOnce() -> Reply) {
        if let Some(transcript) = &mut self.transcript {
            transcript.read(question(), reply);
        }
    }

    fn ask(&mut self, question: Read) -> Result<Vec<SharedObject>, ReadError> {
        let (audience, active, parent) = (&self.audience, &self.active, &self.parent);
        let answer = self.answers.entry(question).or_insert_with_key(|question| {
            // Recorded before the read, so that no change is missed in between.
            if let Audience::Mount(mount, _) = audience {
                mount.reads(parent, question);
            }
            active.lookup.answer(question, parent.namespace.as_deref())
        });
        match answer {
            ReadResult::Objects(objects) => Ok(objects.clone()),
            ReadResult::Error(error) => Err(error.clone()),
        }
    }
}

fn bytes(object: &SharedObject) -> Bytes {
    Bytes::from(object.shared_json())
}

impl HostImports for CallContext {
    fn children(&mut self, kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        if !self.served.contains(kind) {
            self.record_read(|| Question::Children { kind: kind.clone() }, || Err(ReadError::NotServed));
            return Err(ReadError::NotServed);
        }
        Ok(self.children.get(kind).into_iter().flatten().map(bytes).collect())
    }

    fn get(&mut self, kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> Result<Option<Bytes>, ReadError> {
        let question = self.active.lookup.get_question(kind, namespace, name, self.parent.namespace.as_deref());
        let reply = self.ask(question).map(|found| found.first().map(bytes));
        let asked = || Question::Get { kind: kind.clone(), namespace: namespace.map(str::to_owned), name: name.to_owned() };
        self.record_read(asked, || reply.clone().map(|found| found.into_iter().collect()));
        reply
    }

    fn list(
        &mut self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        label_selector: Option<&str>,
    ) -> Result<Vec<Bytes>, ReadError> {
        let selector = label_selector.unwrap_or_default().parse::<Selector>();
        let reply: Reply = match selector {
            Ok(selector) => {
                let question = self.active.lookup.list_question(kind, namespace, selector);
                self.ask(question).map(|found| found.iter().map(bytes).collect())
            }
            Err(error) => Err(ReadError::InvalidSelector(error.to_string())),
        };
        let asked = || Question::List {
            kind: kind.clone(),
            namespace: namespace.map(str::to_owned),
            label_selector: label_selector.map(str::to_owned),
        };
        self.record_read(asked, || reply.clone());
        reply
    }

    fn answered(&mut self, texts: &[&[u8]]) {
        if let Some(transcript) = &mut self.transcript {
            transcript.answered(texts);
        }
    }

    fn log(&mut self, line: LogLine) {
        if let Some(transcript) = &mut self.transcript {
            transcript.log.push(line.clone());
        }
        let (Audience::Mount(_, span) | Audience::Log(span)) = &self.audience else { return };
        let LogLine { level, message, fields, .. } = line;
        // Control characters could forge other log lines.
        let message = without_control(&message);
        let fields = fields.iter().map(|(key, value)| format!("{}={value:?}", without_control(key)));
        let fields = fields.collect::<Vec<_>>().join(" ");
        let _entered = span.enter();
        // The level is part of a call site, so each level needs its own.
        macro_rules! line {
            ($level:expr) => {
                if fields.is_empty() { event!(target: "plugin", $level, "{message}") } else { event!(target: "plugin", $level, fields, "{message}") }
            };
        }
        match level {
            LogLevel::Trace => line!(Level::TRACE),
            LogLevel::Debug => line!(Level::DEBUG),
            LogLevel::Info => line!(Level::INFO),
            LogLevel::Warn => line!(Level::WARN),
            LogLevel::Error => line!(Level::ERROR),
        }
    }
}
