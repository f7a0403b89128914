//! A relist of many parents does not delay a new change.

use std::time::Duration;

use gyre_devcluster::faults::{Fault, Plan, Requests, Rule};
use gyre_sim::kinds::{BARE, Name};
use gyre_sim::{Action, Plugins, Sent, World, simulate};
use serde_json::json;
use tokio::time::sleep;

use crate::faults::rule;

const PARENTS: usize = 3_000;
const WRITE: Duration = Duration::from_millis(10);
/// The writes of the backlog before the new change.
const UNDER_WAY: usize = 100;
const WORKERS: usize = 2;
/// A watch works and then is silent for this time each: in total less than the host's 290 s.
const WATCH: Duration = Duration::from_secs(100);

fn name(of: &str) -> Name {
    Name::new(BARE, "default", of)
}

fn written(sent: &[Sent]) -> Vec<String> {
    let of = |sent: &Sent| Some(sent.path().split("/bares/").nth(1)?.split('/').next()?.to_owned());
    sent.iter().filter(|sent| sent.is_write()).filter_map(of).collect()
}

#[test]
fn a_fresh_change_comes_before_the_backlog_of_a_relist() {
    let plugins = Plugins::one(gyre_artifacts::probes::BARE);
    let watches =
        Requests { verbs: vec!["watch".to_owned()], resource: "bares.guests.gyre.dev".to_owned(), ..Requests::default() };
    let plan = Plan {
        rules: vec![
            Rule { requests: watches, faults: vec![(Fault::WatchHung, 1.0)] },
            rule(&["patch"], &[(Fault::LatencyBefore, 1.0)]),
        ],
        latency: WRITE..=WRITE,
        watch_life: WATCH..=WATCH,
        watch_events: u64::MAX..=u64::MAX,
        hang: WATCH..=WATCH,
        ..Plan::default()
    };
    simulate(backlog(&plugins, plan));
}

async fn backlog(plugins: &Plugins, plan: Plan) {
    let world = World::new(plugins, 0, plan).await;
    for number in 0..PARENTS {
        world.people.create_in(&name(&format!("old-{number}")), &json!({ "spec": { "text": "one" } })).await;
    }
    world.people.act(&Action::Put(name("fresh"), json!({ "spec": { "text": "one" } }))).await;
    let host = world.host(plugins);
    assert!(world.rest(Duration::from_secs(5)).await);
    assert!(world.record.inspect(written).len() > PARENTS);
    sleep(WATCH).await;

    let mark = world.record.len();
    for number in 0..PARENTS {
        world.people.act(&Action::Edit(name(&format!("old-{number}")), json!({ "spec": { "text": "two" } }))).await;
    }
    world.compact();
    assert_eq!(world.record.inspect(|sent| written(&sent[mark..])).len(), 0, "the watch is not down");
    while world.record.inspect(|sent| written(&sent[mark..])).len() < UNDER_WAY {
        sleep(WRITE).await;
    }
    // Its last version is forgotten, so the watch gets 410 as an event, and the host lists again.
    let is_listed_anew = |sent: &[Sent]| sent[mark..].iter().any(|sent| sent.uri.contains("sendInitialEvents=true"));
    assert!(world.record.inspect(is_listed_anew), "there was no relist");

    let mark = world.record.len();
    world.people.act(&Action::Edit(name("fresh"), json!({ "spec": { "text": "two" } }))).await;
    assert!(world.rest(Duration::from_secs(5)).await);
    let order = world.record.inspect(|sent| written(&sent[mark..]));
    let before = order.iter().position(|of| of == "fresh").expect("the fresh change is reconciled");
    eprintln!("backlog: {} of {PARENTS} parents still to come, {before} of them before the fresh change", order.len() - 1);
    assert!(order.len() > PARENTS / 2, "there is no backlog");
    // Those in progress, and one that was passed over too often.
    assert!(before <= WORKERS + 1, "{before} writes of the backlog come before the fresh change");
    host.kill().await;
}
