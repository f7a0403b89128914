//! One of two API servers lags. No Job runs twice when a host starts or takes over.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_devcluster::random::Random;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Cascade, Plugins, Runs, World, simulate};
use serde_json::json;

use crate::claims::take_turns;
use crate::faults::late_caches;
use crate::seeds::{Tried, try_seeds};
use crate::storms::settle;

const UNREST: Duration = Duration::from_secs(800);
const LAG: u64 = 40;
const ECHOS: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hosts {
    OneAfterTheOther,
    /// Two, of which at most one at a time has the claim.
    InTurns,
}

fn come_and_go(plugins: &Plugins, seed: u64, hosts: Hosts) -> Tried {
    simulate(async {
        let plan = if seed.is_multiple_of(2) { late_caches() } else { Plan::default() };
        let mut random = Random::new(seed ^ 0x1a6);
        let world = World::new(plugins, seed, plan).await.with_lag(Duration::from_secs(1 + random.below(LAG)));
        let mut runs = Runs::new(world.cluster().clone());
        let mut host = match hosts {
            Hosts::OneAfterTheOther => Some(world.host(plugins)),
            Hosts::InTurns => {
                take_turns(&world, plugins, 2, seed);
                None
            }
        };
        let mut is_there = [false; ECHOS as usize];
        let began = tokio::time::Instant::now();
        while began.elapsed() < UNREST {
            let number = usize::try_from(random.below(ECHOS)).expect("an index");
            let name = Name::new(kinds::ECHO, "default", &format!("echo-{number}"));
            let echo = world.people.get(&name).await.unwrap_or_default();
            let has_run = !echo.is_null() && echo["status"]["finished"]["uid"] == echo["metadata"]["uid"];
            let action = match is_there[number] {
                // Its Job is no longer needed and does not come back.
                true if has_run && random.below(2) == 0 => Action::DeleteChild(Name { kind: kinds::JOB, ..name }),
                true => {
                    is_there[number] = false;
                    Action::Delete(name, Cascade::Background)
                }
                false => {
                    is_there[number] = true;
                    Action::Put(name, json!({ "spec": { "message": "once" } }))
                }
            };
            world.people.act(&action).await;
            tokio::time::sleep(Duration::from_millis(random.below(8_000))).await;
            if random.below(4) == 0
                && let Some(killed) = host.take()
            {
                killed.kill().await;
                host = Some(world.host(plugins));
            }
            runs.read_history();
        }
        let mut wrongs = settle(&world, None).await.wrongs;
        runs.read_history();
        wrongs.extend(world.record.wrongs());
        wrongs.extend(runs.wrongs());
        let looks = world.record.inspect(|sent| sent.iter().filter(|sent| sent.is_get_of("echos")).count() as u64);
        Tried { wrongs, counts: vec![("Jobs", u64::from(runs.children())), ("looks at an Echo", looks)] }
    })
}

#[test]
fn no_job_runs_twice_when_a_host_starts_behind_an_api_server_that_lags() {
    let plugins = Plugins::one(gyre_artifacts::ECHO);
    try_seeds("starts behind a lagging server", 15, |seed| come_and_go(&plugins, seed, Hosts::OneAfterTheOther));
}

#[test]
fn no_job_runs_twice_when_a_host_takes_over_behind_an_api_server_that_lags() {
    let plugins = Plugins::one(gyre_artifacts::ECHO);
    try_seeds("takes over behind a lagging server", 15, |seed| come_and_go(&plugins, seed, Hosts::InTurns));
}

/// A host that takes over behind a lagging server may still see a parent that is gone.
#[test]
fn a_teardown_creates_nothing_for_a_parent_that_is_gone() {
    let plugins = Plugins::one(gyre_artifacts::probes::FINALIZING);
    try_seeds("teardowns behind a lagging server", 15, |seed| {
        simulate(async {
            let mut random = Random::new(seed ^ 0x7ea2);
            let world = World::new(&plugins, seed, late_caches()).await.with_lag(Duration::from_secs(1 + random.below(LAG)));
            let mut children = Runs::of(world.cluster().clone(), kinds::CONFIG_MAP, kinds::FINALIZING);
            take_turns(&world, &plugins, 2, seed);
            let began = tokio::time::Instant::now();
            while began.elapsed() < UNREST {
                let name = Name::new(kinds::FINALIZING, "default", &format!("final-{}", random.below(ECHOS)));
                let action = match random.below(3) {
                    0 => Action::Put(name, json!({ "spec": { "finalize": "" } })),
                    1 => Action::Delete(name, Cascade::Background),
                    // The teardown creates it again.
                    _ => {
                        let child = format!("{}-b", name.name);
                        Action::DeleteChild(Name::new(kinds::CONFIG_MAP, "default", &child))
                    }
                };
                world.people.act(&action).await;
                tokio::time::sleep(Duration::from_millis(random.below(8_000))).await;
                children.read_history();
            }
            let mut wrongs = settle(&world, None).await.wrongs;
            children.read_history();
            if children.after_the_end() > 0 {
                wrongs.push(format!("{} children were created for parents that were gone", children.after_the_end()));
            }
            Tried { wrongs, counts: vec![("children", u64::from(children.children()))] }
        })
    });
}

#[test]
fn an_echo_that_is_new_is_not_looked_at_before_its_job_is_created() {
    let plugins = Plugins::one(gyre_artifacts::ECHO);
    simulate(async {
        let world = World::new(&plugins, 0, Plan::default()).await;
        let put = async |name: &str| {
            let name = Name::new(kinds::ECHO, "default", name);
            world.people.act(&Action::Put(name, json!({ "spec": { "message": "once" } }))).await;
        };
        put("before").await;
        let host = world.host(&plugins);
        tokio::time::sleep(Duration::from_secs(60)).await;
        put("after").await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let looks = || world.record.inspect(|sent| sent.iter().filter(|sent| sent.is_get_of("echos")).count());
        assert_eq!(world.people.list(kinds::JOB).await.len(), 2);
        assert_eq!(looks(), 0, "a host that is alone lists under the claim");
        host.kill().await;

        // A standby listed before its claim.
        put("between").await;
        let (holder, claim) = gyre_engine::leadership::claim::ClaimSender::new();
        let _host = world.host_with(gyre_engine::program::fixed(plugins.programs().to_vec()), claim, None);
        tokio::time::sleep(Duration::from_secs(60)).await;
        holder.hold_until(tokio::time::Instant::now() + Duration::from_secs(1_000_000));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!((world.people.list(kinds::JOB).await.len(), looks()), (3, 1), "it was listed before the claim");
        for number in 0..10 {
            put(&format!("new-{number}")).await;
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        assert_eq!((world.people.list(kinds::JOB).await.len(), looks()), (13, 1), "they were created under the claim");
    });
}
