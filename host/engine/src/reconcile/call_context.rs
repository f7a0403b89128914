//! The host's side of one call: what it can read, and its log lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gyre_core::generated::{DigestKey, Issuers};
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::reads::Read;
use gyre_core::response::Child;
use gyre_core::selector::Selector;
use gyre_sandbox::{Bytes, HostImports, LogLevel, LogLine, ReadError};
use tracing::{Level, event};

use crate::cluster::lookup::{ReadResult, ReadSnapshot};
use crate::cluster::object::SharedObject;
use crate::record::{Question, Reply, Transcript};
use crate::values::issuers::issuers;
use crate::values::{Shown, shown};
use gyre_core::text::without_control;

/// The world of a call: children as of its start, and other objects as of `reads`.
///
/// Its thread may have the idle priority, so nothing here takes a lock for which an informer or a
/// reconcile waits: it would have to wait until the thread gets the CPU again.
pub(crate) struct CallContext {
    reads: Arc<ReadSnapshot>,
    parent: ObjectKey,
    children: BTreeMap<GroupVersionKind, Vec<SharedObject>>,
    served: BTreeSet<GroupVersionKind>,
    /// The answers so far: a call that reads the same twice gets the same answer.
    pub(crate) answers: BTreeMap<Read, ReadResult>,
    pub(crate) transcript: Option<Transcript>,
    digests: Option<DigestKey>,
    /// Whether a placeholder of a generated value lacked its digest, because the key is unknown.
    pub(crate) lacked_digests: bool,
    /// Logged after the call by [`log`].
    pub(crate) lines: Vec<LogLine>,
}

impl CallContext {
    pub(crate) fn new<'a>(
        reads: Arc<ReadSnapshot>,
        parent: ObjectKey,
        children: impl Iterator<Item = &'a (GroupVersionKind, SharedObject)>,
        served: impl Iterator<Item = &'a GroupVersionKind>,
        digests: Option<DigestKey>,
    ) -> Self {
        let mut by_kind: BTreeMap<GroupVersionKind, Vec<SharedObject>> = BTreeMap::new();
        for (kind, child) in children {
            by_kind.entry(kind.clone()).or_default().push(child.clone());
        }
        Self {
            reads,
            parent,
            children: by_kind,
            served: served.cloned().collect(),
            answers: BTreeMap::new(),
            transcript: None,
            digests,
            lacked_digests: false,
            lines: Vec::new(),
        }
    }

    pub(crate) fn start_transcript(&mut self) {
        self.transcript = Some(Transcript::default());
    }

    pub(crate) fn shown_children(&self) -> BTreeMap<GroupVersionKind, Vec<Bytes>> {
        let bytes = |kind: &GroupVersionKind, child: &SharedObject| shown(kind, child, self.digests.as_ref()).json;
        let of_kind =
            |kind: &GroupVersionKind| self.children.get(kind).into_iter().flatten().map(|child| bytes(kind, child)).collect();
        self.served.iter().map(|kind| (kind.clone(), of_kind(kind))).collect()
    }

    fn record_read(&mut self, question: impl FnOnce() -> Question, reply: impl FnOnce() -> Reply) {
        if let Some(transcript) = &mut self.transcript {
            transcript.read(question(), reply);
        }
    }

    /// Reads the issuers of certificates as reads of the call: their changes call the plugin again.
    /// They are no part of its transcript, because the plugin does not see them.
    pub(crate) fn issuers(&mut self, children: &[Child]) -> Issuers {
        let parent_namespace = self.parent.namespace.clone();
        issuers(children, |kind, issuer| {
            let namespace = issuer.namespace.as_deref();
            let question = self.reads.get_question(kind, namespace, &issuer.name, parent_namespace.as_deref());
            self.ask(question).map(|found| found.first().cloned())
        })
    }

    /// Returns an object as the plugin gets it.
    fn bytes(&mut self, kind: &GroupVersionKind, object: &SharedObject) -> Bytes {
        let Shown { json, lacks_digests } = shown(kind, object, self.digests.as_ref());
        self.lacked_digests |= lacks_digests;
        json
    }

    fn ask(&mut self, question: Read) -> Result<Vec<SharedObject>, ReadError> {
        let (reads, parent) = (&self.reads, &self.parent);
        let answer = self.answers.entry(question);
        match answer.or_insert_with_key(|question| reads.answer(question, parent.namespace.as_deref())) {
            ReadResult::Objects(objects) => Ok(objects.clone()),
            ReadResult::Error(error) => Err(error.clone()),
        }
    }
}

impl HostImports for CallContext {
    fn children(&mut self, kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        if !self.served.contains(kind) {
            self.record_read(|| Question::Children { kind: kind.clone() }, || Err(ReadError::NotServed));
            return Err(ReadError::NotServed);
        }
        let children = self.children.get(kind).cloned().unwrap_or_default();
        Ok(children.iter().map(|child| self.bytes(kind, child)).collect())
    }

    fn get(&mut self, kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> Result<Option<Bytes>, ReadError> {
        let question = self.reads.get_question(kind, namespace, name, self.parent.namespace.as_deref());
        let reply = self.ask(question).map(|found| found.first().map(|object| self.bytes(kind, object)));
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
                let question = self.reads.list_question(kind, namespace, selector);
                self.ask(question).map(|found| found.iter().map(|object| self.bytes(kind, object)).collect())
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
        self.lines.push(line);
    }
}

/// Logs what a plugin has written during a call.
pub(crate) fn log(lines: &[LogLine]) {
    for LogLine { level, message, fields, .. } in lines {
        // Control characters could forge other log lines.
        let message = without_control(message);
        let fields = fields.iter().map(|(key, value)| format!("{}={value:?}", without_control(key)));
        let fields = fields.collect::<Vec<_>>().join(" ");
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
