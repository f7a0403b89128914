//! Types of a kind from its CustomResourceDefinition.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::model::{Choice, Field, Kind, Module, Object, Shape};
use crate::names::camel;

/// A definition from which no types can be generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The problem.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.message, self.remedy)
    }
}

impl std::error::Error for Error {}

/// Returns the types of a version of a definition (`apiextensions.k8s.io/v1`); without a version,
/// of the one that is stored.
///
/// # Errors
///
/// If it is no definition, lacks the version, or the version has no schema.
pub fn of_crd(definition: &Value, version: Option<&str>) -> Result<Module, Error> {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let error = |message: String, remedy: &str| Error { message, remedy: remedy.to_owned() };
    let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else {
        let message = "this is no CustomResourceDefinition: spec.group or spec.names.kind is missing".to_owned();
        return Err(error(message, "give a file as kubectl get crd NAME -o yaml prints it"));
    };
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |version: &Value| version["name"].as_str().unwrap_or_default().to_owned();
    let is_wanted = |candidate: &&Value| match version {
        Some(version) => candidate["name"] == version,
        None => candidate["storage"] == true,
    };
    let Some(found) = versions.iter().find(is_wanted) else {
        let names: Vec<String> = versions.iter().map(name).collect();
        let message = match version {
            Some(version) => format!("{kind} has no version {version}"),
            None => format!("{kind} has no version that is stored"),
        };
        return Err(error(message, &format!("choose one of the versions {}", names.join(", "))));
    };
    let Some(schema) = found.pointer("/schema/openAPIV3Schema") else {
        let message = format!("the version {} of {kind} has no schema", name(found));
        return Err(error(message, "ask for a version with schema.openAPIV3Schema"));
    };
    let mut types = Types { module: Module::default(), taken: BTreeSet::new() };
    let kind_name = types.free(&camel(kind));
    let api_version = format!("{group}/{}", name(found));
    let mut object = types.object(&kind_name, schema);
    object.fields.retain(|field| !matches!(field.name.as_str(), "apiVersion" | "kind" | "metadata"));
    let metadata = Field {
        name: "metadata".to_owned(),
        description: "The metadata.".to_owned(),
        shape: Shape::Object("ObjectMeta".to_owned()),
    };
    object.fields.insert(0, metadata);
    types.module.kinds.push(Kind { api_version, object });
    types.module.sort();
    Ok(types.module)
}

struct Types {
    module: Module,
    taken: BTreeSet<String>,
}

impl Types {
    /// Returns the name, with a number if another type has it.
    fn free(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let free = names.find(|name| !self.taken.contains(name) && !self.taken.contains(&format!("{name}View")));
        let free = free.unwrap_or_else(|| name.to_owned());
        self.taken.insert(free.clone());
        self.taken.insert(format!("{free}View"));
        free
    }

    fn object(&mut self, name: &str, schema: &Value) -> Object {
        let description = schema["description"].as_str().unwrap_or_default().to_owned();
        let mut fields = Vec::new();
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let description = schema["description"].as_str().unwrap_or_default().to_owned();
            fields.push(Field { name: field.clone(), description, shape: self.shape(name, field, schema) });
        }
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(str::to_owned).collect();
        Object { name: name.to_owned(), description, fields, required }
    }

    fn shape(&mut self, owner: &str, field: &str, schema: &Value) -> Shape {
        if schema["x-kubernetes-int-or-string"] == true {
            return Shape::IntOrText;
        }
        match schema["type"].as_str().unwrap_or_default() {
            "string" if schema["format"] == "date-time" => Shape::Time,
            "string" => match texts(schema) {
                Some(texts) => Shape::Choice(self.choice(owner, field, texts)),
                None => Shape::Text,
            },
            "array" => self.shape(owner, field, &schema["items"]).listed(),
            "object" if schema["properties"].is_object() => {
                let name = self.free(&format!("{owner}{}", camel(field)));
                let object = self.object(&name, schema);
                self.module.objects.push(object);
                Shape::Object(name)
            }
            "object" if schema["additionalProperties"].is_object() => {
                match self.shape(owner, field, &schema["additionalProperties"]) {
                    Shape::Object(name) => Shape::ObjectMap(name),
                    Shape::Text => Shape::TextMap,
                    _ => Shape::Json,
                }
            }
            _ => Shape::of_scalar(schema).unwrap_or(Shape::Json),
        }
    }

    fn choice(&mut self, owner: &str, field: &str, texts: Vec<String>) -> String {
        let name = self.free(&format!("{owner}{}", camel(field)));
        self.module.choices.push(Choice { name: name.clone(), texts });
        name
    }
}

/// The texts of an enum, `None` if it has other values or texts that give the same identifier.
fn texts(schema: &Value) -> Option<Vec<String>> {
    let values = schema.get("enum")?.as_array()?;
    let texts: Vec<String> = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let identifiers: BTreeSet<String> = texts.iter().map(|text| camel(text)).collect();
    (texts.len() == values.len() && identifiers.len() == texts.len() && !texts.is_empty()).then_some(texts)
}
