//! A server, its clients, and the checks of every answer.

use bytes::Bytes;
use gyre_devcluster::Server;
use gyre_devcluster::answer::{Answer, Body};
use gyre_devcluster::random::Random;
use gyre_devcluster::watch::{Next, Watch};
use http::{Method, Request, StatusCode, header};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::check;
use super::request::Memory;
use crate::mutate::Draw as _;
use crate::outcome::{Failure, Log, Tally};
use crate::{corpus, mutate};

pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// The maximum number of answers of a watch at once; no case has as many changes.
const FRAMES: usize = 10_000;
const WATCHES: usize = 8;

pub(crate) struct Session<'a> {
    pub(super) server: Server,
    pub(super) now: Timestamp,
    pub(super) watches: Vec<Watch>,
    pub(super) memory: Memory,
    pub(super) tally: Tally,
    pub(super) log: &'a mut dyn Log,
}

impl Session<'_> {
    pub(crate) fn send(&mut self, request: &Request<Bytes>) -> Result<check::Checked, Failure> {
        let now = self.now;
        self.log.step(&|| format!("{now} {}", describe(request)));
        let answer = self.server.handle(self.now, request);
        *self.tally.entry(answer.status.as_str().to_owned()).or_default() += 1;
        let about = |failure: Failure| Failure(format!("{failure}\n  {}", describe(request)));
        let checked = check::answer(&answer).map_err(about)?;
        self.add_watch(answer);
        Ok(checked)
    }

    fn add_watch(&mut self, answer: Answer) {
        if let Body::Watch(watch) = answer.body
            && self.watches.len() < WATCHES
        {
            self.watches.push(*watch);
        }
    }

    /// Repeats a successful apply, which must change nothing.
    pub(super) fn repeat(&mut self, request: &Request<Bytes>, answer: &check::Checked) -> Result<(), Failure> {
        let is_apply = request.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == APPLY);
        let is_dry = request.uri().query().is_some_and(|query| query.contains("dryRun"));
        if *request.method() != Method::PATCH || !is_apply || is_dry || !answer.status.is_success() {
            return Ok(());
        }
        let is_emptying = serde_json::from_slice(request.body()).is_ok_and(|applied| has_empty_map(&applied));
        if is_emptying {
            return Ok(());
        }
        let Some(first) = answer.value.as_ref().and_then(identity) else { return Ok(()) };
        // An apply without the last finalizer of a deleted object removes it.
        let read = Request::get(request.uri().path()).body(Bytes::new()).map_err(|error| Failure(error.to_string()))?;
        if self.send(&read)?.value.as_ref().and_then(identity) != Some(first.clone()) {
            return Ok(());
        }
        let again = self.send(request)?;
        match again.value.as_ref().and_then(identity) {
            Some(second) if second == first => Ok(()),
            // The body may name the old version.
            _ if again.status == StatusCode::CONFLICT => Ok(()),
            _ => Err(Failure(format!(
                "an apply that is repeated changes the object, or fails\n  {}\n  first {:?}\n  again {} {:?}",
                describe(request),
                answer.value.as_ref().map(Value::to_string),
                again.status,
                again.value.as_ref().map(Value::to_string)
            ))),
        }
    }

    pub(super) fn redefine(&mut self, random: &mut Random) -> Result<(), Failure> {
        let mut definition = random.pick(corpus::definitions()).clone();
        mutate::structure(random, &mut definition["spec"]);
        if random.chance(0.5) {
            let rules = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
            if let Some(properties) = definition.pointer_mut(rules).and_then(Value::as_object_mut) {
                let index = random.size(properties.len());
                if let Some((_, Value::Object(property))) = properties.iter_mut().nth(index) {
                    let rules = json!([{ "rule": mutate::text(random), "message": "m" }]);
                    property.insert("x-kubernetes-validations".to_owned(), rules);
                }
            }
        }
        let name = definition["metadata"]["name"].as_str().unwrap_or("shelves.example.com").to_owned();
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        let kind = if random.chance(0.5) { "application/merge-patch+json" } else { APPLY };
        let query = if kind == APPLY { "?fieldManager=definer&force=true" } else { "" };
        self.send(&write(Method::PATCH, &format!("{path}{query}"), kind, &definition)).map(drop)
    }

    pub(super) fn advance(&mut self, random: &mut Random) -> Result<(), Failure> {
        let seconds = *random.pick(&[0, 1, 1, 5, 61, 3_600, 86_400 * 3, 86_400 * 400]);
        let step = SignedDuration::from_millis(seconds * 1_000 + 1);
        self.now = self.now.checked_add(step).unwrap_or(self.now);
        self.controllers()
    }

    pub(super) fn controllers(&mut self) -> Result<(), Failure> {
        let now = self.now;
        self.log.step(&|| format!("{now} controllers"));
        self.server.run_controllers(now);
        Ok(())
    }

    /// Reads all watches until they wait.
    pub(super) fn read_watches(&mut self) -> Result<(), Failure> {
        let (now, count) = (self.now, self.watches.len());
        self.log.step(&|| format!("{now} {count} watches"));
        for mut watch in std::mem::take(&mut self.watches) {
            let mut frames = 0;
            let is_open = loop {
                match self.server.watch(now, &mut watch) {
                    Next::Send(frame) => check::events(&frame)?,
                    Next::Wait(_) => break true,
                    Next::End => break false,
                }
                frames += 1;
                if frames > FRAMES {
                    return Err(Failure(format!("a watch of {:?} goes on for ever", watch.resource())));
                }
            };
            if is_open {
                self.watches.push(watch);
            }
        }
        Ok(())
    }
}

fn identity(object: &Value) -> Option<(String, String)> {
    let text = |key: &str| object["metadata"][key].as_str().map(ToOwned::to_owned);
    // Without managed fields, the next apply adds an owner of all fields.
    object["metadata"]["managedFields"].as_array()?;
    Some((text("uid")?, text("resourceVersion")?))
}

pub(crate) fn write(method: Method, path: &str, content_type: &'static str, body: &Value) -> Request<Bytes> {
    let mut request = Request::new(Bytes::from(body.to_string()));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap_or_default();
    request.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    request
}

pub(crate) fn describe(request: &Request<Bytes>) -> String {
    let headers: Vec<String> = request.headers().iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
    let (method, uri, headers) = (request.method(), request.uri(), headers.join(", "));
    let body = String::from_utf8_lossy(request.body());
    let shown: String = body.chars().take(4_000).collect();
    let cut = if shown.len() < body.len() { format!(" … ({} bytes)", body.len()) } else { String::new() };
    format!("{method} {uri} [{headers}] {shown:?}{cut}")
}

pub(crate) fn has_empty_map(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty() || map.values().any(has_empty_map),
        Value::Array(items) => items.iter().any(has_empty_map),
        _ => false,
    }
}
