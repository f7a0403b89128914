//! A namespace that is being deleted for long costs few requests.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_sim::kinds::{self, Name};
use gyre_sim::script::DOOMED;
use gyre_sim::{Action, Plugins, Sent, World, simulate};
use http::Method;
use serde_json::json;

use crate::faults::QUIET;

const PARENTS: usize = 100;

#[test]
fn a_terminating_namespace_costs_few_creations_and_is_filled_when_it_is_back() {
    let plugins = Plugins::all();
    simulate(async {
        let world = World::set_up(&plugins, 0, Plan::default()).await;
        let blocker = Name::new(kinds::CONFIG_MAP, DOOMED, "blocker");
        world.people.put(&blocker, &json!({ "metadata": { "finalizers": ["example.com/blocks"] } })).await;
        let host = world.host(&plugins);
        for number in 0..PARENTS {
            let name = Name::new(kinds::CROSS_NAMESPACE, "default", &format!("cross-{number}"));
            world.people.create_in(&name, &json!({ "spec": { "namespace": DOOMED } })).await;
        }
        let children = async || {
            let all = world.people.list(kinds::CONFIG_MAP).await;
            let is_child = |object: &&serde_json::Value| {
                object["metadata"]["namespace"] == DOOMED && !object["metadata"]["labels"]["gyre.dev/plugin"].is_null()
            };
            all.iter().filter(is_child).count()
        };
        assert!(world.rest(QUIET).await);
        assert_eq!(children().await, PARENTS);

        let mark = world.record.len();
        world.people.act(&Action::DeleteNamespace(DOOMED)).await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(children().await, 0);
        let is_futile = |sent: &&Sent| sent.method == Method::POST && sent.code == 403;
        let futile = world.record.inspect(|sent| sent[mark..].iter().filter(is_futile).count());
        assert!((1..=30).contains(&futile), "{futile} creations were refused");

        world.people.act(&Action::Edit(blocker, json!({ "metadata": { "finalizers": null } }))).await;
        world.people.act(&Action::CreateNamespace(DOOMED)).await;
        tokio::time::sleep(Duration::from_secs(700)).await;
        assert_eq!(children().await, PARENTS);
        host.kill().await;
    });
}
