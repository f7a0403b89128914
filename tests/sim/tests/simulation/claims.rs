//! Hosts lose and regain the claim: none writes without it, and the end state is the same.

use std::time::Duration;

use gyre_devcluster::faults::{Fault, Plan};
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::ClaimSender;
use gyre_engine::program::fixed;
use gyre_sim::{Plugins, World};
use tokio::time::{Instant, sleep};

use crate::faults::{QUIET, compared, drawn, rule, scripted};
use crate::seeds::{Tried, try_seeds};

const UNREST: Duration = Duration::from_secs(900);
const FOR_EVER: Duration = Duration::from_secs(1_000_000);
/// The longest time without a holder, in which hosts are quiet but not at rest.
const VACANT: Duration = Duration::from_secs(40);

/// Starts `hosts` hosts, of which at most one at a time has the claim.
pub(crate) fn take_turns(world: &World, plugins: &Plugins, hosts: usize, seed: u64) {
    let holders: Vec<ClaimSender> = (0..hosts)
        .map(|_| {
            let (holder, claim) = ClaimSender::new();
            drop(world.host_with(fixed(plugins.programs().to_vec()), claim, None));
            holder
        })
        .collect();
    tokio::spawn(async move {
        let mut random = Random::new(seed ^ 0xc1a1);
        let began = Instant::now();
        let mut turn = 0;
        while began.elapsed() < UNREST {
            turn = usize::try_from(random.below(hosts as u64)).expect("an index");
            // Renewed sometimes, then released or expired, sometimes in the middle of a reconcile.
            for _ in 0..=random.below(3) {
                let milliseconds = if random.below(2) == 0 { random.below(50) } else { random.below(40_000) };
                let until = Instant::now() + Duration::from_millis(milliseconds);
                holders[turn].hold_until(until);
                let share = random.below(100);
                sleep(Duration::from_millis(milliseconds * share / 100)).await;
                if share < 20 {
                    holders[turn].lose();
                    break;
                }
                if share > 80 {
                    tokio::time::sleep_until(until).await;
                }
            }
            holders[turn].lose();
            let vacant = if random.below(2) == 0 { random.below(10) } else { random.below(VACANT.as_millis() as u64) };
            sleep(Duration::from_millis(vacant)).await;
        }
        holders[turn].hold_until(Instant::now() + FOR_EVER);
        // A dropped holder loses the claim.
        sleep(FOR_EVER).await;
        drop(holders);
    });
}

fn in_turns(name: &str, seeds: u64, hosts: usize) {
    let plugins = Plugins::all();
    // Slow requests let the claim end within a reconcile.
    let slow = [(Fault::LatencyBefore, 0.5), (Fault::LatencyAfter, 0.5)];
    let rules = vec![rule(&["get", "create", "update", "patch", "delete"], &slow)];
    let latency = Duration::from_millis(1)..=Duration::from_secs(3);
    let plan = Plan { rules, latency, ..Plan::default() };
    try_seeds(name, seeds, |seed| {
        let calm = scripted(&plugins, (seed, Plan::default()), drawn(seed), QUIET, |world| drop(world.host(&plugins)));
        let run = scripted(&plugins, (seed, plan.clone()), drawn(seed), QUIET + VACANT, |world| {
            take_turns(world, &plugins, hosts, seed);
        });
        let writes = run.writes;
        Tried { wrongs: compared(&calm, run), counts: vec![("writes", writes)] }
    });
}

#[test]
fn a_host_that_loses_the_claim_writes_nothing_until_it_has_the_claim_again() {
    in_turns("one host, claim lost", 30, 1);
}

#[test]
fn two_hosts_take_turns_and_never_write_both() {
    in_turns("two hosts in turns", 30, 2);
}
