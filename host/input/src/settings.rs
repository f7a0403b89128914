//! Checks settings by the schema of their plugin and by the plugin itself.

use gyre_core::manifest::Manifest;
use gyre_core::text::error_chain;
use gyre_core::text::list;
use gyre_sandbox::{Limits, Plugin, call, settings};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError};
use serde_json::Value;

use crate::document::{Document, Node, Part, Source};
use crate::problem::{Place, Problems};
use crate::schema::{report_unknown, schema_of};
use crate::schema_cost;

/// The most errors of one schema that are reported.
const MOST_ERRORS: usize = 20;
/// The longest error, in characters, because errors quote values.
const GIVE_SETTINGS: &str = "add it to the settings: those of the mount in the configuration file, --settings with a JSON object, or settings.yaml of a case of `gyre test`";
const LONGEST_MESSAGE: usize = 300;

/// Checks settings that are not in a file.
///
/// # Errors
///
/// All problems.
pub fn accept(plugin: &Plugin, settings: &Value, limits: &Limits) -> Result<Value, Problems> {
    let mut problems = Problems::default();
    let source = Source::Flag("the settings".into());
    let settings = match Document::parse(source, &settings.to_string()) {
        Ok(document) => Some(Part::whole(document)),
        Err(problem) => {
            problems.0.push(problem);
            None
        }
    };
    let json = check(plugin, settings.as_ref(), &Place::whole(&"the settings".into()), limits, &mut problems);
    if problems.0.is_empty() { Ok(json) } else { Err(problems) }
}

/// Checks the settings of a mount and returns them as JSON: without any, `{}`. Problems are then at
/// the place of the `mount`.
pub fn check(plugin: &Plugin, settings: Option<&Part>, mount: &Place, limits: &Limits, problems: &mut Problems) -> Value {
    let json = settings.and_then(Part::node).map_or_else(|| Value::Object(serde_json::Map::new()), Node::to_json);
    let check = Check { manifest: plugin.manifest(), settings, mount };
    let before = problems.0.len();
    match &check.manifest.settings_schema {
        Some(schema) => check.by_schema(schema, &json, problems),
        None => check.are_none(&json, problems),
    }
    if problems.0.len() == before
        && let Err(error) = plugin.validate_settings(json.to_string().as_bytes(), limits)
    {
        let plugin = &check.manifest.name;
        let remedy = match &error {
            settings::Error::Rejected(_) => format!("change them to what the plugin {plugin} accepts"),
            settings::Error::Call(call::Error::OutOfMemory { .. }) => "raise limits.memory".to_owned(),
            settings::Error::Call(call::Error::DeadlineExceeded { .. }) => "raise limits.deadline".to_owned(),
            settings::Error::Call(_) => {
                format!("it is a fault of the plugin {plugin}: tell its author, or mount another version")
            }
        };
        problems.add(check.place_of(""), shorten(&error_chain(&error)), remedy);
    }
    json
}

struct Check<'a> {
    manifest: &'a Manifest,
    settings: Option<&'a Part>,
    mount: &'a Place,
}

impl Check<'_> {
    fn are_none(&self, json: &Value, problems: &mut Problems) {
        if json.as_object().is_some_and(|settings| !settings.is_empty()) {
            problems.add(self.place_of(""), format!("the plugin {} takes no settings", self.manifest.name), "remove them");
        }
    }

    fn by_schema(&self, schema: &Value, json: &Value, problems: &mut Problems) {
        let built = schema_cost::check(schema).and_then(|()| {
            let options = jsonschema::options().with_draft(Draft::Draft202012).offline();
            options.build(schema).map_err(|error| error.to_string())
        });
        let validator = match built {
            Ok(validator) => validator,
            Err(error) => {
                let what = format!("the settings schema of the plugin {} cannot be used: {error}", self.manifest.name);
                problems.add(self.place_of(""), shorten(&what), "correct the schema in the plugin");
                return;
            }
        };
        for error in validator.iter_errors(json).take(MOST_ERRORS) {
            self.report(schema, &error, problems);
        }
    }

    fn report(&self, schema: &Value, error: &ValidationError<'_>, problems: &mut Problems) {
        let (at, schema, plugin) = (error.instance_path().as_str(), schema_of(error, schema), &self.manifest.name);
        match (error.kind(), self.settings) {
            (
                ValidationErrorKind::AdditionalProperties { unexpected }
                | ValidationErrorKind::UnevaluatedProperties { unexpected },
                Some(settings),
            ) => {
                let known = |known: &[&str]| format!("the plugin {plugin} knows {}", list(known));
                report_unknown(&settings.at(at), "setting", unexpected, schema, known, problems);
            }
            (ValidationErrorKind::Required { property }, _) => {
                let name = property.as_str().unwrap_or_default();
                let what = match at {
                    "" => format!("the plugin {plugin} needs the setting {name}"),
                    at => format!("the setting {at} of the plugin {plugin} lacks the field {name}"),
                };
                problems.add(self.place_of(at), shorten(&what), GIVE_SETTINGS);
            }
            _ => {
                let remedy = match schema.get("description").and_then(Value::as_str) {
                    Some(description) => format!("the plugin {plugin} says of it: {}", shorten(description)),
                    None => format!("change it to what the schema of the plugin {plugin} allows"),
                };
                problems.add(self.place_of(at), shorten(&error.to_string()), remedy);
            }
        }
    }

    fn place_of(&self, pointer: &str) -> Place {
        self.settings.map_or_else(|| self.mount.clone(), |settings| settings.at(pointer).place())
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
