//! Does what its settings say, so that e.g. a mount and its shadow differ for the same parents.
//!
//! - `children`: the suffixes of its ConfigMaps `<name>-<suffix>`, by default `one` and `two`
//! - `text`: is in each of them
//! - `secret`: is in the Secret `<name>-secret`, and as `copy` in each ConfigMap; optional
//! - `read`: a ConfigMap whose `data.text`, or a read error, replaces `text`
//! - `end`: how a call ends for parents whose names begin with `of`: `panic`, `spin` or `fail`

use gyre_guests::{config_map, read_error};
use gyre_sdk::k8s::{ConfigMap, Secret};
use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoStatus, Object, Plan, Reconciler, Resource, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default = "two")]
    children: Vec<String>,
    #[serde(default)]
    text: String,
    secret: Option<String>,
    read: Option<String>,
    end: Option<End>,
    #[serde(default)]
    of: String,
}

impl gyre_sdk::Settings for Settings {
    fn schema() -> Option<String> {
        Some(r#"{"type": "object"}"#.to_owned())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum End {
    Panic,
    Spin,
    Fail,
}

fn two() -> Vec<String> {
    vec!["one".to_owned(), "two".to_owned()]
}

#[derive(Deserialize)]
struct Text {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    text: String,
}

impl Resource for Text {
    const KIND: Kind = ConfigMap::KIND;
}

struct Protean;

impl Reconciler for Protean {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = Settings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Protean").child::<ConfigMap>(Strategy::Apply).child::<Secret>(Strategy::Apply).reads::<ConfigMap>()
    }

    fn reconcile(parent: &Self::Parent, settings: &Settings, cluster: &Cluster) -> Result<Plan> {
        let name = &parent.metadata.name;
        if name.starts_with(&settings.of) {
            match settings.end {
                Some(End::Panic) => give_up(),
                Some(End::Spin) => loop {
                    std::hint::spin_loop();
                },
                Some(End::Fail) => return Err(Failure::terminal("it fails, as its settings say")),
                None => {}
            }
        }
        let text = match &settings.read {
            None => settings.text.clone(),
            Some(read) => match cluster.get::<Text>(read) {
                Ok(found) => found.map_or_else(|| "absent".to_owned(), |found| found.data.text),
                Err(error) => read_error(&error),
            },
        };
        let data = match &settings.secret {
            Some(secret) => json!({"text": text, "copy": secret}),
            None => json!({"text": text}),
        };
        let mut plan = Plan::no_children();
        if let Some(secret) = &settings.secret {
            plan = plan.apply(Secret::new(format!("{name}-secret")).with_string_data([("value", secret)]));
        }
        for end in &settings.children {
            plan = plan.apply(config_map(&format!("{name}-{end}"), data.clone()));
        }
        Ok(plan)
    }
}

#[expect(clippy::panic, reason = "what the settings say")]
fn give_up() -> ! {
    panic!("it panics, as its settings say")
}

gyre_sdk::export!(Protean);
