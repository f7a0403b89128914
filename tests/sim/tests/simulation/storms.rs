//! Everything at once: people who do not wait, all faults, and killed hosts.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_sim::script::{Author, DOOMED};
use gyre_sim::{Judgement, Plugins, Sent, World, judge, simulate, touched};
use http::Method;

use crate::claims::take_turns;
use crate::faults::{late_caches, lost_answers};
use crate::seeds::{Tried, try_each, try_seeds};

const ACTIONS: u64 = 30;
const PROBABILITY: f64 = 0.02;
/// The time to come to rest: longer than the longest back-off (1000 s) and a silent watch.
pub(crate) const TO_REST: Duration = Duration::from_secs(2000);
const SILENCE: Duration = Duration::from_secs(1800);

struct Run {
    sent: Vec<Sent>,
    faults: u64,
    judgement: Judgement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hosts {
    /// One, which is sometimes killed and replaced.
    Killed,
    /// Two, of which at most one at a time has the claim.
    InTurns,
}

fn storm(plugins: &Plugins, seed: u64, plan: Plan, hosts: Hosts) -> Run {
    simulate(async {
        let world = World::set_up(plugins, seed, plan).await;
        let mut author = Author::new(seed);
        let mut host = None;
        match hosts {
            Hosts::Killed => host = Some(world.host(plugins)),
            Hosts::InTurns => take_turns(&world, plugins, 2, seed),
        }
        let restarts = author.random().below(3);
        for restart in 0..=restarts {
            for _ in 0..ACTIONS {
                let action = author.action();
                world.people.act(&action).await;
                let pause = match author.random().below(3) {
                    0 => Duration::ZERO,
                    1 => Duration::from_millis(author.random().below(500)),
                    _ => Duration::from_millis(author.random().below(30_000)),
                };
                tokio::time::sleep(pause).await;
            }
            if let (true, Some(killed)) = (restart < restarts, host.take()) {
                killed.kill().await;
                host = Some(world.host(plugins));
            }
        }
        let mut judgement = settle(&world, None).await;
        judgement.wrongs.extend(world.record.wrongs());
        judgement.wrongs.extend(touched(&world.people, &author.foreign()).await);
        if let Some(host) = host {
            host.kill().await;
        }
        Run { sent: world.record.inspect(<[Sent]>::to_vec), faults: world.faults.trace().len() as u64, judgement }
    })
}

/// Ends the faults, and judges the end state; `version` as in [`judge`].
pub(crate) async fn settle(world: &World, version: Option<u64>) -> Judgement {
    world.calm_down();
    world.people.let_teardowns_end().await;
    tokio::time::sleep(TO_REST).await;
    let mark = world.record.len();
    tokio::time::sleep(SILENCE).await;
    let mut judgement = judge(&world.people, version).await;
    // Impossible children are retried.
    let is_vain = |sent: &Sent| {
        let is_not_there = sent.code == 404 && sent.path().contains(&format!("/namespaces/{DOOMED}/"));
        let is_taken = sent.code == 409 && sent.method == Method::POST;
        judgement.is_in_vain && (is_not_there || is_taken || sent.method == Method::GET)
    };
    let afterwards: Vec<Sent> =
        world.record.inspect(|sent| sent[mark..].iter().filter(|sent| !sent.is_watch() && !is_vain(sent)).cloned().collect());
    judgement.wrongs.extend(afterwards.iter().map(|sent| format!("afterwards the host sent {sent:?}")));
    judgement
}

/// All faults, or those that make caches differ from the cluster.
fn weather(seed: u64) -> Plan {
    if seed.is_multiple_of(2) {
        return Plan::everything(PROBABILITY);
    }
    let rules = late_caches().rules.into_iter().chain(lost_answers().rules).collect();
    Plan { rules, latency: lost_answers().latency, ..late_caches() }
}

fn stormy(plugins: &Plugins, seed: u64, hosts: Hosts) -> Tried {
    let calm = storm(plugins, seed, Plan::default(), Hosts::Killed);
    let stormy = storm(plugins, seed, weather(seed), hosts);
    let mut wrongs = stormy.judgement.wrongs;
    wrongs.extend(calm.judgement.wrongs.iter().map(|wrong| format!("without faults: {wrong}")));
    wrongs.extend(differences(&calm.judgement.end, &stormy.judgement.end));
    Tried {
        wrongs,
        counts: vec![
            ("requests", stormy.sent.len() as u64),
            ("faults", stormy.faults),
            ("objects judged", stormy.judgement.end.len() as u64),
        ],
    }
}

fn storms(name: &str, seeds: u64, hosts: Hosts) {
    let plugins = Plugins::all();
    try_seeds(name, seeds, |seed| stormy(&plugins, seed, hosts));
}

#[test]
fn the_host_converges_under_faults_and_then_rests() {
    storms("storms", 60, Hosts::Killed);
}

#[test]
fn seeds_that_found_bugs_pass() {
    let plugins = Plugins::all();
    // A deletion conflicts and a creation is refused: only a retry brings the parent back.
    let refused_beside_a_conflict = 132;
    try_each("storms of the past", refused_beside_a_conflict..=refused_beside_a_conflict, |seed| {
        stormy(&plugins, seed, Hosts::Killed)
    });
}

#[test]
fn hosts_that_take_turns_converge_under_faults_and_then_rest() {
    storms("storms over two hosts", 30, Hosts::InTurns);
}

pub(crate) fn differences(calm: &[String], other: &[String]) -> Vec<String> {
    let lost = calm.iter().filter(|thing| !other.contains(thing)).map(|thing| format!("without faults there is {thing}"));
    let more = other.iter().filter(|thing| !calm.contains(thing)).map(|thing| format!("without faults there is no {thing}"));
    lost.chain(more).collect()
}

#[test]
fn a_seed_decides_everything() {
    let plugins = Plugins::all();
    for seed in [1, 7, 42] {
        let [first, second] = [(); 2].map(|()| storm(&plugins, seed, Plan::everything(PROBABILITY), Hosts::Killed));
        let difference = first.sent.iter().zip(&second.sent).position(|(first, second)| first != second);
        if let Some(index) = difference {
            panic!(
                "seed {seed}: request {index} is {:?} the one time and {:?} the other",
                first.sent[index], second.sent[index]
            );
        }
        assert_eq!(first.sent.len(), second.sent.len(), "seed {seed}");
        assert_eq!(first.faults, second.faults, "seed {seed}");
        assert_ne!(first.faults, 0, "seed {seed}");
    }
}
