//! Attacks its host as `spec.attack` says: `spin`, `trap`, `memory`, `recursion`, `children`,
//! `refusals`, `failure`, `names`, `log`, `clock`, `elsewhere` (a ConfigMap in `kube-system`).

use std::hint::black_box;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{
    Cluster, Condition, Failure, Manifest, NoSettings, NoStatus, Object, Plan, ReadKind, Reconciler, Result, Strategy, log,
};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    attack: String,
}

struct Attacker;

impl Reconciler for Attacker {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Attacker")
            .child::<ConfigMap>(Strategy::Apply)
            .read_kind(ReadKind::of::<ConfigMap>().metadata_only())
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
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
                Ok(Plan::no_children())
            }
            "children" => {
                let child = |number| config_map(&format!("child-{number}"), json!({}));
                Ok(Plan::children((0..20_000).map(child)))
            }
            "refusals" => {
                let child =
                    |number| json!({"apiVersion": "v1", "kind": format!("Undeclared{number}"), "metadata": {"name": "it"}});
                Ok(Plan::children((0..9_900).map(child)))
            }
            "failure" => Err(Failure::transient("no! ".repeat(2_000_000))),
            "names" => {
                for letter in 'a'..'p' {
                    let name = letter.to_string().repeat(10_000_000);
                    cluster.get::<ConfigMap>(&name)?;
                }
                Ok(Plan::no_children())
            }
            "log" => {
                let line = "x".repeat(1 << 10);
                (0..100_000).for_each(|_| log::info(&line, &[("field", &line)]));
                Ok(Plan::no_children())
            }
            "clock" => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let ticking = Condition::new("Ticking", true, "Ticks", format!("{now:?}"));
                Ok(Plan::no_children().condition(ticking).requeue_after(Duration::from_millis(1)))
            }
            "elsewhere" => Ok(Plan::children([ConfigMap::new(&parent.metadata.name).with_namespace("kube-system")])),
            other => Err(Failure::terminal(format!("there is no attack {other:?}"))),
        }
    }
}

/// The work after the call prevents the compiler from making it a loop.
fn descend(depth: u64) -> u64 {
    if depth == 0 { 0 } else { descend(depth - 1).rotate_left(1) ^ depth }
}

gyre_sdk::export!(Attacker);
