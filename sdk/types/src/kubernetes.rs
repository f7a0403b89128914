//! Types of built-in kinds, from the OpenAPI v3 documents of an API server.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::model::{Choice, Field, Kind, Module, Object, Shape};
use crate::names::camel;

/// The kinds to generate.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The groups with their version; the group of `v1` is empty.
    pub groups: &'a [(&'a str, &'a str)],
    /// Kinds of these groups that are left out, by group and name.
    pub without: &'a [(&'a str, &'a str)],
}

/// Fields that change on each write or are never set.
const WITHOUT_FIELDS: [(&str, &str); 2] = [("ObjectMeta", "managedFields"), ("ObjectMeta", "selfLink")];

/// Names that say nothing without the name of their type.
const GENERAL: [&str; 10] =
    ["Action", "Effect", "Kind", "Operator", "Phase", "PullPolicy", "Reason", "Scheme", "Status", "Type"];

type Schemas = BTreeMap<String, Map<String, Value>>;

/// Returns the types of the selected kinds, by module: the group's first label, or `meta`.
pub fn of_openapi(documents: &[Value], selection: &Selection<'_>) -> BTreeMap<String, Module> {
    let schemas = schemas(documents);
    let mut reached = Reached { schemas: &schemas, waiting: Vec::new(), seen: BTreeSet::new(), choices: Vec::new() };
    let mut kinds = BTreeMap::new();
    for (id, schema) in &schemas {
        if let Some(api_version) = selected(schema, last(id), selection) {
            kinds.insert(id.clone(), api_version);
            reached.reach(id);
        }
    }
    let mut objects: Vec<(String, Object)> = Vec::new();
    while let Some(id) = reached.waiting.pop() {
        let object = reached.object(&id, kinds.contains_key(&id));
        objects.push((id, object));
    }
    let names = choice_names(&reached.choices, &objects);
    let mut modules: BTreeMap<String, Module> = BTreeMap::new();
    for (id, mut object) in objects {
        let module = modules.entry(module_of(&id)).or_default();
        for field in &mut object.fields {
            name_choice(&object.name, field, &names);
        }
        match kinds.get(&id) {
            Some(api_version) => module.kinds.push(Kind { api_version: api_version.clone(), object }),
            None => module.objects.push(object),
        }
    }
    for (module, choice) in names.choices {
        modules.entry(module).or_default().choices.push(choice);
    }
    modules.values_mut().for_each(Module::sort);
    modules
}

fn schemas(documents: &[Value]) -> Schemas {
    let of = |document: &Value| document.pointer("/components/schemas").and_then(Value::as_object).cloned().unwrap_or_default();
    let schemas = documents.iter().flat_map(of);
    schemas.filter_map(|(id, schema)| Some((id, schema.as_object()?.clone()))).collect()
}

/// Returns the `apiVersion` of a schema that is a selected kind of objects.
fn selected(schema: &Map<String, Value>, name: &str, selection: &Selection<'_>) -> Option<String> {
    let [kind] = schema.get("x-kubernetes-group-version-kind")?.as_array()?.as_slice() else { return None };
    let text = |field: &str| kind.get(field).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = (text("group"), text("version"));
    let has_metadata = target(schema.get("properties")?.get("metadata")?).is_some_and(|id| last(id) == "ObjectMeta");
    let is_selected = selection.groups.contains(&(group, version)) && !selection.without.contains(&(group, name));
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    (has_metadata && is_selected).then_some(api_version)
}

/// The last label of a schema's name.
fn last(id: &str) -> &str {
    id.rsplit('.').next().unwrap_or(id)
}

/// `io.k8s.api.batch.v1.Job` is of `batch`, and `io.k8s.apimachinery.pkg.apis.meta.v1.Time` of
/// `meta`.
fn module_of(id: &str) -> String {
    id.rsplit('.').nth(2).unwrap_or("other").to_owned()
}

/// Returns the schema that a reference names.
fn target(schema: &Value) -> Option<&str> {
    let reference = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"))?;
    reference.as_str()?.strip_prefix("#/components/schemas/")
}

/// A set of texts in a field.
struct ChoiceField {
    module: String,
    owner: String,
    field: String,
    base: String,
    texts: Vec<String>,
}

struct Reached<'a> {
    schemas: &'a Schemas,
    waiting: Vec<String>,
    seen: BTreeSet<String>,
    choices: Vec<ChoiceField>,
}

impl Reached<'_> {
    fn reach(&mut self, id: &str) {
        if self.seen.insert(id.to_owned()) {
            self.waiting.push(id.to_owned());
        }
    }

    fn object(&mut self, id: &str, is_kind: bool) -> Object {
        let name = last(id).to_owned();
        let schema = self.schemas.get(id);
        let description = described(schema.and_then(|schema| schema.get("description")));
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object()).cloned().unwrap_or_default();
        let is_left_out = |field: &str| {
            (is_kind && matches!(field, "apiVersion" | "kind")) || WITHOUT_FIELDS.contains(&(name.as_str(), field))
        };
        let properties = properties.into_iter().filter(|(field, _)| !is_left_out(field));
        let fields = properties.map(|(field, schema)| {
            let description = described(schema.get("description"));
            Field { shape: self.shape(id, &field, &schema), name: field, description }
        });
        Object { fields: fields.collect(), name: name.clone(), description, required: required(schema) }
    }

    fn shape(&mut self, owner: &str, field: &str, schema: &Value) -> Shape {
        if let Some(id) = target(schema) {
            return self.referred(id);
        }
        match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
            "string" => match texts(schema) {
                Some(texts) => Shape::Choice(self.choice(owner, field, texts)),
                None => Shape::Text,
            },
            "array" => self.shape(owner, field, &schema["items"]).listed(),
            "object" if schema["additionalProperties"].is_object() => {
                // A map from a choice to a text is a map of texts.
                let elements = &schema["additionalProperties"];
                match target(elements).map(|id| self.referred(id)) {
                    Some(Shape::Object(name)) => Shape::ObjectMap(name),
                    Some(Shape::Text) => Shape::TextMap,
                    None if elements["format"] == "byte" => Shape::ByteMap,
                    None if elements["type"] == "string" => Shape::TextMap,
                    _ => Shape::Json,
                }
            }
            _ => Shape::of_scalar(schema).unwrap_or(Shape::Json),
        }
    }

    fn referred(&mut self, id: &str) -> Shape {
        match last(id) {
            "Quantity" => Shape::Text,
            "Time" | "MicroTime" => Shape::Time,
            "IntOrString" => Shape::IntOrText,
            _ if self.schemas.get(id).is_some_and(|schema| schema.get("properties").is_none()) => Shape::Json,
            name => {
                self.reach(id);
                Shape::Object(name.to_owned())
            }
        }
    }

    /// Notes a choice, and returns a name for it until all are known.
    fn choice(&mut self, owner: &str, field: &str, texts: Vec<String>) -> String {
        let choice = ChoiceField {
            module: module_of(owner),
            owner: last(owner).to_owned(),
            field: field.to_owned(),
            base: camel(&singular(field)),
            texts,
        };
        self.choices.push(choice);
        String::new()
    }
}

fn required(schema: Option<&Map<String, Value>>) -> Vec<String> {
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    required.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn described(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The texts of an enum, without the empty one, which stands for none.
fn texts(schema: &Value) -> Option<Vec<String>> {
    let texts = schema.get("enum")?.as_array()?.iter().filter_map(Value::as_str);
    Some(texts.filter(|text| !text.is_empty()).map(str::to_owned).collect())
}

fn singular(field: &str) -> String {
    match (field.strip_suffix("ies"), field.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) if !stem.ends_with('s') => stem.to_owned(),
        _ => field.to_owned(),
    }
}

/// The names of choices by the type and field that have them.
struct ChoiceNames {
    of_field: BTreeMap<(String, String), String>,
    /// With their modules.
    choices: Vec<(String, Choice)>,
}

/// Fields of the same name with the same texts share a choice, unless the name is general.
fn choice_names(fields: &[ChoiceField], objects: &[(String, Object)]) -> ChoiceNames {
    let is_general = |base: &str| GENERAL.contains(&base);
    let mut groups: BTreeMap<(&str, &[String], &str), Vec<&ChoiceField>> = BTreeMap::new();
    for field in fields {
        let owner = if is_general(&field.base) { field.owner.as_str() } else { "" };
        groups.entry((&field.base, &field.texts, owner)).or_default().push(field);
    }
    let is_object = |name: &str| objects.iter().any(|(_, object)| object.name == name);
    let mut names = ChoiceNames { of_field: BTreeMap::new(), choices: Vec::new() };
    for ((base, texts, _), mut users) in groups.clone() {
        let has_other_texts = groups.keys().any(|(other, other_texts, _)| *other == base && *other_texts != texts);
        users.sort_by_key(|user| (user.module.clone(), user.owner.clone()));
        let Some(first) = users.first() else { continue };
        let name = if is_general(base) || has_other_texts || is_object(base) {
            format!("{}{base}", first.owner.trim_end_matches("Spec").trim_end_matches("Status"))
        } else {
            base.to_owned()
        };
        for user in &users {
            names.of_field.insert((user.owner.clone(), user.field.clone()), name.clone());
        }
        names.choices.push((first.module.clone(), Choice { name, texts: texts.to_vec() }));
    }
    names
}

fn name_choice(owner: &str, field: &mut Field, names: &ChoiceNames) {
    if let Shape::Choice(name) | Shape::Choices(name) = &mut field.shape
        && let Some(known) = names.of_field.get(&(owner.to_owned(), field.name.clone()))
    {
        name.clone_from(known);
    }
}
