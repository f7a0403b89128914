//! Deletions of parents that their plugin asks for, with hosts that are late or killed.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_devcluster::random::Random;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Plugins, World, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::{QUIET, late_caches};
use crate::seeds::{Tried, try_each, try_seeds};
use crate::subjects::{Hosts, Subject, killed_after_each_write, restored_from_a_backup, under_faults};

const TTL: &str = "cleaner.gyre.dev/ttl-seconds";

/// The Jobs that people have made. Some are kept before they end.
#[derive(Clone, Default)]
struct Cleaner {
    jobs: Vec<Made>,
}

#[derive(Clone, Copy, Default)]
struct Made {
    is_kept: bool,
    has_ended: bool,
}

impl Made {
    fn stays(self) -> bool {
        self.is_kept || !self.has_ended
    }
}

fn plugins() -> Plugins {
    Plugins::one(gyre_artifacts::CLEANER)
}

fn job(name: &str) -> Name {
    Name::new(kinds::JOB, "default", name)
}

/// A Job that is deleted as soon as it has ended. It is suspended, so that nothing runs it.
fn suspended(name: &str) -> Action {
    let container = json!({ "name": "main", "image": "busybox:1.37" });
    let pod = json!({ "spec": { "restartPolicy": "Never", "containers": [container] } });
    let spec = json!({ "suspend": true, "template": pod });
    Action::Put(job(name), json!({ "metadata": { "annotations": { TTL: "0" } }, "spec": spec }))
}

fn ended(name: &str) -> Action {
    let at = "2020-01-01T00:00:00Z";
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": at });
    let conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
    Action::EditStatus(job(name), json!({ "status": { "startTime": at, "completionTime": at, "conditions": conditions } }))
}

fn kept(name: &str) -> Action {
    Action::Edit(job(name), json!({ "metadata": { "annotations": { TTL: "keep" } } }))
}

async fn started(seed: u64, plan: Plan) -> World {
    World::set_up(&plugins(), seed, plan).await
}

/// The preconditions name the version that the plugin saw.
#[test]
fn what_somebody_keeps_at_the_last_moment_is_not_deleted() {
    try_seeds("kept at the last moment", 60, |seed| {
        simulate(async {
            let plan = if seed.is_multiple_of(2) { late_caches() } else { Plan::default() };
            let world = started(seed, plan).await;
            let mut random = Random::new(seed);
            let _host = world.host(&plugins());
            world.people.act(&suspended("one")).await;
            sleep(Duration::from_millis(random.below(2_000))).await;
            world.people.act(&ended("one")).await;
            let longest = if seed.is_multiple_of(3) { 5 } else { 1_000 };
            sleep(Duration::from_millis(random.below(longest))).await;
            world.people.act(&kept("one")).await;
            let is_kept = world.people.get(&job("one")).await.is_some();
            world.calm_down();
            world.rest(QUIET).await;
            let exists = world.people.get(&job("one")).await.is_some();
            let wrongs = (is_kept && !exists).then(|| "it was deleted after somebody had kept it".to_owned());
            Tried { wrongs: wrongs.into_iter().collect(), counts: vec![("kept", u64::from(is_kept))] }
        })
    });
}

impl Cleaner {
    fn make(&mut self) -> Action {
        self.jobs.push(Made::default());
        suspended(&name(self.jobs.len() - 1))
    }

    fn keep(&mut self, number: usize) -> Action {
        self.jobs[number].is_kept = true;
        kept(&name(number))
    }

    fn end(&mut self, number: usize) -> Action {
        self.jobs[number].has_ended = true;
        ended(&name(number))
    }

    /// Returns the Jobs that exist although they should not, or the other way round.
    async fn judge(&self, world: &World, is_judged: impl Fn(Made) -> bool) -> Vec<String> {
        let mut wrongs = Vec::new();
        for (number, made) in self.jobs.iter().enumerate().filter(|(_, made)| is_judged(**made)) {
            let exists = world.people.get(&job(&name(number))).await.is_some();
            if exists != made.stays() {
                wrongs.push(format!("{} exists: {exists}, and it should: {}", name(number), made.stays()));
            }
        }
        wrongs
    }
}

fn name(number: usize) -> String {
    format!("job-{number}")
}

impl Subject for Cleaner {
    fn plugins(&self) -> Plugins {
        plugins()
    }

    fn action(&mut self, random: &mut Random) -> Action {
        let number = usize::try_from(random.below(self.jobs.len() as u64 + 2)).expect("an index");
        match self.jobs.get(number).copied() {
            Some(Made { has_ended: false, is_kept: false }) if random.below(3) == 0 => self.keep(number),
            Some(Made { has_ended: false, .. }) => self.end(number),
            _ => self.make(),
        }
    }

    fn step(&mut self, number: usize) -> Option<Vec<Action>> {
        match number {
            0 => Some((0..4).map(|_| self.make()).collect()),
            1 => Some(vec![self.keep(2)]),
            2 => Some((0..3).map(|number| self.end(number)).collect()),
            _ => None,
        }
    }

    async fn wrongs_now(&mut self, world: &World) -> Vec<String> {
        self.judge(world, Made::stays).await
    }

    async fn wrongs_at_rest(&mut self, world: &World) -> Vec<String> {
        self.judge(world, |_| true).await
    }
}

#[test]
fn jobs_are_deleted_once_they_have_ended_unless_they_are_kept() {
    under_faults("finished Jobs", 24, Hosts::InTurns, &Cleaner::default());
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_deletes_what_is_due_and_nothing_else() {
    killed_after_each_write("finished Jobs, killed after each write", &Cleaner::default());
}

#[test]
fn jobs_of_a_restored_cluster_are_deleted_if_they_have_ended_there() {
    restored_from_a_backup("finished Jobs and a restore", 8, &Cleaner::default());
}

/// A controller makes the object again at once, and the plugin deletes it at once.
#[test]
fn a_parent_that_is_made_again_and_again_is_deleted_less_and_less() {
    try_each("made again and again", 1..=2, |seed| {
        simulate(async {
            let world = started(seed, Plan::default()).await;
            let _host = world.host(&plugins());
            let mut made = 0_u64;
            // An hour.
            for _ in 0..720 {
                let exists: Option<Value> = world.people.get(&job("one")).await;
                if exists.is_none() {
                    world.people.act(&suspended("one")).await;
                    world.people.act(&ended("one")).await;
                    made += 1;
                }
                sleep(Duration::from_secs(5)).await;
            }
            let wrongs = (!(5..=12).contains(&made)).then(|| format!("it was made {made} times in an hour"));
            Tried { wrongs: wrongs.into_iter().collect(), counts: vec![("made", made)] }
        })
    });
}
