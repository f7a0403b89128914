//! Version 0.1.0 of the contract: `wit/v0.1.0`.

use std::time::Duration;

use gyre_core::groups::Grouping;
use gyre_core::text::cut_owned;
use gyre_core::{manifest as core_manifest, object as core_object, response as core_response};
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Store, StoreContextMut};

pub use self::bindings::gyre::plugin::types;
use self::bindings::gyre::plugin::{cluster, log};
use self::bindings::{Plugin, PluginPre};
use super::answer::{Answer, TEXT};
use crate::call::Error;
use crate::host_imports::{Bytes, LogLevel, LogLine, LogSource, ReadError};
use crate::limits::Limits;
use crate::state::CallState;

#[expect(missing_docs, reason = "generated; wit/v0.1.0 documents it")]
mod bindings {
    wasmtime::component::bindgen!({
        path: "wit/v0.1.0",
        world: "plugin",
        imports: { default: trappable },
        ownership: Borrowing { duplicate_if_necessary: true },
        require_store_data_send: true,
    });
}

/// A response that changes nothing.
impl Default for types::Response {
    fn default() -> Self {
        Self {
            children: None,
            status: None,
            conditions: Vec::new(),
            events: Vec::new(),
            requeue_after_ms: None,
            parent: None,
            delete_parent: None,
            members: Vec::new(),
        }
    }
}

impl types::Manifest {
    /// A manifest without children, reads and settings, for native plugins.
    pub fn new(name: &str, parent: types::GroupVersionKind) -> Self {
        Self {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            description: String::new(),
            parent,
            grouping: types::Grouping::Each,
            children: Vec::new(),
            reads: Vec::new(),
            parent_fields: Vec::new(),
            deletes_parent: false,
            finalizes: false,
            settings_schema: None,
            crds: Vec::new(),
        }
    }
}

pub(crate) const VERSION: &str = "0.1.0";

pub(crate) const EXPORT: &str = "gyre:plugin/reconciler@0.1.0";

#[derive(Clone)]
pub(crate) struct Prepared(PluginPre<CallState>);

impl Prepared {
    pub(crate) fn new(linked: InstancePre<CallState>) -> wasmtime::Result<Self> {
        PluginPre::new(linked).map(Self)
    }

    /// Makes an instance, which runs its initialisation: the call must have begun.
    pub(crate) fn instantiate(&self, store: &mut Store<CallState>) -> wasmtime::Result<Instance> {
        self.0.instantiate(store).map(Instance)
    }
}

/// Returns whether a component exports this version of the reconciler, with any types.
pub(crate) fn is_exported_by(component: &Component) -> bool {
    component.get_export_index(None, EXPORT).is_some()
}

/// An instance. Its functions return an [`Error`] if the plugin answered, else wasmtime's.
pub(crate) struct Instance(Plugin);

impl Instance {
    pub(crate) fn describe(
        &self,
        store: &mut Store<CallState>,
        limits: &Limits,
    ) -> wasmtime::Result<Vec<core_manifest::Manifest>> {
        let raw = self.0.gyre_plugin_reconciler().call_describe(store)?;
        Ok(manifests(raw, limits)?)
    }

    pub(crate) fn validate_settings(
        &self,
        store: &mut Store<CallState>,
        reconciler: &str,
        settings: &[u8],
    ) -> wasmtime::Result<Result<(), String>> {
        self.0.gyre_plugin_reconciler().call_validate_settings(store, reconciler, settings).map(checked)
    }

    pub(crate) fn reconcile(
        &self,
        store: &mut Store<CallState>,
        request: types::Request<'_>,
        limits: &Limits,
    ) -> wasmtime::Result<core_response::Response> {
        let raw = self.0.gyre_plugin_reconciler().call_reconcile(&mut *store, request)?;
        Ok(reconciled(store.data_mut(), raw, limits)?)
    }

    pub(crate) fn finalize(
        &self,
        store: &mut Store<CallState>,
        request: types::Request<'_>,
        limits: &Limits,
    ) -> wasmtime::Result<core_response::Response> {
        let raw = self.0.gyre_plugin_reconciler().call_finalize(&mut *store, request)?;
        Ok(finalized(store.data_mut(), raw, limits)?)
    }
}

pub(crate) fn checked(raw: Result<(), String>) -> Result<(), String> {
    raw.map_err(|message| cut_owned(message, TEXT))
}

pub(crate) fn reconciled(
    state: &mut CallState,
    raw: Result<types::Response, types::Failure>,
    limits: &Limits,
) -> Result<core_response::Response, Error> {
    let mut answer = Answer::new(limits);
    let read = match raw {
        Ok(raw) => {
            state.answered(&texts(&raw));
            response(&mut answer, raw, limits)
        }
        Err(raw) => failure(&mut answer, raw).and_then(|failure| Err(Error::Failed(failure))),
    };
    state.output_bytes = answer.bytes;
    read
}

pub(crate) fn finalized(
    state: &mut CallState,
    raw: Result<types::Teardown, types::Failure>,
    limits: &Limits,
) -> Result<core_response::Response, Error> {
    let (raw, done) = match raw {
        Ok(types::Teardown { response, done }) => (Ok(response), done),
        Err(raw) => (Err(raw), false),
    };
    reconciled(state, raw, limits).map(|response| core_response::Response { done, ..response })
}

pub(crate) fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    log::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    add_cluster_to_linker(linker)
}

type Answered<T> = wasmtime::Result<(Result<T, cluster::ReadError>,)>;

/// By hand, because the generated trait would copy each object into a `Vec`.
fn add_cluster_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let mut instance = linker.instance("gyre:plugin/cluster@0.1.0")?;
    instance.func_wrap(
        "children",
        |mut store: StoreContextMut<'_, CallState>, (kind,): (types::GroupVersionKind,)| -> Answered<Vec<Bytes>> {
            let kind = core_kind(kind);
            Ok((store.data_mut().children(&kind)?.map_err(read_error),))
        },
    )?;
    instance.func_wrap(
        "get",
        |mut store: StoreContextMut<'_, CallState>,
         (kind, namespace, name): (types::GroupVersionKind, Option<String>, String)|
         -> Answered<Option<Bytes>> {
            let kind = core_kind(kind);
            Ok((store.data_mut().get(&kind, namespace.as_deref(), &name)?.map_err(read_error),))
        },
    )?;
    instance.func_wrap(
        "list",
        |mut store: StoreContextMut<'_, CallState>,
         (kind, namespace, selector): (types::GroupVersionKind, Option<String>, Option<String>)|
         -> Answered<Vec<Bytes>> {
            let kind = core_kind(kind);
            Ok((store.data_mut().list(&kind, namespace.as_deref(), selector.as_deref())?.map_err(read_error),))
        },
    )
}

impl log::Host for CallState {
    fn log(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => LogLevel::Trace,
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        let (console, world) = self.console();
        Ok(console.line(LogLine { source: LogSource::Log, level, message, fields }, world)?)
    }
}

fn read_error(error: ReadError) -> cluster::ReadError {
    match error {
        ReadError::NotDeclared => cluster::ReadError::NotDeclared,
        ReadError::NotGranted => cluster::ReadError::NotGranted,
        ReadError::NotServed => cluster::ReadError::NotServed,
        ReadError::InvalidSelector(message) => cluster::ReadError::InvalidSelector(message),
    }
}

fn core_kind(raw: types::GroupVersionKind) -> core_object::GroupVersionKind {
    core_object::GroupVersionKind { group: raw.group, version: raw.version, kind: raw.kind }
}

/// The longest kept name and version, in bytes. A valid name has at most 63.
const NAME: usize = 256;

/// The lengths of all texts of a manifest, except documents.
fn manifest_texts(raw: &types::Manifest) -> impl Iterator<Item = usize> {
    let of_kind = |kind: &types::GroupVersionKind| [kind.group.len(), kind.version.len(), kind.kind.len()];
    let own = [raw.name.len(), raw.version.len(), raw.description.len()].into_iter().chain(of_kind(&raw.parent));
    let of_children = raw.children.iter().flat_map(move |child| of_kind(&child.kind));
    let of_reads = raw.reads.iter().flat_map(move |read| {
        let texts = read.namespace.iter().chain(&read.label_selector).map(String::len);
        of_kind(&read.kind).into_iter().chain(texts)
    });
    let of_grouping = match &raw.grouping {
        types::Grouping::ByField(pointer) => Some(pointer.len()),
        types::Grouping::Each | types::Grouping::All => None,
    };
    own.chain(of_children).chain(of_reads).chain(raw.parent_fields.iter().map(String::len)).chain(of_grouping)
}

pub(crate) fn manifests(raw: Vec<types::Manifest>, limits: &Limits) -> Result<Vec<core_manifest::Manifest>, Error> {
    let mut answer = Answer::manifest(limits);
    raw.into_iter().map(|raw| manifest(raw, &mut answer)).collect()
}

fn manifest(raw: types::Manifest, answer: &mut Answer) -> Result<core_manifest::Manifest, Error> {
    let documents = raw.settings_schema.iter().chain(&raw.crds).map(Vec::len);
    answer.count(documents.chain(manifest_texts(&raw)).fold(0, usize::saturating_add))?;
    let schema = |bytes: Vec<u8>| answer.json(&bytes, || "settings-schema".to_owned());
    let settings_schema = raw.settings_schema.map(schema).transpose()?;
    let crd = |(index, bytes): (usize, Vec<u8>)| answer.json(&bytes, || format!("crds[{index}]"));
    let crds = raw.crds.into_iter().enumerate().map(crd).collect::<Result<_, _>>()?;
    let manifest = core_manifest::Manifest {
        name: cut_owned(raw.name, NAME),
        version: cut_owned(raw.version, NAME),
        description: cut_owned(raw.description, TEXT),
        parent: core_kind(raw.parent),
        members: None,
        children: raw.children.into_iter().map(child_kind).collect(),
        reads: raw.reads.into_iter().map(read_kind).collect(),
        parent_fields: raw.parent_fields,
        deletes_parent: raw.deletes_parent,
        finalizes: raw.finalizes,
        settings_schema,
        crds,
    };
    Ok(match raw.grouping {
        types::Grouping::Each => manifest,
        types::Grouping::All => manifest.grouped(Grouping::All),
        types::Grouping::ByField(pointer) => manifest.grouped(Grouping::ByField(pointer)),
    })
}

fn child_kind(raw: types::ChildKind) -> core_manifest::ChildKind {
    core_manifest::ChildKind {
        kind: core_kind(raw.kind),
        strategy: strategy(raw.strategy),
        strongest_strategy: raw.strongest_strategy.map(strategy),
        propagation: propagation(raw.propagation),
        outlives_parent: raw.outlives_parent,
    }
}

fn propagation(raw: types::Propagation) -> core_manifest::Propagation {
    match raw {
        types::Propagation::Background => core_manifest::Propagation::Background,
        types::Propagation::Foreground => core_manifest::Propagation::Foreground,
        types::Propagation::Orphan => core_manifest::Propagation::Orphan,
    }
}

fn strategy(raw: types::Strategy) -> core_manifest::Strategy {
    match raw {
        types::Strategy::Apply => core_manifest::Strategy::Apply,
        types::Strategy::Recreate => core_manifest::Strategy::Recreate,
        types::Strategy::CreateOnly => core_manifest::Strategy::CreateOnly,
    }
}

fn read_kind(raw: types::ReadKind) -> core_manifest::ReadKind {
    core_manifest::ReadKind {
        kind: core_kind(raw.kind),
        namespace: raw.namespace,
        label_selector: raw.label_selector,
        metadata_only: raw.metadata_only,
    }
}

fn texts(raw: &types::Response) -> Vec<&[u8]> {
    let applied = raw.children.iter().flatten().filter_map(|child| match child {
        types::Child::Apply(child) => Some(child.object.as_slice()),
        types::Child::Keep(_) => None,
    });
    let of_members = raw.members.iter().filter_map(|member| member.status.as_deref());
    applied.chain(raw.status.as_deref()).chain(raw.parent.as_deref()).chain(of_members).collect()
}

fn response(answer: &mut Answer, raw: types::Response, limits: &Limits) -> Result<core_response::Response, Error> {
    let count = raw.children.as_ref().map_or(0, Vec::len);
    if count > limits.children {
        return Err(Error::TooManyChildren { count, limit: limits.children });
    }
    let of_members = raw.members.iter().map(|member| &member.conditions);
    if let Some(conditions) = of_members.chain([&raw.conditions]).find(|conditions| conditions.len() > limits.conditions) {
        return Err(Error::TooManyConditions { count: conditions.len(), limit: limits.conditions });
    }
    if raw.events.len() > limits.events {
        return Err(Error::TooManyEvents { count: raw.events.len(), limit: limits.events });
    }
    // Counts all JSON before any is parsed.
    let objects = raw.children.iter().flatten().map(|child| match child {
        types::Child::Apply(child) => child.object.len(),
        types::Child::Keep(reference) => {
            let kind = &reference.kind;
            let namespace = reference.namespace.as_ref().map_or(0, String::len);
            kind.group.len() + kind.version.len() + kind.kind.len() + namespace + reference.name.len()
        }
    });
    let of_members = raw.members.iter().map(|member| {
        let namespace = member.namespace.as_ref().map_or(0, String::len);
        member.status.as_ref().map_or(0, Vec::len) + namespace + member.name.len()
    });
    let texts = objects.chain(raw.status.iter().chain(&raw.parent).map(Vec::len)).chain(of_members);
    answer.count(texts.fold(0, usize::saturating_add))?;

    let read_child = |(index, raw): (usize, types::Child)| child(answer, index, raw);
    let children = raw.children.map(|children| children.into_iter().enumerate().map(read_child).collect()).transpose()?;
    let status = raw.status.map(|bytes| answer.json(&bytes, || "status".to_owned())).transpose()?;
    let parent = raw.parent.map(|bytes| answer.json(&bytes, || "parent".to_owned())).transpose()?;
    let read_member = |(index, raw): (usize, types::MemberStatus)| member_status(answer, index, raw);
    let members = raw.members.into_iter().enumerate().map(read_member).collect::<Result<_, _>>()?;
    Ok(core_response::Response {
        children,
        status,
        parent,
        conditions: raw.conditions.into_iter().map(|raw| condition(answer, raw)).collect::<Result<_, _>>()?,
        events: raw.events.into_iter().map(|raw| event(answer, raw)).collect::<Result<_, _>>()?,
        requeue_after: raw.requeue_after_ms.map(Duration::from_millis),
        delete_parent: raw.delete_parent.map(|raw| core_response::ParentDeletion {
            after: Duration::from_millis(raw.after_ms),
            propagation: propagation(raw.propagation),
        }),
        members,
        done: false,
    })
}

fn member_status(answer: &mut Answer, index: usize, raw: types::MemberStatus) -> Result<core_response::MemberStatus, Error> {
    let types::MemberStatus { namespace, name, status, conditions } = raw;
    Ok(core_response::MemberStatus {
        member: core_object::ObjectKey { namespace, name },
        status: status.map(|bytes| answer.json(&bytes, || format!("members[{index}].status"))).transpose()?,
        conditions: conditions.into_iter().map(|raw| condition(answer, raw)).collect::<Result<_, _>>()?,
    })
}

fn child(answer: &Answer, index: usize, raw: types::Child) -> Result<core_response::Child, Error> {
    match raw {
        types::Child::Apply(raw) => {
            let object = answer.json(&raw.object, || format!("children[{index}]"))?;
            let strategy = raw.strategy.map(strategy);
            Ok(core_response::Child::Apply(core_response::DesiredChild { object, strategy }))
        }
        types::Child::Keep(reference) => Ok(core_response::Child::Keep(core_object::ObjectRef {
            kind: core_kind(reference.kind),
            key: core_object::ObjectKey { namespace: reference.namespace, name: reference.name },
        })),
    }
}

fn condition(answer: &mut Answer, raw: types::Condition) -> Result<core_response::Condition, Error> {
    Ok(core_response::Condition {
        kind: answer.text(raw.type_)?,
        status: match raw.status {
            types::Truth::Yes => core_response::ConditionStatus::True,
            types::Truth::No => core_response::ConditionStatus::False,
            types::Truth::Unknown => core_response::ConditionStatus::Unknown,
        },
        reason: answer.text(raw.reason)?,
        message: answer.text(raw.message)?,
    })
}

fn event(answer: &mut Answer, raw: types::Event) -> Result<core_response::Event, Error> {
    Ok(core_response::Event {
        severity: match raw.severity {
            types::Severity::Normal => core_response::Severity::Normal,
            types::Severity::Warning => core_response::Severity::Warning,
        },
        reason: answer.text(raw.reason)?,
        message: answer.text(raw.message)?,
    })
}

fn failure(answer: &mut Answer, raw: types::Failure) -> Result<core_response::Failure, Error> {
    Ok(match raw {
        types::Failure::Transient(message) => core_response::Failure::Transient { message: answer.text(message)? },
        types::Failure::RetryAfter(raw) => core_response::Failure::RetryAfter {
            message: answer.text(raw.message)?,
            after: Duration::from_millis(raw.delay_ms),
        },
        types::Failure::Terminal(message) => core_response::Failure::Terminal { message: answer.text(message)? },
    })
}
