//! Shows changes in the cluster on standard output.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::PLUGIN_LABEL;
use gyre_engine::cluster::informer::{Informer, Informers, Subscription, WatchEvent, WatchScope};
use gyre_engine::cluster::kinds::{self, Resource};
use gyre_engine::cluster::object::Object;
use gyre_engine::program::Program;
use gyre_engine::telemetry::metrics::Metrics;
use kube::Client;
use kube::runtime::watcher::InitialListStrategy;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::apply::Applied;
use crate::commands::columns::Columns;

/// The changes that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// All changes of the kinds of the plugins.
    Everything,
    /// Changes of parents, of children that a host created, and of events about parents.
    OfPlugins,
}

pub(super) struct Show {
    started: Instant,
    shown: Shown,
    informers: Informers,
    watched: Mutex<BTreeMap<GroupVersionKind, WatchedKind>>,
    parents: Mutex<BTreeSet<GroupVersionKind>>,
    changed: Notify,
}

struct WatchedKind {
    resource: Resource,
    label_selector: Option<&'static str>,
    informer: Arc<Informer>,
    _subscription: Subscription,
}

impl Show {
    pub(super) async fn start(
        client: &Client,
        started: Instant,
        shown: Shown,
        programs: &[Program],
    ) -> anyhow::Result<Arc<Self>> {
        let metrics = Arc::new(Metrics::default());
        let show = Arc::new(Self {
            started,
            shown,
            informers: Informers::new(client.clone(), metrics, InitialListStrategy::StreamingList, 0),
            watched: Mutex::default(),
            parents: Mutex::default(),
            changed: Notify::new(),
        });
        show.watch_kinds_of(client, programs).await?;
        show.watch_kind(client, &GroupVersionKind::new("events.k8s.io", "v1", "Event"), None).await?;
        Ok(show)
    }

    /// Watches the kinds of these programs that are served and not yet watched.
    pub(super) async fn watch_kinds_of(self: &Arc<Self>, client: &Client, programs: &[Program]) -> anyhow::Result<()> {
        let manifests = || programs.iter().map(Program::manifest);
        for manifest in manifests() {
            for kind in manifest.parent_kinds() {
                self.parents.lock().insert(kind.clone());
                self.watch_kind(client, kind, None).await?;
            }
        }
        let of_children = match self.shown {
            Shown::Everything => None,
            Shown::OfPlugins => Some(PLUGIN_LABEL),
        };
        for child in manifests().flat_map(|manifest| &manifest.children) {
            self.watch_kind(client, &child.kind, of_children).await?;
        }
        Ok(())
    }

    async fn watch_kind(
        self: &Arc<Self>,
        client: &Client,
        kind: &GroupVersionKind,
        label_selector: Option<&'static str>,
    ) -> anyhow::Result<()> {
        if self.watched().contains_key(kind) {
            return Ok(());
        }
        let found = kinds::find(client, kind).await.with_context(|| format!("cannot look up {kind}"))?;
        let Some(resource) = found else {
            self.say(&format!("the cluster does not serve {kind}"));
            return Ok(());
        };
        let informer = self.informers.get(&resource, WatchScope { label_selector, ..WatchScope::default() });
        informer.synced().await;
        let (show, name) = (Arc::downgrade(self), kind.kind.clone());
        // Existing objects are not shown when plugins are reloaded.
        let old: BTreeSet<String> = informer.store().list().iter().map(|object| object.uid().to_owned()).collect();
        let subscription = informer.subscribe(move |event| {
            let Some(show) = show.upgrade() else { return };
            let is_first = matches!(event, WatchEvent::Stored { previous: None, .. });
            let is_old = is_first && old.contains(event.object().uid());
            if !is_old && show.shows(&name, event.object()) {
                lines(&name, event).iter().for_each(|line| show.say(line));
            }
            show.changed.notify_waiters();
        });
        let watched = WatchedKind { resource, label_selector, informer, _subscription: subscription };
        self.watched().insert(kind.clone(), watched);
        Ok(())
    }

    /// Returns whether changes of an object of a watched kind are shown.
    fn shows(&self, kind: &str, object: &Object) -> bool {
        if self.shown == Shown::Everything || kind != "Event" {
            return true;
        }
        let event: Value = serde_json::from_str(object.json()).unwrap_or_default();
        let regarding = event.get("regarding").unwrap_or(&Value::Null);
        let regarding = GroupVersionKind::from_api_version(text(regarding, "apiVersion"), text(regarding, "kind"));
        self.parents.lock().contains(&regarding)
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<GroupVersionKind, WatchedKind>> {
        self.watched.lock()
    }

    pub(super) fn say(&self, line: &str) {
        // A closed output is not a reason to stop.
        let _ = writeln!(std::io::stdout(), "{:>8.2}s  {line}", self.started.elapsed().as_secs_f64());
    }

    pub(super) async fn all_ready(&self, objects: &BTreeSet<Applied>) {
        loop {
            let changed = self.changed.notified();
            if objects.iter().all(|object| self.is_ready(object)) {
                return;
            }
            changed.await;
        }
    }

    fn object(&self, object: &Applied) -> Option<Value> {
        let found = self.watched().get(&object.kind).and_then(|watched| watched.informer.store().get(&object.key));
        serde_json::from_str(found?.json()).ok()
    }

    /// Returns the object with the reason and message of its condition `Ready`, if it has one.
    pub(super) fn readiness(&self, object: &Applied) -> String {
        let value = self.object(object).unwrap_or_default();
        let ready = conditions(&value).find(|condition| text(condition, "type") == "Ready");
        match ready {
            Some(ready) => format!("{object} ({}: {})", text(ready, "reason"), text(ready, "message")),
            None => format!("{object} (without the condition Ready)"),
        }
    }

    /// Returns whether the condition `Ready` is true for the current generation.
    pub(super) fn is_ready(&self, object: &Applied) -> bool {
        let Some(value) = self.object(object) else { return false };
        let generation = value.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        conditions(&value).any(|condition| {
            let of = condition.get("observedGeneration").and_then(Value::as_i64).unwrap_or(generation);
            text(condition, "type") == "Ready" && text(condition, "status") == "True" && of >= generation
        })
    }

    pub(super) async fn tables(&self, client: &Client) -> anyhow::Result<()> {
        let watched = |watched: &WatchedKind| (watched.resource.clone(), watched.label_selector);
        let tables: Vec<(Resource, Option<&str>)> = self.watched().values().map(watched).collect();
        for (resource, label_selector) in tables.iter().filter(|(resource, _)| resource.api.kind != "Event") {
            let path = match resource.api.group.as_str() {
                "" => format!("/api/{}/{}", resource.api.version, resource.api.plural),
                group => format!("/apis/{group}/{}/{}", resource.api.version, resource.api.plural),
            };
            let query = label_selector.map(|selector| format!("?labelSelector={selector}")).unwrap_or_default();
            let request = http::Request::get(path + &query)
                .header(http::header::ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io")
                .body(Vec::new())
                .context("a request")?;
            let table: Value = client.request(request).await.with_context(|| format!("cannot list {}", resource.api.plural))?;
            let text = table_text(&resource.api.kind, &table);
            if !text.is_empty() {
                let _ = write!(std::io::stdout(), "\n{}\n{text}", resource.api.plural);
            }
        }
        Ok(())
    }
}

fn lines(kind: &str, event: &WatchEvent) -> Vec<String> {
    if is_everywhere(kind, event.object().name()) {
        return Vec::new();
    }
    let (object, previous) = match event {
        WatchEvent::Stored { object, previous, .. } => (object, previous.as_ref()),
        WatchEvent::Deleted(object) => {
            return if kind == "Event" { Vec::new() } else { vec![format!("{kind} {} deleted", object.key())] };
        }
    };
    let parse = |json: &str| serde_json::from_str::<Value>(json).unwrap_or_default();
    let value = parse(object.json());
    if kind == "Event" {
        let regarding = value.get("regarding").unwrap_or(&Value::Null);
        return vec![format!(
            "  event {} {} about {} {}: {}",
            text(&value, "type"),
            text(&value, "reason"),
            text(regarding, "kind"),
            text(regarding, "name"),
            text(&value, "note")
        )];
    }
    let before = previous.map(|previous| parse(previous.json()));
    let mut lines = Vec::new();
    match &before {
        None => lines.push(format!("{kind} {} created{}", object.key(), owner(&value))),
        Some(before) => {
            let changed = changed(before, &value);
            if !changed.is_empty() {
                lines.push(format!("{kind} {} changed: {}", object.key(), changed.join(", ")));
            }
            if object.is_deleting() && !previous.is_some_and(|previous| previous.is_deleting()) {
                lines.push(format!("{kind} {} is being deleted", object.key()));
            }
        }
    }
    let before = before.unwrap_or_default();
    for condition in conditions(&value) {
        let same = |other: &&Value| {
            ["type", "status", "reason", "message"].iter().all(|field| text(other, field) == text(condition, field))
        };
        if conditions(&before).find(same).is_none() {
            let parts = [text(condition, "reason"), text(condition, "message")];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            lines.push(format!(
                "{kind} {} {}={} {}",
                object.key(),
                text(condition, "type"),
                text(condition, "status"),
                parts.join(": ")
            ));
        }
    }
    let phase = |value: &Value| value.pointer("/status/phase").and_then(Value::as_str).map(str::to_owned);
    if let Some(now) = phase(&value).filter(|now| phase(&before).as_ref() != Some(now)) {
        lines.push(format!("{kind} {} is {now}", object.key()));
    }
    lines
}

fn is_everywhere(kind: &str, name: &str) -> bool {
    kind == "ConfigMap" && name == "kube-root-ca.crt"
}

/// The changed fields, without the status and fields that change with each write.
fn changed<'a>(before: &'a Value, now: &'a Value) -> Vec<&'a str> {
    const NOT_SHOWN: [&str; 7] = [
        "metadata",
        "status",
        "resourceVersion",
        "managedFields",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ];
    let metadata = |value: &'a Value| value.get("metadata").unwrap_or(&Value::Null);
    let fields = [(before, now), (metadata(before), metadata(now))].into_iter().flat_map(|(before, now)| {
        let names = [before, now].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
        names.filter(move |name| before.get(name) != now.get(name))
    });
    let shown: BTreeSet<&str> = fields.map(String::as_str).filter(|name| !NOT_SHOWN.contains(name)).collect();
    shown.into_iter().collect()
}

fn owner(value: &Value) -> String {
    let owners = value.pointer("/metadata/ownerReferences").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let controller = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    controller
        .or(owners.first())
        .map(|owner| format!(" for {} {}", text(owner, "kind"), text(owner, "name")))
        .unwrap_or_default()
}

fn conditions(value: &Value) -> impl Iterator<Item = &Value> {
    value.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn table_text(kind: &str, table: &Value) -> String {
    let list = |value: &Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let columns = list(table, "columnDefinitions");
    let mut rows = list(table, "rows");
    rows.retain(|row| !is_everywhere(kind, row.pointer("/object/metadata/name").and_then(Value::as_str).unwrap_or_default()));
    if rows.is_empty() {
        return String::new();
    }
    let is_shown =
        |index: usize| columns.get(index).and_then(|column| column.get("priority")).and_then(Value::as_i64).unwrap_or(0) == 0;
    let heading = |column: &Value| text(column, "name").to_uppercase();
    let cell = |cell: Value| match cell {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let header: Vec<String> = columns.iter().map(heading).collect();
    let mut lines = vec![("NAMESPACE".to_owned(), header)];
    for row in &rows {
        let namespace = row.pointer("/object/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        lines.push((namespace.to_owned(), list(row, "cells").into_iter().map(cell).collect()));
    }
    let shown = |(namespace, cells): (String, Vec<String>)| {
        let cells = cells.into_iter().enumerate().filter(|(index, _)| is_shown(*index)).map(|(_, cell)| cell);
        std::iter::once(format!("  {namespace}")).chain(cells).collect()
    };
    let lines: Vec<Vec<String>> = lines.into_iter().map(shown).collect();
    Columns::default().lines(&lines)
}

#[cfg(test)]
mod tests {
    use gyre_engine::cluster::informer::Origin;
    use gyre_engine::cluster::object::Object;
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Arc<Object> {
        Arc::new(Object::parse(value.to_string()).unwrap())
    }

    fn config_map(name: &str, version: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "default", "uid": name, "resourceVersion": version },
            "data": { "a": "1" },
        })
    }

    fn said(before: Option<&Value>, now: &Value) -> Vec<String> {
        let kind = now["kind"].as_str().unwrap();
        lines(kind, &WatchEvent::Stored { object: object(now), previous: before.map(object), origin: Origin::Watch })
    }

    #[test]
    fn changes_are_shown_by_the_names_of_their_fields() {
        let before = config_map("it", "1");
        assert_eq!(said(None, &before), ["ConfigMap default/it created"]);
        let mut now = config_map("it", "2");
        assert_eq!(said(Some(&before), &now), [""; 0]);
        now["metadata"]["labels"] = json!({ "a": "b" });
        assert_eq!(said(Some(&before), &now), ["ConfigMap default/it changed: labels"]);
        now["data"] = json!({ "a": "2" });
        assert_eq!(said(Some(&before), &now), ["ConfigMap default/it changed: data, labels"]);
        let mut going = now.clone();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(said(Some(&now), &going), ["ConfigMap default/it is being deleted"]);
        assert_eq!(said(Some(&going), &going), [""; 0]);
    }

    #[test]
    fn a_status_is_shown_by_its_conditions() {
        let echo = |generation: u64, status: &str| {
            let conditions = json!([{ "type": "Ready", "status": status, "reason": "It", "message": "is so" }]);
            json!({
                "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo",
                "metadata": { "name": "it", "namespace": "default", "uid": "it", "resourceVersion": "1", "generation": generation },
                "spec": { "message": generation }, "status": { "conditions": conditions },
            })
        };
        assert_eq!(said(Some(&echo(1, "False")), &echo(1, "True")), ["Echo default/it Ready=True It: is so"]);
        assert_eq!(said(Some(&echo(1, "True")), &echo(2, "True")), ["Echo default/it changed: spec"]);
    }

    #[test]
    fn objects_that_every_namespace_has_are_not_shown() {
        let noise = config_map("kube-root-ca.crt", "1");
        assert_eq!(said(None, &noise), [""; 0]);
        let row = |name: &str| json!({ "cells": [name], "object": { "metadata": { "name": name, "namespace": "default" } } });
        let table = |names: &[&str]| {
            let rows: Vec<Value> = names.iter().map(|name| row(name)).collect();
            table_text("ConfigMap", &json!({ "columnDefinitions": [{ "name": "Name", "priority": 0 }], "rows": rows }))
        };
        assert_eq!(table(&["kube-root-ca.crt"]), "");
        assert_eq!(table(&["kube-root-ca.crt", "it"]), table(&["it"]));
    }
}
