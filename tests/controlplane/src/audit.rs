//! Reads the audit log of the API server, which shows all requests of gyre to a cluster.
//!
//! Each line is one event in JSON. A request gives one event, at stage `ResponseComplete`; a watch
//! gives another one, `ResponseStarted`, when it is opened. Refused requests are included.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use serde_json::Value;

/// The bytes that are read at a time to find the end of the log. A line has about 1 KB, with bodies
/// some tens.
const PIECE: usize = 64 << 10;

/// The stage of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The headers of a long-running response (a watch) were sent.
    ResponseStarted,
    /// The response is complete.
    ResponseComplete,
    /// The server panicked.
    Panic,
}

/// One event of the audit log. Strings are empty if the log has no value.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEvent {
    /// The user, e.g. `system:serviceaccount:default:gyre`.
    pub user: String,
    /// The groups of [`Self::user`].
    pub groups: Vec<String>,
    /// The user that was impersonated, if any.
    pub impersonated: Option<String>,
    /// The verb, e.g. `deletecollection`; for a path that is no resource, the HTTP method.
    pub verb: String,
    /// API group of the resource; empty for the core group.
    pub group: String,
    /// Plural of the kind, e.g. `jobs`.
    pub resource: String,
    /// The subresource, e.g. `status`.
    pub subresource: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object; empty for lists, and for a create without a name or an unread body.
    pub name: String,
    /// HTTP status code of the response; 0 without a response.
    pub code: u16,
    /// The time at which the event was written.
    pub timestamp: SystemTime,
    /// The time at which the request arrived.
    pub received: SystemTime,
    /// The user agent of the client.
    pub user_agent: String,
    /// The stage of the request.
    pub stage: Stage,
    /// The path and query of the request.
    pub uri: String,
    /// Identity of the request, shared by its events.
    pub id: String,
    /// `allow` or `forbid`, as the authorizer decided.
    pub decision: String,
    /// The body of the request, at level `Request` and above.
    pub request_object: Option<Value>,
    /// The body of the response, at level `RequestResponse`.
    pub response_object: Option<Value>,
}

impl AuditEvent {
    /// Parses a line of the log. Errors: it lacks the verb, the stage or a timestamp.
    pub fn parse(line: &str) -> anyhow::Result<Self> {
        let event: Value = serde_json::from_str(line).context("no JSON")?;
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let needed = |pointer: &str| {
            event.pointer(pointer).and_then(Value::as_str).with_context(|| format!("an audit event without {pointer}"))
        };
        let time = |pointer: &str| -> anyhow::Result<SystemTime> {
            let timestamp: jiff::Timestamp = needed(pointer)?.parse().with_context(|| format!("in {pointer}"))?;
            Ok(timestamp.into())
        };
        let groups = event.pointer("/user/groups").and_then(Value::as_array);
        Ok(Self {
            user: text("/user/username"),
            groups: groups.into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect(),
            impersonated: event.pointer("/impersonatedUser/username").and_then(Value::as_str).map(str::to_string),
            verb: needed("/verb")?.to_string(),
            group: text("/objectRef/apiGroup"),
            resource: text("/objectRef/resource"),
            subresource: text("/objectRef/subresource"),
            namespace: text("/objectRef/namespace"),
            name: text("/objectRef/name"),
            code: event
                .pointer("/responseStatus/code")
                .and_then(Value::as_u64)
                .and_then(|code| u16::try_from(code).ok())
                .unwrap_or(0),
            timestamp: time("/stageTimestamp")?,
            received: time("/requestReceivedTimestamp")?,
            user_agent: text("/userAgent"),
            stage: match needed("/stage")? {
                "ResponseStarted" => Stage::ResponseStarted,
                "ResponseComplete" => Stage::ResponseComplete,
                "Panic" => Stage::Panic,
                other => anyhow::bail!("the audit policy omits stage {other}"),
            },
            uri: text("/requestURI"),
            id: text("/auditID"),
            decision: text("/annotations/authorization.k8s.io~1decision"),
            request_object: event.get("requestObject").cloned(),
            response_object: event.get("responseObject").cloned(),
        })
    }

    /// Returns whether the request was to change something, allowed or not.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// Returns whether the code is 2xx.
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

/// A place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl Mark {
    /// The beginning of the log.
    pub const START: Self = Self(0);
}

/// Reads the log of a running control plane. The server writes an event after it has answered:
/// [`AuditReader::wait_for`] waits for one, [`crate::ControlPlane::audit_barrier`] for all.
#[derive(Clone, Debug)]
pub struct AuditReader {
    path: PathBuf,
}

impl AuditReader {
    /// Returns a reader of the log at `path`, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    /// Returns the present end of the log: the end of its last whole line.
    pub fn mark(&self) -> anyhow::Result<Mark> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Mark::START),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", self.path.display())),
        };
        // The log has up to hundreds of megabytes, so it is read from its end.
        let mut end = file.metadata()?.len();
        let mut piece = vec![0; PIECE];
        while end > 0 {
            let begin = end.saturating_sub(PIECE as u64);
            let bytes = piece.get_mut(..(end - begin) as usize).unwrap_or_default();
            file.seek(SeekFrom::Start(begin))?;
            file.read_exact(bytes)?;
            if let Some(position) = bytes.iter().rposition(|byte| *byte == b'\n') {
                return Ok(Mark(begin + position as u64 + 1));
            }
            end = begin;
        }
        Ok(Mark::START)
    }

    /// Returns every event since `mark`, oldest first.
    pub fn since(&self, mark: Mark) -> anyhow::Result<Vec<AuditEvent>> {
        let (text, _) = self.read(mark)?;
        text.lines().map(|line| AuditEvent::parse(line).with_context(|| format!("audit log line {line}"))).collect()
    }

    /// Returns the events since `mark` for which `predicate` is true.
    pub fn matching(&self, mark: Mark, predicate: impl Fn(&AuditEvent) -> bool) -> anyhow::Result<Vec<AuditEvent>> {
        Ok(self.since(mark)?.into_iter().filter(predicate).collect())
    }

    /// Returns the number of matching events since `mark`. A watch has two, at different stages.
    pub fn count_since(&self, mark: Mark, predicate: impl Fn(&AuditEvent) -> bool) -> anyhow::Result<usize> {
        Ok(self.matching(mark, predicate)?.len())
    }

    /// Waits at most `patience` for an event since `mark` for which `predicate` is true.
    pub fn wait_for(
        &self,
        mark: Mark,
        patience: Duration,
        predicate: impl Fn(&AuditEvent) -> bool,
    ) -> anyhow::Result<AuditEvent> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(event) = self.since(mark)?.into_iter().find(&predicate) {
                return Ok(event);
            }
            anyhow::ensure!(Instant::now() < deadline, "no such event in the audit log within {patience:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn read(&self, mark: Mark) -> anyhow::Result<(String, Mark)> {
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(mark.0))?;
                file.read_to_end(&mut bytes)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", self.path.display())),
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
        bytes.truncate(whole);
        let text = String::from_utf8(bytes).context("the audit log is not UTF-8")?;
        Ok((text, Mark(mark.0 + whole as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const LOG: &str = include_str!("../tests/data/audit.log");

    fn summary(event: &AuditEvent) -> String {
        let AuditEvent { user, verb, resource, subresource, namespace, name, code, stage, .. } = event;
        format!("{user} {verb} {resource}/{subresource} {namespace}/{name} {code} {stage:?}")
    }

    #[test]
    fn events_are_read_as_the_server_writes_them() {
        let events: Vec<AuditEvent> = LOG.lines().map(|line| AuditEvent::parse(line).unwrap()).collect();
        let expected = include_str!("../tests/data/audit.expected");
        let found: String = events.iter().map(|event| summary(event) + "\n").collect();
        assert_eq!(found, expected, "{found}");
        let impersonated: Vec<&str> = events.iter().filter_map(|event| event.impersonated.as_deref()).collect();
        assert_eq!(impersonated, ["other"]);
        for event in &events {
            assert!(event.timestamp >= event.received);
            assert!(!event.user_agent.is_empty() && event.uri.starts_with('/') && !event.id.is_empty());
        }
    }

    #[test]
    fn a_reader_sees_whole_lines_after_its_mark_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let reader = AuditReader::new(&path);
        assert_eq!(reader.mark().unwrap(), Mark::START);

        let lines: Vec<&str> = LOG.lines().collect();
        let mut file = File::create(&path).unwrap();
        writeln!(file, "{}", lines[0]).unwrap();
        let mark = reader.mark().unwrap();
        assert_eq!(reader.since(Mark::START).unwrap().len(), 1);

        let (begin, end) = lines[1].split_at(40);
        write!(file, "{begin}").unwrap();
        assert_eq!(reader.since(mark).unwrap(), []);
        assert_eq!(reader.mark().unwrap(), mark);
        write!(file, "{}", " ".repeat(3 * PIECE)).unwrap();
        assert_eq!(reader.mark().unwrap(), mark, "a line may be longer than what is read at a time");

        writeln!(file, "{end}").unwrap();
        assert_eq!(reader.since(mark).unwrap(), [AuditEvent::parse(lines[1]).unwrap()]);
        assert_eq!(reader.count_since(Mark::START, |event| event.verb == "no such").unwrap(), 0);
        assert!(reader.wait_for(mark, Duration::ZERO, |event| event.verb == "no such").is_err());
    }

    #[test]
    fn a_line_that_is_not_an_event_is_an_error() {
        for line in ["", "{}", "[]", r#"{"verb":"get","stage":"Later"}"#] {
            assert!(AuditEvent::parse(line).is_err(), "{line:?}");
        }
    }
}
