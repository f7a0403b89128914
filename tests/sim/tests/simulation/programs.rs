//! Programs change while parents do: plugins are replaced and unmounted under faults and kills.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gyre_devcluster::Server;
use gyre_devcluster::faults::{Fault, Faults, Plan, Requests, Rule};
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::Program;
use gyre_sim::kinds::{self, Name};
use gyre_sim::script::Author;
use gyre_sim::{Action, Cascade, Host, Plugins, Sent, World, finalizers, judge, simulate};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::seeds::{Tried, try_seeds};
use crate::storms::{TO_REST, settle};

const VERSIONS: u64 = 6;
const PROBABILITY: f64 = 0.02;
const ACTIONS: u64 = 60;
const IN_BETWEEN: Duration = Duration::from_secs(120);

type Sender = watch::Sender<Arc<[Program]>>;

fn start(world: &World, programs: &Sender) -> Host {
    world.host_with(programs.subscribe(), Claim::always(), None)
}

#[test]
fn a_plugin_that_is_replaced_under_load_leaves_no_parent_behind() {
    let versions: Vec<Plugins> = (0..VERSIONS).map(Plugins::versioned).collect();
    try_seeds("hot swaps", 40, |seed| {
        // Half of the seeds have no faults, so that rest can be awaited.
        let plan = if seed % 2 == 0 { Plan::default() } else { Plan::everything(PROBABILITY) };
        simulate(swaps(&versions, seed, plan, Shadows::None))
    });
}

/// The shadow is a version that is never mounted, so that a write of it would be found.
#[test]
fn a_shadow_that_comes_and_goes_makes_no_difference() {
    let versions: Vec<Plugins> = (0..VERSIONS).map(Plugins::versioned).collect();
    try_seeds("shadows", 20, |seed| {
        let plan = if seed % 2 == 0 { Plan::default() } else { Plan::everything(PROBABILITY) };
        simulate(swaps(&versions, seed, plan, Shadows::Some))
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shadows {
    Some,
    None,
}

fn shadowed(mounted: &Plugins, shadow: Option<&Plugins>) -> Arc<[Program]> {
    let shadow = shadow.map(|shadow| Arc::new(shadow.programs()[0].clone()));
    mounted.programs().iter().map(|program| Program { shadow: shadow.clone(), ..program.clone() }).collect()
}

async fn swaps(versions: &[Plugins], seed: u64, plan: Plan, shadows: Shadows) -> Tried {
    let is_calm = plan.rules.is_empty();
    let world = World::new(&versions[0], seed, plan).await;
    world.people.act(&Action::CreateNamespace("team-a")).await;
    let mut random = Random::new(seed ^ 0x5afe);
    let programs: Sender = watch::Sender::new(versions[0].programs());
    let mut host = start(&world, &programs);
    let mut wrongs = Vec::new();
    let (mut newest, mut rests, mut shadow) = (0, 0, None);
    let mut history = vec![0];
    for _ in 0..ACTIONS {
        let namespace = if random.below(2) == 0 { "default" } else { "team-a" };
        let parent = Name::new(kinds::VERSIONED, namespace, &format!("versioned-{}", random.below(5)));
        let text = format!("text {}", random.below(4));
        match random.below(20) {
            0..=10 => world.people.act(&Action::Put(parent, json!({ "spec": { "text": text } }))).await,
            11 | 12 => world.people.act(&Action::Delete(parent, Cascade::Background)).await,
            13 => {
                let child = Name { kind: kinds::CONFIG_MAP, name: format!("{}-two", parent.name), ..parent };
                world.people.act(&Action::DeleteChild(child)).await;
            }
            14 => {
                host.kill().await;
                host = start(&world, &programs);
            }
            15 if is_calm => {
                sleep(IN_BETWEEN).await;
                let judgement = judge(&world.people, Some(newest)).await;
                wrongs.extend(judgement.wrongs.iter().map(|wrong| format!("in between: {wrong}")));
                rests += 1;
            }
            // A newer version, sometimes outdated before the host sees it.
            _ => {
                if shadows == Shadows::Some {
                    let index = usize::try_from(random.below(VERSIONS + 2)).expect("an index");
                    shadow = versions.get(index);
                }
                if shadows == Shadows::None || random.below(2) == 0 {
                    newest = (newest + 1 + random.below(2)) % VERSIONS;
                    history.push(usize::try_from(newest).expect("an index"));
                }
                let mounted = history.last().map(|index| &versions[*index]).expect("one is mounted");
                programs.send_replace(shadowed(mounted, shadow));
            }
        }
        if random.below(3) > 0 {
            sleep(Duration::from_millis(random.below(5000))).await;
        }
    }
    let judgement = settle(&world, Some(newest)).await;
    wrongs.extend(judgement.wrongs);
    wrongs.extend(world.record.inspect(|sent| out_of_order(versions, &history, sent)));
    let faults = world.faults.trace().len() as u64;
    let (objects, swaps) = (judgement.end.len() as u64, history.len() as u64);
    host.kill().await;
    Tried { wrongs, counts: vec![("swaps", swaps), ("rests", rests), ("faults", faults), ("objects judged", objects)] }
}

/// Returns writes about a parent that do not follow the order of mounted versions.
fn out_of_order(versions: &[Plugins], history: &[usize], sent: &[Sent]) -> Vec<String> {
    let digests: Vec<String> = versions.iter().map(|version| version.programs()[0].plugin.digest().to_string()).collect();
    let mut wrongs = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for sent in sent.iter().filter(|sent| sent.is_write()) {
        let parts: Vec<&str> = sent.path().split('/').collect();
        let Some(place) = parts.iter().position(|part| matches!(*part, "versioneds" | "configmaps")) else { continue };
        let (namespace, name) = (parts[place - 1], parts.get(place + 1).copied().unwrap_or_default());
        if !name.starts_with("versioned-") {
            continue;
        }
        let parent = format!("{namespace}/{}", name.trim_end_matches("-one").trim_end_matches("-two"));
        let place = places.entry(parent).or_default();
        let is_of = |version: &usize| sent.agent.contains(&digests[*version]);
        match history[*place..].iter().position(is_of) {
            Some(further) => *place += further,
            None => wrongs.push(format!("of no version, or of one before the last: {sent:?} by {}", sent.agent)),
        }
    }
    wrongs
}

#[test]
fn plugins_that_are_unmounted_leave_no_finalizer() {
    let all = Plugins::all();
    try_seeds("unmounts", 40, |seed| {
        let plan = if seed % 2 == 0 { Plan::default() } else { Plan::everything(PROBABILITY) };
        simulate(unmounts(&all, seed, plan))
    });
}

async fn unmounts(plugins: &Plugins, seed: u64, plan: Plan) -> Tried {
    let world = World::set_up(plugins, seed, plan).await;
    let mut author = Author::about(seed, &[kinds::FINALIZING, kinds::CROSS_NAMESPACE, kinds::STRATEGIES]);
    let some = |wanted: &[&str]| -> Arc<[Program]> {
        let programs = plugins.programs();
        programs.iter().filter(|program| wanted.contains(&&*program.name)).cloned().collect()
    };
    let programs: Sender = watch::Sender::new(some(&["finalizing", "cross-namespace", "strategies"]));
    let mut host = start(&world, &programs);
    let mut unmounts = 0;
    for _ in 0..ACTIONS {
        let action = author.action();
        world.people.act(&action).await;
        if author.random().below(6) == 0 {
            let mut wanted = vec!["strategies"];
            for name in ["finalizing", "cross-namespace"] {
                if author.random().below(2) == 0 {
                    wanted.push(name);
                } else {
                    unmounts += 1;
                }
            }
            programs.send_replace(some(&wanted));
        }
        if author.random().below(12) == 0 {
            host.kill().await;
            host = start(&world, &programs);
        }
        if author.random().below(3) > 0 {
            let pause = Duration::from_millis(author.random().below(5000));
            sleep(pause).await;
        }
    }
    let held = finalizers(&world.people).await.len() as u64;
    programs.send_replace(some(&[]));
    if author.random().below(2) == 0 {
        // Another host, which never had the plugins, finishes the work.
        host.kill().await;
        host = start(&world, &programs);
    }
    sleep(Duration::from_secs(60)).await;
    world.faults.stop();
    sleep(TO_REST).await;
    let mut wrongs = finalizers(&world.people).await;
    wrongs.extend(going(&world).await);
    let faults = world.faults.trace().len() as u64;
    host.kill().await;
    Tried { wrongs, counts: vec![("unmounts", unmounts), ("finalizers before the last", held), ("faults", faults)] }
}

async fn going(world: &World) -> Vec<String> {
    let all = world.people.snapshot(kinds::PARENTS.into_iter().chain(kinds::CHILDREN).chain([kinds::NAMESPACE])).await;
    let going = all.iter().filter(|(_, object)| !object["metadata"]["deletionTimestamp"].is_null());
    going.map(|(name, object)| format!("{name} is stuck in deletion: {}", object["metadata"])).collect()
}

/// The parents of an unmount: some pages.
const MANY: usize = 250;
/// The most parents of a page.
const PAGE: usize = 100;

/// Also if the API server forgets the state that is listed.
#[test]
fn an_unmount_lists_the_metadata_of_one_page_of_parents_after_the_other() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::probes::FINALIZING);
        let world = World::new(&plugins, 0, Plan::default()).await;
        for number in 0..MANY {
            let name = Name::new(kinds::FINALIZING, "default", &format!("it-{number}"));
            world.people.create_in(&name, &json!({ "spec": {} })).await;
        }
        let programs: Sender = watch::Sender::new(plugins.programs());
        let host = start(&world, &programs);
        assert!(world.rest(IN_BETWEEN).await);
        assert_eq!(finalizers(&world.people).await.len(), MANY);
        let mark = world.record.len();
        let before = world.record.inspect(|sent| sent.iter().filter(|sent| !sent.is_watch()).count());
        let cluster = world.cluster().clone();
        world.record.before(before + PAGE, move || cluster.with_server(Server::compact));
        programs.send_replace([].into());
        assert!(world.rest(IN_BETWEEN).await);
        assert_eq!(finalizers(&world.people).await, [""; 0]);
        host.kill().await;
        world.record.inspect(|sent| {
            let mut released = Vec::new();
            for sent in &sent[mark..] {
                if sent.is_list_of("finalizings") {
                    assert!(sent.accept.contains("as=PartialObjectMetadataList"), "{sent:?} accepts {}", sent.accept);
                    released.push(0);
                } else if let (Some(released), "PATCH") = (released.last_mut(), sent.method.as_str()) {
                    *released += 1;
                }
            }
            assert!(released.iter().all(|released| *released <= PAGE), "after each list: {released:?}");
            assert_eq!(released.iter().sum::<usize>(), MANY);
        });
    });
}

/// The rules of the later version do not permit to list what the earlier one created.
#[test]
fn a_mount_whose_former_kind_cannot_be_listed_works_and_prunes_it_once_it_can_be() {
    let [before, after] = [gyre_artifacts::probes::WIDENED, gyre_artifacts::probes::NARROWED].map(Plugins::one);
    simulate(async {
        let world = World::new(&before, 0, Plan::default()).await;
        let of = |kind, name: &str| Name::new(kind, "default", name);
        world.people.create_in(&of(kinds::NARROWING, "it"), &json!({ "spec": {} })).await;
        let host = world.host(&before);
        assert!(world.rest(IN_BETWEEN).await);
        host.kill().await;
        let inventory = async || world.people.get(&of(kinds::CONFIG_MAP, "gyre-inventory")).await.unwrap()["data"].to_string();
        assert!(inventory().await.contains("Secret"));

        let requests = Requests { resource: "secrets".to_owned(), ..Requests::default() };
        let rules = vec![Rule { requests, faults: vec![(Fault::Forbidden, 1.0)] }];
        let mut forbidden = world.clone();
        forbidden.faults = Faults::new(Plan { rules, ..Plan::default() }, 0);
        let host = forbidden.host(&after);
        world.people.act(&Action::DeleteChild(of(kinds::CONFIG_MAP, "it"))).await;
        world.people.create_in(&of(kinds::NARROWING, "new"), &json!({ "spec": {} })).await;
        assert!(world.rest(IN_BETWEEN).await);
        for name in ["it", "new"] {
            assert!(world.people.get(&of(kinds::CONFIG_MAP, name)).await.is_some(), "{name} is reconciled");
        }
        assert!(world.people.get(&of(kinds::SECRET, "it")).await.is_some());
        assert!(inventory().await.contains("Secret"), "a later start must know it");
        let lists = world.record.inspect(|sent| sent.iter().filter(|sent| sent.code == 403).count());
        assert!(lists <= 4, "{lists} requests within two minutes were forbidden");

        forbidden.faults.stop();
        assert!(world.rest(IN_BETWEEN).await);
        assert!(world.people.get(&of(kinds::SECRET, "it")).await.is_none());
        host.kill().await;
        let host = world.host(&after);
        assert!(world.rest(IN_BETWEEN).await);
        assert!(!inventory().await.contains("Secret"), "nothing of it is left");
        host.kill().await;
    });
}
