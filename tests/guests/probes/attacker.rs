//! Attacks its host as `spec.attack` says: `spin`, `trap`, `memory`, `recursion`, `children`,
//! `refusals`, `failure`, `names`, `log`, `clock`, `elsewhere` (a ConfigMap in `kube-system`).

use std::hint::black_box;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{
    Child, Cluster, Condition, Failure, Manifest, NoSettings, NoStatus, Object, ReadKind, Reconciler, Response, Strategy, log,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Spec {
    attack: String,
}

struct Attacker;

impl Reconciler for Attacker {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Attacker").child(CONFIG_MAP, Strategy::Apply).read(ReadKind::new(CONFIG_MAP).metadata_only())
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        match parent.spec.attack.as_str() {
            "spin" => loop {
                black_box(());
            },
            "trap" => std::process::abort(),
            "memory" => {
                let mut hoard = Vec::new();
                loop {
                    hoard.push(black_box(vec![1_u8; 1 << 20]));
                }
            }
            "recursion" => {
                black_box(descend(black_box(u64::MAX)));
                Ok(Response::children())
            }
            "children" => (0..20_000).try_fold(Response::children(), |response, number| {
                response.apply(&config_map(&format!("child-{number}"), json!({})))
            }),
            "refusals" => {
                let child =
                    |number| json!({"apiVersion": "v1", "kind": format!("Undeclared{number}"), "metadata": {"name": "it"}});
                let children = (0..9_900).map(|number| Child::Apply(child(number).to_string().into_bytes()));
                Ok(Response { children: Some(children.collect()), ..Response::children() })
            }
            "failure" => Err(Failure::transient("no! ".repeat(2_000_000))),
            "names" => {
                for letter in 'a'..'p' {
                    let name = letter.to_string().repeat(10_000_000);
                    cluster.get::<Value>(CONFIG_MAP, None, &name)?;
                }
                Ok(Response::children())
            }
            "log" => {
                let line = "x".repeat(1 << 10);
                (0..100_000).for_each(|_| log::info(&line, &[("field", &line)]));
                Ok(Response::children())
            }
            "clock" => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let ticking = Condition::new("Ticking", true, "Ticks", format!("{now:?}"));
                Ok(Response::children().condition(ticking).requeue_after(Duration::from_millis(1)))
            }
            "elsewhere" => {
                let mut child = config_map(&parent.metadata.name, json!({}));
                if let Some(Value::Object(metadata)) = child.get_mut("metadata") {
                    metadata.insert("namespace".to_owned(), json!("kube-system"));
                }
                Response::children().apply(&child)
            }
            other => Err(Failure::terminal(format!("there is no attack {other:?}"))),
        }
    }
}

/// The work after the call prevents the compiler from making it a loop.
fn descend(depth: u64) -> u64 {
    if depth == 0 { 0 } else { descend(depth - 1).rotate_left(1) ^ depth }
}

gyre_sdk::export!(Attacker);
