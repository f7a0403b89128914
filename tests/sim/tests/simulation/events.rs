//! Events are published without delaying reconciles.

use std::time::Duration;

use gyre_devcluster::faults::{Fault, Plan, Requests, Rule};
use gyre_engine::leadership::claim::ClaimSender;
use gyre_engine::program::fixed;
use gyre_sim::kinds::{CRON_JOB, Name, SCHEDULED_ECHO};
use gyre_sim::{Plugins, Sent, World, simulate};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::faults::rule;

const PARENTS: usize = 100;
const EVENTS: &str = "/apis/events.k8s.io/";
const FOR_EVER: Duration = Duration::from_secs(1_000_000);

async fn world(plugins: &Plugins, latency: Duration, rules: Vec<Rule>) -> World {
    let plan = Plan { rules, latency: latency..=latency, ..Plan::default() };
    let world = World::new(plugins, 0, plan).await;
    for number in 0..PARENTS {
        let name = Name::new(SCHEDULED_ECHO, "default", &format!("parent-{number}"));
        world.people.create_in(&name, &json!({ "spec": { "message": "hello", "schedule": "0 0 1 1 *" } })).await;
    }
    world
}

fn slow_events() -> Rule {
    let requests = Requests { path: EVENTS.to_owned(), ..Requests::default() };
    Rule { requests, faults: vec![(Fault::LatencyBefore, 1.0)] }
}

fn is_event(sent: &Sent) -> bool {
    sent.is_write() && sent.path().starts_with(EVENTS)
}

fn count(world: &World, is_meant: impl Fn(&Sent) -> bool) -> usize {
    world.record.inspect(|sent| sent.iter().filter(|sent| is_meant(sent)).count())
}

#[test]
fn reconciles_do_not_wait_for_events_that_the_api_server_does_not_answer() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::SCHEDULED_ECHO);
        let world = world(&plugins, Duration::from_secs(3600), vec![slow_events()]).await;
        let host = world.host(&plugins);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.people.list(CRON_JOB).await.len(), PARENTS);
        assert_eq!(count(&world, |sent| sent.is_done() && sent.path().ends_with("/status")), PARENTS);
        sleep(Duration::from_secs(3600)).await;
        assert_eq!(count(&world, is_event), PARENTS, "each is given up after some time, and the next one is tried");
        host.kill().await;
    });
}

#[test]
fn during_a_backlog_one_event_per_second_is_published() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::SCHEDULED_ECHO);
        // Two workers, two writes per parent: 20 s.
        let write = Duration::from_millis(200);
        let world = world(&plugins, write, vec![rule(&["create", "patch"], &[(Fault::LatencyBefore, 1.0)])]).await;
        let host = world.host(&plugins);
        assert!(world.rest(Duration::from_secs(60)).await);
        let (last_write, events) = world.record.inspect(|sent| {
            let last = sent.iter().filter(|sent| sent.is_write() && !is_event(sent)).map(|sent| sent.at).max();
            let events = sent.iter().filter(|sent| is_event(sent)).map(|sent| sent.at).collect::<Vec<_>>();
            (last.expect("a write"), events)
        });
        assert_eq!(events.len(), PARENTS);
        let beside = events.iter().filter(|at| **at < last_write.saturating_sub(write)).count();
        let seconds = usize::try_from(last_write.as_secs()).expect("some seconds");
        assert!(seconds >= 15, "there is no backlog: {last_write:?}");
        assert!(beside > seconds / 2 && beside <= seconds, "{beside} of the Events in {seconds} s of backlog");
        host.kill().await;
    });
}

#[test]
fn a_host_that_stops_publishes_the_events_that_wait() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::SCHEDULED_ECHO);
        let write = Duration::from_millis(20);
        let world = world(&plugins, write, vec![rule(&["create", "patch"], &[(Fault::LatencyBefore, 1.0)])]).await;
        let host = world.host(&plugins);
        sleep(Duration::from_millis(900)).await;
        assert_eq!(count(&world, is_event), 0, "there is a backlog");
        host.stop().await;
        let children = world.people.list(CRON_JOB).await.len();
        assert!(children > 10 && children < PARENTS, "{children}");
        assert_eq!(count(&world, |sent| is_event(sent) && sent.is_done()), children);
    });
}

#[test]
fn events_that_wait_when_the_claim_is_lost_are_dropped() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::SCHEDULED_ECHO);
        let world = world(&plugins, Duration::from_secs(2), vec![slow_events()]).await;
        let (holder, claim) = ClaimSender::new();
        let host = world.host_with(fixed(plugins.programs().to_vec()), claim, None);
        holder.hold_until(Instant::now() + FOR_EVER);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.people.list(CRON_JOB).await.len(), PARENTS);
        assert_eq!(count(&world, is_event), 1, "the first one is on its way");
        holder.lose();
        holder.hold_until(Instant::now() + FOR_EVER);
        sleep(Duration::from_secs(600)).await;
        assert_eq!(count(&world, is_event), 1, "the others were added before the claim was held again");
        assert_eq!(world.record.wrongs(), Vec::<String>::new());
        host.kill().await;
    });
}
