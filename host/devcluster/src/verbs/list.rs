//! List and watch.

use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{NO_PAD, URL_SAFE_NO_PAD};
use http::StatusCode;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::registry::Registry;
use crate::registry::Watches;
use crate::render::Rendering;
use crate::reply::ListMetadata;
use crate::request::options::{ListOptions, VersionMatch};
use crate::selection::Selection;
use crate::status::Status;
use crate::store::{Forgotten, Key, Limit, Stored};
use crate::verbs::Call;
use crate::watch::{Bookmarks, InitialEnd, Stage, Watch};

/// The minimum duration of a watch for which the client chooses none: kube-apiserver's
/// `--min-request-timeout`. The maximum is twice that.
const WATCH_TIMEOUT_SECONDS: u64 = 1800;
/// Like Go's decoder, ignores the unused bits of the last character.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));
/// The minimum number of objects to read at once if a selector may match few of them.
const SCAN: usize = 1_000;

/// Where a list starts: a revision, and the last key of the previous page.
#[derive(Clone, Debug)]
struct ListPosition {
    revision: u64,
    after: Option<Key>,
    expired: Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expired {
    List,
    Continue,
}

impl Registry {
    /// Lists objects.
    ///
    /// # Errors
    ///
    /// `BadRequest` about selectors and tokens, `Expired` (410) for a compacted revision, `Timeout`
    /// (504) for a future one.
    pub(crate) fn list(&self, call: &Call, options: &ListOptions, rendering: &Rendering) -> Result<Answer, Status> {
        let selection = Selection::parse(&call.kind, options, None)?;
        let position = self.list_position(call, options)?;
        // The watch cache ignores the limit.
        let is_limited = options.limit > 0 && options.resource_version != "0";
        let limit = if is_limited { options.limit } else { usize::MAX };
        let (objects, next) = self.page(call, &selection, &position, limit)?;
        let mut metadata = ListMetadata { resource_version: position.revision, ..ListMetadata::default() };
        if let Some(next) = next {
            metadata.r#continue = continue_token(call, position.revision, &next);
            if selection.is_empty() {
                metadata.remaining = Some(self.remaining(call, &position, &next)?);
            }
        }
        Ok(rendering.list(&self.kinds, &call.kind, &metadata, &objects, call.now))
    }

    /// Returns at most `limit` selected objects, and the last key read if there are more.
    fn page(
        &self,
        call: &Call,
        selection: &Selection,
        position: &ListPosition,
        limit: usize,
    ) -> Result<(Vec<Arc<Stored>>, Option<Key>), Status> {
        let (resource, namespace) = (call.kind.storage(), namespace_of(call));
        let expired = |forgotten| self.expired_error(call, position, forgotten);
        let mut objects = Vec::new();
        let mut after = position.after.clone();
        loop {
            let size = limit.saturating_sub(objects.len()).saturating_add(1).max(SCAN.min(limit.saturating_add(1)));
            let page = self
                .store
                .page_at(&resource, namespace, position.revision, after.as_ref(), Limit::objects(size))
                .map_err(expired)?;
            for (key, object) in page.objects {
                if selection.matches(&call.kind, &object.value) {
                    if objects.len() == limit {
                        return Ok((objects, after));
                    }
                    objects.push(object);
                }
                after = Some(key);
            }
            if page.is_last {
                return Ok((objects, None));
            }
        }
    }

    fn remaining(&self, call: &Call, position: &ListPosition, after: &Key) -> Result<usize, Status> {
        let (resource, namespace) = (call.kind.storage(), namespace_of(call));
        let rest = self.store.page_at(&resource, namespace, position.revision, Some(after), Limit::objects(usize::MAX));
        rest.map(|page| page.objects.len()).map_err(|forgotten| self.expired_error(call, position, forgotten))
    }

    /// The revision for a request that accepts any: that of the watch cache, unless compacted.
    fn any_revision(&self, call: &Call) -> u64 {
        self.cached_revision().max(self.store.oldest(&call.kind.storage()))
    }

    fn list_position(&self, call: &Call, options: &ListOptions) -> Result<ListPosition, Status> {
        let now = self.store.revision();
        if !options.r#continue.is_empty() {
            if !matches!(options.resource_version.as_str(), "" | "0") {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Status::bad_request(message));
            }
            let (revision, after) = read_token(&options.r#continue, &call.namespace)?;
            return Ok(ListPosition { revision: revision.unwrap_or(now), after: Some(after), expired: Expired::Continue });
        }
        let asked = parse_revision(&options.resource_version)?;
        if asked > now {
            return Err(too_large(asked, now));
        }
        // Without a match rule, a limit with a resourceVersion means exactly that revision.
        let is_exact = match options.version_match {
            Some(how) => how == VersionMatch::Exact,
            None => options.limit > 0 && asked > 0,
        };
        let revision = match options.resource_version.as_str() {
            _ if is_exact => asked,
            "0" => self.any_revision(call),
            _ => now,
        };
        Ok(ListPosition { revision, after: None, expired: Expired::List })
    }

    fn expired_error(&self, call: &Call, position: &ListPosition, _forgotten: Forgotten) -> Status {
        match (position.expired, &position.after) {
            (Expired::Continue, Some(after)) => {
                let mut status = Status::expired(
                    "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
                     the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
                     Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
                     deleted between the time the first chunk was returned and now may show up in the list.",
                );
                status.continue_token = Some(encode_token(json!(-1), &continue_key(call, after)).into());
                status
            }
            _ => Status::expired("The resourceVersion for the provided list is too old."),
        }
    }

    /// Watches the objects of a collection, or one object if `call.name` is not empty.
    ///
    /// # Errors
    ///
    /// `BadRequest` about selectors. A compacted revision is an ERROR event of the stream.
    pub(crate) fn start_watch(&mut self, call: &Call, options: &ListOptions, rendering: Rendering) -> Result<Answer, Status> {
        let name = Some(call.name.as_str()).filter(|name| !name.is_empty());
        let selection = Selection::parse(&call.kind, options, name)?;
        // For a watch, the real server answers an invalid version with 500 instead of 400.
        let asked = parse_revision(&options.resource_version).map_err(|status| {
            let message = status.message.trim_start_matches("invalid resource version: ").to_owned();
            Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
        })?;
        let now = self.store.revision();
        let wants_initial = options.send_initial_events.unwrap_or(asked == 0);
        let stage = if wants_initial {
            if asked > now {
                return Err(too_large(asked, now));
            }
            let is_marked = options.send_initial_events == Some(true) && options.allow_bookmarks;
            let then = if is_marked { InitialEnd::Bookmark } else { InitialEnd::Changes };
            let revision = if options.resource_version == "0" { self.any_revision(call) } else { now };
            Stage::Initial { revision, after: None, then }
        } else {
            Stage::Changes { revision: if asked == 0 { now } else { asked } }
        };
        let seconds = match options.timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok()) {
            // Limited, so that the watch of a client that vanished ends.
            Some(seconds) if seconds > 0 => seconds.min(2 * WATCH_TIMEOUT_SECONDS),
            _ => WATCH_TIMEOUT_SECONDS + self.random.below(WATCH_TIMEOUT_SECONDS),
        };
        let timeout = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        let (until, bookmarks) = match self.watches {
            Watches::Limited => {
                let until = call.now.saturating_add(timeout).unwrap_or(jiff::Timestamp::MAX);
                (until, Watch::first_bookmark(call.now, options.allow_bookmarks))
            }
            Watches::Endless => (jiff::Timestamp::MAX, Bookmarks::Unwanted),
        };
        Ok(Answer::watch(Watch {
            kind: Arc::clone(&call.kind),
            resource: call.kind.storage(),
            namespace: namespace_of(call).map(str::to_owned),
            selection,
            rendering,
            stage,
            bookmarks,
            until,
            restores: self.store.restores(),
        }))
    }
}

fn namespace_of(call: &Call) -> Option<&str> {
    Some(call.namespace.as_str()).filter(|namespace| !namespace.is_empty())
}

fn parse_revision(text: &str) -> Result<u64, Status> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        Status::bad_request(format!("invalid resource version: resourceVersion: Invalid value: {text:?}: {why}"))
    })
}

fn too_large(asked: u64, now: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {asked}, current: {now}");
    Status {
        details: Some(json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        })),
        ..Status::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
    }
}

/// The first key of the next page in etcd's order, relative to the listed path.
fn continue_key(call: &Call, last: &Key) -> String {
    match (call.namespace.as_str(), &*last.namespace) {
        ("", "") => format!("{}\0", last.name),
        ("", namespace) => format!("{namespace}/{}\0", last.name),
        // The path of the namespace ends without a slash.
        _ => format!("/{}\0", last.name),
    }
}

fn continue_token(call: &Call, revision: u64, last: &Key) -> String {
    encode_token(json!(revision), &continue_key(call, last))
}

fn encode_token(revision: Value, start: &str) -> String {
    URL_SAFE_NO_PAD.encode(json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": start }).to_string())
}

/// Reads the revision (`None`: the newest) and the last key of a token.
fn read_token(token: &str, namespace: &str) -> Result<(Option<u64>, Key), Status> {
    let invalid = |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = LENIENT.decode(token).map_err(|_| invalid("illegal base64 data"))?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|error| invalid(&error.to_string()))?;
    let version = token.get("v").and_then(Value::as_str).unwrap_or_default();
    if version != "meta.k8s.io/v1" {
        return Err(invalid(&format!("server does not recognize this encoded version {version}")));
    }
    let revision = match token.get("rv").and_then(Value::as_i64) {
        Some(-1) => None,
        Some(revision) if revision > 0 => u64::try_from(revision).ok(),
        _ => return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")),
    };
    let start = token.get("start").and_then(Value::as_str).unwrap_or_default().trim_end_matches('\0');
    if start.is_empty() {
        return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
    }
    let path = start.strip_prefix('/').unwrap_or(start);
    if path.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
        return Err(invalid(start));
    }
    Ok((
        revision,
        match path.rsplit_once('/') {
            Some((namespace, name)) => Key::new(namespace, name),
            None => Key::new(namespace, path),
        },
    ))
}
