//! The cluster is restored from a backup while the host runs, so that resource versions go back.
//! A host without a Lease notices it only because its watches are silent.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_devcluster::store::Backup;
use gyre_sim::kinds::{self, Name};
use gyre_sim::script::{self, Author};
use gyre_sim::{Plugins, World, simulate};

use crate::faults::{QUIET, late_caches};
use crate::seeds::{Tried, try_each, try_seeds};
use crate::storms::settle;

const ACTIONS: u64 = 15;
const BACKUPS: u64 = 2;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lease {
    Held,
    None,
}

/// Two silent watch connections of 150 s each, after which a host lists again.
pub(crate) const UNTIL_NOTICED: Duration = Duration::from_secs(2 * 150 + 60);

async fn act(world: &World, author: &mut Author) {
    for _ in 0..ACTIONS {
        let action = author.action();
        world.people.act(&action).await;
        tokio::time::sleep(Duration::from_millis(author.random().below(5_000))).await;
    }
}

fn restored(plugins: &Plugins, seed: u64, lease: Lease) -> Tried {
    simulate(async {
        let plan = if seed.is_multiple_of(2) { late_caches() } else { Plan::default() };
        let world = World::new(plugins, seed, plan).await;
        let mut author = Author::new(seed);
        for action in script::set_up().iter().chain(&author.beginning().actions) {
            world.people.act(action).await;
        }
        let host = match lease {
            Lease::Held => world.host_with_lease(plugins),
            Lease::None => world.host(plugins),
        };
        let mut went_back = 0;
        for _ in 0..BACKUPS {
            act(&world, &mut author).await;
            let backup: Backup = world.cluster().with_server(|server| server.backup());
            act(&world, &mut author).await;
            world.rest(QUIET).await;
            let before = world.cluster().revision();
            world.cluster().with_server(|server| server.restore_backup(&backup));
            went_back += before - world.cluster().revision();
            if lease == Lease::None {
                tokio::time::sleep(UNTIL_NOTICED).await;
            }
            let doomed = Name::cluster(kinds::NAMESPACE, script::DOOMED);
            world.people.wait_until_gone_if_going(&doomed).await;
            author.find_doomed(world.people.get(&doomed).await.is_some());
            act(&world, &mut author).await;
        }
        let mut wrongs = settle(&world, None).await.wrongs;
        wrongs.extend(world.record.wrongs());
        host.kill().await;
        Tried { wrongs, counts: vec![("revisions lost", went_back)] }
    })
}

#[test]
fn the_host_converges_after_its_cluster_was_restored_from_a_backup() {
    let plugins = Plugins::all();
    try_seeds("restores from a backup", 20, |seed| restored(&plugins, seed, Lease::None));
}

/// The versions reach those from before the restore while people change objects, so that watches
/// are not silent.
#[test]
fn a_host_with_a_lease_misses_no_change_after_a_restore() {
    let plugins = Plugins::all();
    try_seeds("restores with a Lease", 20, |seed| restored(&plugins, seed, Lease::Held));
}

/// A backup undid the release of a parent whose deletion the cache had not seen: a list that shows
/// it as it was must lead to a reconcile.
#[test]
fn a_write_is_repeated_that_a_restore_undid_before_its_event_came() {
    let plugins = Plugins::all();
    try_each("restores that undid a write", 52..=52, |seed| restored(&plugins, seed, Lease::Held));
}
