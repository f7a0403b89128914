//! Showing what happens in the cluster, as it happens, on standard output.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use gyre_core::object::GroupVersionKind;
use kube::Client;
use kube::runtime::watcher::InitialListStrategy;
use serde_json::Value;
use tokio::sync::Notify;

use super::manifests::Applied;
use crate::cluster::informer::{Informer, Informers, Interest, Notice, Subscription};
use crate::cluster::kinds::{self, Resource};
use crate::telemetry::metrics::Metrics;

/// What is followed, and since when time is counted.
pub(super) struct Show {
    started: Instant,
    informers: Informers,
    followed: Mutex<BTreeMap<GroupVersionKind, Followed>>,
    changed: Notify,
}

/// A kind that is followed.
struct Followed {
    resource: Resource,
    informer: Arc<Informer>,
    _subscription: Subscription,
}

impl Show {
    /// Follows `kinds` and the events about everything.
    pub(super) async fn start(client: &Client, started: Instant, kinds: &[GroupVersionKind]) -> anyhow::Result<Arc<Self>> {
        let metrics = Arc::new(Metrics::default());
        let show = Arc::new(Self {
            started,
            informers: Informers::new(client.clone(), metrics, InitialListStrategy::StreamingList, 0),
            followed: Mutex::default(),
            changed: Notify::new(),
        });
        show.follow(client, kinds).await?;
        show.follow(client, &[GroupVersionKind::new("events.k8s.io", "v1", "Event")]).await?;
        Ok(show)
    }

    /// Follows those of `kinds` that are not followed yet and that the cluster serves.
    pub(super) async fn follow(self: &Arc<Self>, client: &Client, kinds: &[GroupVersionKind]) -> anyhow::Result<()> {
        for kind in kinds {
            if self.followed().contains_key(kind) {
                continue;
            }
            let found = kinds::find(client, kind).await.with_context(|| format!("cannot ask for {kind}"))?;
            let Some(resource) = found else {
                self.say(&format!("the cluster serves no {kind}"));
                continue;
            };
            let informer = self.informers.get(&resource, Interest::default());
            informer.synced().await;
            let (show, name) = (Arc::downgrade(self), kind.kind.clone());
            let subscription = informer.subscribe(move |notice| {
                let Some(show) = show.upgrade() else { return };
                for line in lines(&name, notice) {
                    show.say(&line);
                }
                show.changed.notify_waiters();
            });
            self.followed().insert(kind.clone(), Followed { resource, informer, _subscription: subscription });
        }
        Ok(())
    }

    fn followed(&self) -> std::sync::MutexGuard<'_, BTreeMap<GroupVersionKind, Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a line, after the time since the start.
    pub(super) fn say(&self, line: &str) {
        // Nobody may be there to read; that is no reason to stop.
        let _ = writeln!(std::io::stdout(), "{:>8.2}s  {line}", self.started.elapsed().as_secs_f64());
    }

    /// Waits until all of these are Ready.
    pub(super) async fn all_ready(&self, objects: &[&Applied]) {
        loop {
            let changed = self.changed.notified();
            if objects.iter().all(|object| self.is_ready(object)) {
                return;
            }
            changed.await;
        }
    }

    /// Whether an object's condition `Ready` is true of its present generation.
    pub(super) fn is_ready(&self, object: &Applied) -> bool {
        let found = self.followed().get(&object.kind).and_then(|followed| followed.informer.store().get(&object.key));
        let Some(value) = found.and_then(|found| serde_json::from_str::<Value>(found.json()).ok()) else { return false };
        let generation = value.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        conditions(&value).any(|condition| {
            let of = condition.get("observedGeneration").and_then(Value::as_i64).unwrap_or(generation);
            text(condition, "type") == "Ready" && text(condition, "status") == "True" && of >= generation
        })
    }

    /// Prints what there is of each kind, as `kubectl get` would.
    pub(super) async fn tables(&self, client: &Client) -> anyhow::Result<()> {
        let resources: Vec<Resource> = self.followed().values().map(|followed| followed.resource.clone()).collect();
        for resource in resources.iter().filter(|resource| resource.api.kind != "Event") {
            let path = match resource.api.group.as_str() {
                "" => format!("/api/{}/{}", resource.api.version, resource.api.plural),
                group => format!("/apis/{group}/{}/{}", resource.api.version, resource.api.plural),
            };
            let request = http::Request::get(path)
                .header(http::header::ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io")
                .body(Vec::new())
                .context("a request")?;
            let table: Value = client.request(request).await.with_context(|| format!("cannot list {}", resource.api.plural))?;
            let text = table_text(&table);
            if !text.is_empty() {
                let _ = write!(std::io::stdout(), "\n{}\n{text}", resource.api.plural);
            }
        }
        Ok(())
    }
}

/// What a notice says to a person.
fn lines(kind: &str, notice: &Notice) -> Vec<String> {
    let (object, previous) = match notice {
        Notice::Stored { object, previous, .. } => (object, previous.as_ref()),
        Notice::Deleted(object) => {
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
    let generation = |value: &Value| value.pointer("/metadata/generation").and_then(Value::as_i64);
    match &before {
        None => lines.push(format!("{kind} {} created{}", object.key(), owner(&value))),
        Some(before) if generation(before) != generation(&value) => lines.push(format!("{kind} {} changed", object.key())),
        Some(_) => {}
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

fn owner(value: &Value) -> String {
    let owners = value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let controller = owners.into_iter().flatten().find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    controller.map(|owner| format!(" for {} {}", text(owner, "kind"), text(owner, "name"))).unwrap_or_default()
}

fn conditions(value: &Value) -> impl Iterator<Item = &Value> {
    value.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A Table as text, with its namespace in front.
fn table_text(table: &Value) -> String {
    let list = |value: &Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let columns = list(table, "columnDefinitions");
    let rows = list(table, "rows");
    if rows.is_empty() {
        return String::new();
    }
    let is_shown =
        |index: usize| columns.get(index).and_then(|column| column.get("priority")).and_then(Value::as_i64).unwrap_or(0) == 0;
    let heading = |column: &Value| text(column, "name").to_uppercase();
    let mut lines: Vec<Vec<String>> =
        vec![std::iter::once("NAMESPACE".to_owned()).chain(columns.iter().map(heading)).collect()];
    for row in &rows {
        let namespace = row.pointer("/object/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        let cells = list(row, "cells").into_iter().map(|cell| match cell {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        });
        lines.push(std::iter::once(namespace.to_owned()).chain(cells).collect());
    }
    let shown: Vec<usize> = (0..=columns.len()).filter(|index| index.checked_sub(1).is_none_or(is_shown)).collect();
    let width =
        |index: usize| lines.iter().filter_map(|line| line.get(index)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = shown.iter().map(|index| width(*index)).collect();
    let mut text = String::new();
    for line in &lines {
        let mut written = String::from("  ");
        for (index, width) in shown.iter().zip(&widths) {
            let cell = line.get(*index).map_or("", String::as_str);
            written.push_str(&format!("{cell:<width$}   "));
        }
        text.push_str(written.trim_end());
        text.push('\n');
    }
    text
}
