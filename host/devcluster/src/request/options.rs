//! The query of a request, e.g. `ListOptions`, `CreateOptions`, `DeleteOptions`.

use serde_json::Value;

use crate::kinds::{FieldValidation, Propagation};
use crate::status::{Fault, FieldError, Named, Status};

const FIELD_MANAGER_LIMIT: usize = 128;

#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        Self(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        let error = |_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
        text.parse().map(Some).map_err(error)
    }

    /// Reads a boolean as apimachinery does: everything but `false` and `0` is true.
    fn flag(&self, name: &str) -> Option<bool> {
        let value = self.all(name).next()?;
        Some(!matches!(value, "false" | "0" | "False" | "FALSE" | "f" | "F"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) watch: bool,
    pub(crate) allow_bookmarks: bool,
    /// Empty, `0`, or a number.
    pub(crate) resource_version: String,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout_seconds: Option<i64>,
    /// 0 for no limit.
    pub(crate) limit: usize,
    pub(crate) r#continue: String,
}

impl ListOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Status> {
        let limit = query.number("limit")?.unwrap_or(0);
        let options = Self {
            label_selector: query.get("labelSelector").to_owned(),
            field_selector: query.get("fieldSelector").to_owned(),
            watch: query.flag("watch").unwrap_or(false),
            allow_bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            resource_version: query.get("resourceVersion").to_owned(),
            version_match: match query.get("resourceVersionMatch") {
                "Exact" => Some(VersionMatch::Exact),
                "NotOlderThan" => Some(VersionMatch::NotOlderThan),
                _ => None,
            },
            send_initial_events: query.flag("sendInitialEvents"),
            timeout_seconds: query.number("timeoutSeconds")?,
            limit: usize::try_from(limit).unwrap_or(0),
            r#continue: query.get("continue").to_owned(),
        };
        let errors = options.errors(query.get("resourceVersionMatch"));
        if errors.is_empty() { Ok(options) } else { Err(invalid("ListOptions", &errors)) }
    }

    fn errors(&self, version_match: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut forbid = |field: &str, detail: &str| errors.push(FieldError::forbidden(field, detail));
        const FIELD: &str = "resourceVersionMatch";
        if self.watch && self.send_initial_events.is_some() && version_match != "NotOlderThan" {
            forbid(FIELD, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        if !version_match.is_empty() {
            if self.watch && self.send_initial_events.is_none() {
                forbid(FIELD, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
            }
            if !self.watch && self.resource_version.is_empty() {
                forbid(FIELD, "resourceVersionMatch is forbidden unless resourceVersion is provided");
            }
            if !self.watch && !self.r#continue.is_empty() {
                forbid(FIELD, "resourceVersionMatch is forbidden when continue is provided");
            }
            let supported: &[&str] = if self.watch { &["NotOlderThan"] } else { &["Exact", "NotOlderThan", ""] };
            if !supported.contains(&version_match) {
                errors.push(not_supported(FIELD, version_match, supported));
            }
            let mut forbid = |field: &str, detail: &str| errors.push(FieldError::forbidden(field, detail));
            if self.watch && !self.r#continue.is_empty() {
                forbid(FIELD, "resourceVersionMatch is forbidden when continue is provided");
            }
            if !self.watch && version_match == "Exact" && self.resource_version == "0" {
                forbid(FIELD, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
            }
        }
        if !self.watch && self.send_initial_events.is_some() {
            errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        errors
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DryRun {
    All,
    #[default]
    No,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: DryRun,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: Option<bool>,
}

impl WriteOptions {
    /// Parses a query, with `Invalid` for bad values. `kind` is the name of the options in errors.
    pub(crate) fn parse(query: &Query, kind: &str, is_apply: bool) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let field_manager = query.get("fieldManager").to_owned();
        let force = query.flag("force");
        if kind == "PatchOptions" {
            if is_apply && field_manager.is_empty() {
                errors.push(FieldError::required("fieldManager", "is required for apply patch"));
            }
            if !is_apply && force.is_some() {
                errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
            }
        }
        if field_manager.len() > FIELD_MANAGER_LIMIT {
            let detail = format!("may not be more than {FIELD_MANAGER_LIMIT} bytes");
            errors.push(FieldError::new(Fault::TooLong, "fieldManager", detail));
        }
        for (position, character) in field_manager.char_indices().filter(|(_, character)| character.is_control()) {
            let text = format!(
                "Invalid value: {}: invalid character U+{:04X} (at position {position})",
                crate::go::quoted(&field_manager),
                u32::from(character)
            );
            errors.push(FieldError::new(Fault::Worded { reason: "FieldValueInvalid", text }, "fieldManager", ""));
        }
        let dry_run = dry_run(query.all("dryRun"), &mut errors);
        let field_validation = match query.get("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                errors.push(not_supported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]));
                FieldValidation::Warn
            }
        };
        if errors.is_empty() {
            Ok(Self { dry_run, field_manager, field_validation, force })
        } else {
            Err(invalid(kind, &errors))
        }
    }
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut Vec<FieldError>) -> DryRun {
    let values: Vec<&str> = values.collect();
    if values.iter().any(|value| *value != "All") {
        let shown: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        let detail = format!("Unsupported value: [{}]: supported values: \"All\"", shown.join(","));
        errors.push(FieldError::new(Fault::Worded { reason: "FieldValueNotSupported", text: detail }, "dryRun", ""));
    }
    if values.is_empty() { DryRun::No } else { DryRun::All }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: DryRun,
    /// Negative values mean one second.
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl DeleteOptions {
    /// Parses the body, or else the query. `BadRequest` for another kind, `Invalid` for bad values.
    pub(crate) fn parse(query: &Query, body: Option<&Value>) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let (propagation, orphan, dry, grace);
        let (mut uid, mut resource_version) = (None, None);
        if let Some(body) = body {
            let kind = body.get("kind").and_then(Value::as_str).unwrap_or("DeleteOptions");
            if kind != "DeleteOptions" {
                let version = body.get("apiVersion").and_then(Value::as_str).unwrap_or("v1");
                let scheme = "scheme \"pkg/runtime/scheme.go:111\"";
                return Err(Status::bad_request(format!("no kind {kind:?} is registered for version {version:?} in {scheme}")));
            }
            let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            propagation = text("/propagationPolicy");
            orphan = body.get("orphanDependents").and_then(Value::as_bool);
            grace = body.get("gracePeriodSeconds").and_then(Value::as_i64);
            (uid, resource_version) = (text("/preconditions/uid"), text("/preconditions/resourceVersion"));
            let values = body.get("dryRun").and_then(Value::as_array);
            dry = dry_run(values.into_iter().flatten().filter_map(Value::as_str), &mut errors);
        } else {
            propagation = query.all("propagationPolicy").next().map(str::to_owned);
            orphan = query.flag("orphanDependents");
            grace = query.number("gracePeriodSeconds")?;
            dry = dry_run(query.all("dryRun"), &mut errors);
        }
        let policy = match propagation.as_deref() {
            None => None,
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                errors.insert(0, not_supported("propagationPolicy", other, &["Foreground", "Background", "Orphan", "nil"]));
                None
            }
        };
        if let (Some(text), Some(_)) = (&propagation, orphan) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.insert(0, FieldError::invalid("propagationPolicy", text.as_str(), detail));
        }
        if !errors.is_empty() {
            return Err(invalid("DeleteOptions", &errors));
        }
        let orphan = orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background });
        Ok(Self {
            dry_run: dry,
            grace_period_seconds: grace.map(|seconds| if seconds < 0 { 1 } else { seconds }),
            propagation: policy.or(orphan),
            uid,
            resource_version,
        })
    }
}

fn not_supported(field: &str, value: &str, supported: &[&str]) -> FieldError {
    let supported = supported.iter().map(|text| (*text).to_owned()).collect();
    FieldError::new(Fault::NotSupported { value: Value::from(value), supported }, field, "")
}

fn invalid(kind: &str, errors: &[FieldError]) -> Status {
    Status::invalid(Named { group: "meta.k8s.io", resource: kind, name: "" }, errors)
}
