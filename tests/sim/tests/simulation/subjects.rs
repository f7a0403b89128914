//! The runs that are the same for many programs: requests fail, hosts take over or are killed after
//! each write, and the cluster is restored. A [`Subject`] says what people do and what must hold.

use std::time::Duration;

use gyre_core::grants::Adoption;
use gyre_devcluster::faults::Plan;
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::{Program, fixed};
use gyre_sim::{Action, Host, Plugins, World, simulate};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::faults::{QUIET, any_fault, late_caches};
use crate::restores::UNTIL_NOTICED;
use crate::seeds::{Tried, try_each, try_seeds};

/// The parts of a run, between which hosts come and go.
const PARTS: u32 = 3;
/// The actions of people in each part.
const ACTIONS: u32 = 15;
/// The longest time between two actions of people, in milliseconds.
const PAUSE: u64 = 2_000;
/// The time between two steps of a story.
const STEP: Duration = Duration::from_secs(5);
/// Longer than the interval of 5 minutes at which the host attempts refused steps again.
pub(crate) const RECHECKED: Duration = Duration::from_secs(400);

/// A program and the people who use it. Its fields are what people did and what was seen, so a
/// clone belongs to a backup.
pub(crate) trait Subject: Clone + Sync {
    /// Returns the plugins that are mounted.
    fn plugins(&self) -> Plugins;

    /// Prepares the cluster before the first host starts.
    async fn prepare(&mut self, _world: &World) {}

    /// Draws an action of people.
    fn action(&mut self, random: &mut Random) -> Action;

    /// Returns the actions of a step of the story, or `None` after the last one.
    fn step(&mut self, number: usize) -> Option<Vec<Action>>;

    /// Returns the violations of what holds at every moment, since the last call.
    async fn wrongs_now(&mut self, _world: &World) -> Vec<String> {
        Vec::new()
    }

    /// Returns the differences from the state at rest.
    async fn wrongs_at_rest(&mut self, world: &World) -> Vec<String>;
}

/// The hosts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// One for the whole run.
    One,
    /// Two with a Lease. After each part, one is killed or stopped, and another one starts.
    InTurns,
    /// The same without a Lease, so that both write.
    AtOnce,
}

impl Hosts {
    fn start(self, world: &World, plugins: &Plugins) -> Host {
        match self {
            Self::InTurns => world.host_with_lease(plugins),
            Self::One | Self::AtOnce => world.host(plugins),
        }
    }
}

/// People act while requests fail, and hosts come and go.
pub(crate) fn under_faults(name: &str, seeds: u64, hosts: Hosts, subject: &impl Subject) {
    try_seeds(name, seeds, |seed| {
        simulate(async {
            // A host that hears of no change undoes what another one writes at once, and no time
            // would pass.
            let plan = if hosts == Hosts::AtOnce { late_caches() } else { any_fault(seed) };
            let (world, mut subject) = started(subject, seed, plan).await;
            let plugins = subject.plugins();
            let mut random = Random::new(seed);
            let count = if hosts == Hosts::One { 1 } else { 2 };
            let mut running: Vec<Host> = (0..count).map(|_| hosts.start(&world, &plugins)).collect();
            let mut wrongs = Vec::new();
            for part in 1..=PARTS {
                wrongs.extend(act(&world, &mut subject, &mut random).await);
                if hosts != Hosts::One && part < PARTS {
                    let host = running.remove(0);
                    match random.below(2) {
                        0 => host.kill().await,
                        _ => host.stop().await,
                    }
                    running.push(hosts.start(&world, &plugins));
                }
            }
            let faults = world.faults.trace().len() as u64;
            wrongs.extend(settled(&world, &mut subject).await);
            Tried { wrongs, counts: vec![("faults", faults), ("writes", writes(&world))] }
        })
    });
}

/// People act as in the story, and a host is killed after each of its writes.
pub(crate) fn killed_after_each_write(name: &str, subject: &impl Subject) {
    after_each_write(name, |last_write| {
        simulate(async {
            let (world, mut subject) = started(subject, 0, Plan::default()).await;
            let plugins = subject.plugins();
            let first = world.host_with(fixed(plugins.programs().to_vec()), Claim::always(), last_write);
            let mut wrongs = Vec::new();
            let mut number = 0;
            while let Some(actions) = subject.step(number) {
                for action in &actions {
                    world.people.act(action).await;
                }
                sleep(STEP).await;
                wrongs.extend(subject.wrongs_now(&world).await);
                number += 1;
            }
            let writes = take_over(&world, &plugins, first, last_write).await;
            wrongs.extend(settled(&world, &mut subject).await);
            (writes, wrongs)
        })
    });
}

/// The cluster is restored from a backup while people and a host go on.
pub(crate) fn restored_from_a_backup(name: &str, seeds: u64, subject: &impl Subject) {
    try_seeds(name, seeds, |seed| {
        simulate(async {
            let (world, mut subject) = started(subject, seed, Plan::default()).await;
            let hosts = if seed.is_multiple_of(2) { Hosts::One } else { Hosts::InTurns };
            let _host = hosts.start(&world, &subject.plugins());
            let mut random = Random::new(seed);
            let mut wrongs = act(&world, &mut subject, &mut random).await;
            world.rest(QUIET).await;
            wrongs.extend(subject.wrongs_now(&world).await);
            let (backup, before) = (world.cluster().with_server(|server| server.backup()), subject.clone());
            wrongs.extend(act(&world, &mut subject, &mut random).await);
            let revision = world.cluster().revision();
            world.cluster().with_server(|server| server.restore_backup(&backup));
            let lost = revision - world.cluster().revision();
            subject = before;
            sleep(UNTIL_NOTICED).await;
            wrongs.extend(subject.wrongs_now(&world).await);
            wrongs.extend(act(&world, &mut subject, &mut random).await);
            wrongs.extend(settled(&world, &mut subject).await);
            Tried { wrongs, counts: vec![("revisions lost", lost)] }
        })
    });
}

/// Repeats a run, which returns the number of writes of its first host and the violations, with a
/// host that is killed after each of these writes.
pub(crate) fn after_each_write(name: &str, run: impl Fn(Option<u64>) -> (u64, Vec<String>) + Sync) {
    let (writes, wrongs) = run(None);
    assert_eq!(wrongs, [""; 0], "{name}: without a kill");
    try_each(name, 1..=writes, |write| Tried { wrongs: run(Some(write)).1, counts: vec![("kills", 1)] });
}

/// Waits for rest, and starts the next host if the first one was killed. Returns the number of
/// writes of the first one.
pub(crate) async fn take_over(world: &World, plugins: &Plugins, first: Host, last_write: Option<u64>) -> u64 {
    world.rest(QUIET).await;
    let writes = first.writes();
    if last_write.is_some() {
        timeout(QUIET, first.killed()).await.expect("it was killed");
        drop(world.host(plugins));
    }
    writes
}

/// Returns the program with consent to adopt objects.
pub(crate) fn adopting(program: Program) -> Program {
    Program { grants: program.grants.clone().with_adoption(Adoption::Allowed), ..program }
}

/// Returns the status and the reason of the condition `Ready`.
pub(crate) fn ready(parent: &Value) -> (&str, &str) {
    let ready = readiness_of(parent);
    let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).unwrap_or_default();
    (text("status"), text("reason"))
}

/// Returns the condition `Ready` of an object.
pub(crate) fn readiness_of(object: &Value) -> Option<&Value> {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready")
}

/// Returns a prepared cluster, without a host.
pub(crate) async fn started<S: Subject>(subject: &S, seed: u64, plan: Plan) -> (World, S) {
    let mut subject = subject.clone();
    let world = World::set_up(&subject.plugins(), seed, plan).await;
    subject.prepare(&world).await;
    (world, subject)
}

/// Lets people act for a part of a run, and returns the violations.
async fn act(world: &World, subject: &mut impl Subject, random: &mut Random) -> Vec<String> {
    let mut wrongs = Vec::new();
    for _ in 0..ACTIONS {
        let action = subject.action(random);
        world.people.act(&action).await;
        sleep(Duration::from_millis(random.below(PAUSE))).await;
        wrongs.extend(subject.wrongs_now(world).await);
    }
    wrongs
}

/// Ends the faults, and returns the violations at rest. Writes are among them.
async fn settled(world: &World, subject: &mut impl Subject) -> Vec<String> {
    world.calm_down();
    // A step that was refused may cause another one that is refused.
    sleep(2 * RECHECKED).await;
    let mut wrongs = Vec::new();
    if !world.rest(QUIET).await {
        wrongs.push("there is no rest".to_owned());
    }
    wrongs.extend(subject.wrongs_now(world).await);
    wrongs.extend(subject.wrongs_at_rest(world).await);
    let before = writes(world);
    sleep(RECHECKED).await;
    if writes(world) != before {
        wrongs.push("the hosts write although nothing differs".to_owned());
    }
    wrongs
}

/// Returns the number of successful writes of all hosts.
fn writes(world: &World) -> u64 {
    world.record.inspect(|sent| sent.iter().filter(|sent| sent.is_done()).count() as u64)
}
