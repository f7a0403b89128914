//! Certificates that a CA in another Secret signs.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

mod toy;

use std::time::Duration;

use gyre_sdk::generated::Certificate;
use gyre_sdk::k8s::Secret;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use gyre_test::{Plugin, World, object};
use serde::Deserialize;
use serde_json::{Value, json};

use self::toy::TOY;

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Deserialize)]
struct Spec {
    /// Whether it is the CA.
    ca: bool,
}

/// Has a Secret of its own name, with a CA or with a certificate of the CA `ca`.
struct Signed;

impl Reconciler for Signed {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("signed", "0.1.0", TOY).crd(toy::definition()).child::<Secret>(Strategy::Apply).reads::<Secret>()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let certificate = if parent.spec.ca {
            Certificate::ca("a CA", "tls.key").valid_days(3650)
        } else {
            Certificate::signed_by_secret("ca", "tls.key").dns_names(["db"]).valid_days(90).ca_certificate("ca.crt")
        };
        Ok(Plan::children([Secret::new(&parent.metadata.name).with_generated("tls.crt", certificate)]))
    }
}

fn toy(name: &str) -> impl serde::Serialize {
    object("toys.gyre.dev/v1", "Toy", format!("default/{name}").as_str()).spec(json!({ "ca": name == "ca" }))
}

fn value(world: &World, secret: &str, key: &str) -> Value {
    world.get(format!("Secret default/{secret}").as_str()).unwrap()["data"][key].clone()
}

#[test]
fn a_certificate_waits_for_its_ca_follows_it_and_is_renewed() {
    let mut world = World::of(Plugin::native::<Signed>()).with(toy("leaf")).start().unwrap();
    world.settle().unwrap();
    assert!(world.find("Secret default/leaf").unwrap().is_none());
    let leaf = world.get("toys.gyre.dev/v1 Toy default/leaf").unwrap();
    let ready = leaf["status"]["conditions"].as_array().unwrap().iter().find(|condition| condition["type"] == "Ready").unwrap();
    assert_eq!(ready["reason"], "ValueNotMade");
    let message = ready["message"].as_str().unwrap();
    assert!(message.contains("the Secret \"ca\" of its issuer does not exist"), "{message}");

    world.put(toy("ca")).unwrap();
    world.settle().unwrap();
    assert_eq!(value(&world, "leaf", "ca.crt"), value(&world, "ca", "tls.crt"));
    let first = value(&world, "leaf", "tls.crt");
    assert!(first.is_string());

    // 90 days, without the last third.
    world.advance(59 * DAY).unwrap();
    assert_eq!(value(&world, "leaf", "tls.crt"), first);
    world.advance(2 * DAY).unwrap();
    let renewed = value(&world, "leaf", "tls.crt");
    assert_ne!(renewed, first);

    // Without the CA, what it signed stays; another CA signs it again.
    world.edit("toys.gyre.dev/v1 Toy default/ca", |toy| toy["spec"]["ca"] = json!(false)).unwrap();
    world.delete("Secret default/ca").unwrap();
    world.settle().unwrap();
    assert_eq!(value(&world, "leaf", "tls.crt"), renewed);
    world.edit("toys.gyre.dev/v1 Toy default/ca", |toy| toy["spec"]["ca"] = json!(true)).unwrap();
    world.settle().unwrap();
    assert_eq!(value(&world, "leaf", "ca.crt"), value(&world, "ca", "tls.crt"));
    assert_ne!(value(&world, "leaf", "tls.crt"), renewed);
}
