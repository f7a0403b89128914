//! Each kind of fault alone, with rest between dependent actions. So the end state is the same as
//! without faults, and also how often each object was created and deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_devcluster::faults::{Fault, Plan, Requests, Rule};
use gyre_sim::kinds::Name;
use gyre_sim::script::{Author, Batch, Rest};
use gyre_sim::{Count, Judgement, Plugins, World, simulate, touched};

use crate::seeds::{Tried, try_seeds};
use crate::storms::{differences, settle};

const BATCHES: usize = 8;
/// Time without changes that counts as rest: controllers of the cluster may react after 30 s.
pub(crate) const QUIET: Duration = Duration::from_secs(60);
/// The same with faults: a watch may be silent for its 295 s, or a request for 60 s.
const QUIET_UNDER_FAULTS: Duration = Duration::from_secs(400);
/// The same where only a retry helps: the longest back-off is 1000 s.
const QUIET_AFTER_BACKOFF: Duration = Duration::from_secs(1100);
/// The same where the host tries every 5 minutes: ten attempts.
const MANY_RECHECKS: Duration = Duration::from_secs(3100);

pub(crate) struct Run {
    pub(crate) judgement: Judgement,
    pub(crate) counts: BTreeMap<String, Count>,
    pub(crate) faults: u64,
    /// Successful writes whose answer the host received.
    pub(crate) writes: u64,
}

pub(crate) fn drawn(seed: u64) -> Script {
    let mut author = Author::new(seed);
    let beginning = author.beginning();
    let batches = std::iter::once(beginning).chain((0..BATCHES).map(|_| author.batch())).collect();
    Script { batches, foreign: author.foreign() }
}

/// Batches of actions, and the unrelated objects that must remain unchanged.
pub(crate) struct Script {
    pub(crate) batches: Vec<Batch>,
    pub(crate) foreign: Vec<Name>,
}

/// Runs a script, waiting for rest after each batch. `hosts` starts the hosts.
pub(crate) fn scripted(
    plugins: &Plugins,
    (seed, plan): (u64, Plan),
    script: Script,
    quiet: Duration,
    hosts: impl FnOnce(&World),
) -> Run {
    simulate(async {
        let world = World::set_up(plugins, seed, plan).await;
        hosts(&world);
        let mut wrongs = Vec::new();
        for batch in &script.batches {
            for action in &batch.actions {
                world.people.act(action).await;
            }
            let quiet = if batch.rest == Rest::Long { quiet.max(QUIET_AFTER_BACKOFF) } else { quiet };
            if !world.rest(quiet).await {
                wrongs.push(format!("no rest after {batch:?}"));
            }
        }
        let mut judgement = settle(&world, None).await;
        judgement.wrongs.extend(wrongs);
        judgement.wrongs.extend(world.record.wrongs());
        judgement.wrongs.extend(touched(&world.people, &script.foreign).await);
        let writes = world.record.inspect(|sent| sent.iter().filter(|sent| sent.is_done()).count() as u64);
        Run { judgement, counts: world.census.counts(), faults: world.faults.trace().len() as u64, writes }
    })
}

/// Returns the violations of a run, and its differences from the run without faults.
pub(crate) fn compared(calm: &Run, run: Run) -> Vec<String> {
    let mut wrongs = run.judgement.wrongs;
    wrongs.extend(calm.judgement.wrongs.iter().map(|wrong| format!("without faults: {wrong}")));
    wrongs.extend(differences(&calm.judgement.end, &run.judgement.end));
    let lines = |counts: &BTreeMap<String, Count>| -> Vec<String> {
        counts
            .iter()
            .map(|(object, Count { created, deleted })| format!("{object} {created} times created, {deleted} times deleted"))
            .collect()
    };
    wrongs.extend(differences(&lines(&calm.counts), &lines(&run.counts)));
    wrongs
}

pub(crate) fn rule(verbs: &[&str], faults: &[(Fault, f64)]) -> Rule {
    let verbs = verbs.iter().map(ToString::to_string).collect();
    Rule { requests: Requests { verbs, ..Requests::default() }, faults: faults.to_vec() }
}

fn under(name: &str, seeds: u64, plan: &Plan, quiet: Duration) {
    let plugins = Plugins::all();
    try_seeds(name, seeds, |seed| {
        let calm = scripted(&plugins, (seed, Plan::default()), drawn(seed), QUIET, |world| drop(world.host(&plugins)));
        let run = scripted(&plugins, (seed, plan.clone()), drawn(seed), quiet, |world| drop(world.host(&plugins)));
        let faults = run.faults;
        let created = run.counts.values().map(|count| u64::from(count.created)).sum();
        let deleted = run.counts.values().map(|count| u64::from(count.deleted)).sum();
        Tried { wrongs: compared(&calm, run), counts: vec![("faults", faults), ("created", created), ("deleted", deleted)] }
    });
}

pub(crate) fn late_caches() -> Plan {
    let rules = vec![
        rule(&["watch"], &[(Fault::EventDelayed, 0.3), (Fault::EventDuplicated, 0.1), (Fault::WatchHung, 0.1)]),
        rule(&["list"], &[(Fault::StaleList, 0.5)]),
    ];
    Plan { rules, event_delay: Duration::from_millis(1)..=Duration::from_secs(30), ..Plan::default() }
}

/// Watches end, and lists skip states.
pub(crate) fn skipped_states() -> Plan {
    let rules = vec![rule(&["watch"], &[(Fault::WatchCut, 0.4), (Fault::WatchExpired, 0.5), (Fault::WatchHung, 0.3)])];
    let watch_life = Duration::ZERO..=Duration::from_secs(60);
    // Several in a row are shorter than people wait.
    let hang = Duration::from_secs(1)..=Duration::from_secs(60);
    Plan { rules, watch_life, watch_events: 0..=5, hang, ..Plan::default() }
}

/// Returns a plan under which caches are behind, for different reasons.
pub(crate) fn late(seed: u64) -> Plan {
    match seed % 3 {
        0 => late_caches(),
        1 => skipped_states(),
        _ => lost_answers(),
    }
}

/// Returns a plan with one kind of fault by the seed, or with all of them.
pub(crate) fn any_fault(seed: u64) -> Plan {
    match seed % 6 {
        3 => gateways(),
        4 => denials(),
        5 => Plan::everything(0.02),
        kind => late(kind),
    }
}

pub(crate) fn lost_answers() -> Plan {
    let lost = [(Fault::ConnectionLost, 0.15), (Fault::AnswerLost, 0.15), (Fault::LatencyAfter, 0.15)];
    let rules = vec![rule(&["create", "update", "patch", "delete"], &lost)];
    // Some answers come after the client's timeout.
    let latency = Duration::from_secs(50)..=Duration::from_secs(90);
    Plan { rules, latency, ..Plan::default() }
}

#[test]
fn a_cache_that_is_late_changes_nothing_in_the_end() {
    under("late caches", 40, &late_caches(), QUIET_UNDER_FAULTS);
}

#[test]
fn a_watch_that_skips_states_changes_nothing_in_the_end() {
    under("skipped states", 40, &skipped_states(), QUIET_UNDER_FAULTS);
}

#[test]
fn an_answer_that_is_lost_changes_nothing_in_the_end() {
    under("lost answers", 40, &lost_answers(), QUIET_UNDER_FAULTS);
}

/// The faults of a proxy or a gateway before the API server.
fn gateways() -> Plan {
    let faults =
        [Fault::BadGateway, Fault::AnswerCut, Fault::TooManyRequests, Fault::ConnectionLost].map(|fault| (fault, 0.05));
    Plan { rules: vec![rule(&[], &[&faults[..], &[(Fault::LatencyBefore, 0.1)]].concat())], ..Plan::default() }
}

#[test]
fn gateways_that_fail_change_nothing_in_the_end() {
    under("gateways", 40, &gateways(), QUIET_AFTER_BACKOFF);
}

fn denials() -> Plan {
    let denied = rule(&["create", "update", "patch", "delete"], &[(Fault::Denied, 0.15)]);
    Plan { rules: vec![denied], ..Plan::default() }
}

#[test]
fn webhooks_that_deny_for_a_while_change_nothing_in_the_end() {
    under("denials", 40, &denials(), MANY_RECHECKS);
}

/// Objects of the strategy `create-only` are not written again, so they are left out.
#[test]
fn webhooks_that_remove_marks_for_a_while_change_nothing_in_the_end() {
    let of = |resource: &str| {
        let requests = Requests { resource: resource.to_owned(), ..Requests::default() };
        Rule { requests, faults: vec![(Fault::MarksRemoved, 0.3)] }
    };
    let rules =
        ["configmaps", "services", "deployments.apps", "cronjobs.batch", "clusterroles.rbac.authorization.k8s.io"].map(of);
    let plan = Plan { rules: rules.to_vec(), ..Plan::default() };
    under("removed marks", 40, &plan, MANY_RECHECKS);
}
