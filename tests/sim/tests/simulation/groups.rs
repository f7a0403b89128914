//! Groups of parents: an address is never given twice, children are those of the members, and
//! nothing is left behind, whatever happens to hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gyre_core::groups::Group;
use gyre_core::selector::Selector;
use gyre_devcluster::faults::{Fault, Plan};
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::{Claim, ClaimSender};
use gyre_engine::program::{Policy, Program, Programs, fixed};
use gyre_sandbox::Limits;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Cascade, Plugins, World, simulate};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::faults::{QUIET, late, rule};
use crate::seeds::{Tried, try_seeds};
use crate::subjects::{Hosts, Subject, killed_after_each_write, readiness_of, restored_from_a_backup, under_faults};

pub(crate) const MIB: usize = 1_024 * 1_024;
const POOLS: [&str; 2] = ["edge", "core"];
const CLAIMS: u64 = 6;
const TEAMS: [&str; 2] = ["web", "data"];
const NAMESPACES: [&str; 3] = ["default", "team-a", "team-b"];

#[derive(Clone)]
pub(crate) struct Tenants;

fn plugins() -> Plugins {
    let pools = json!({ "pools": { "edge": "192.0.2.0/29", "core": "198.51.100.0/24" } });
    Plugins::reconcilers(gyre_artifacts::TENANTS, [("teams", json!({})), ("addresses", pools)])
}

pub(crate) fn claim(namespace: &str, number: u64) -> Name {
    Name::new(kinds::ADDRESS_CLAIM, namespace, &format!("claim-{number}"))
}

pub(crate) fn wants(namespace: &str, number: u64, pool: &str) -> Action {
    Action::Put(claim(namespace, number), json!({ "spec": { "pool": pool } }))
}

fn joins(namespace: &str, team: Option<&str>) -> Action {
    let labels = json!({ "tenants.gyre.dev/team": team });
    Action::Edit(Name::cluster(kinds::NAMESPACE, namespace), json!({ "metadata": { "labels": labels } }))
}

/// Returns the pool of a claim.
fn pool(number: u64) -> &'static str {
    POOLS[usize::from(number == 0)]
}

/// Returns what is wrong at every moment: an address that belongs to two claims.
async fn given_twice(world: &World) -> Vec<String> {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut wrongs = Vec::new();
    for claim in world.people.list(kinds::ADDRESS_CLAIM).await {
        let Some(address) = claim.pointer("/status/address").and_then(Value::as_str) else { continue };
        let name = format!("{}/{}", claim["metadata"]["namespace"], claim["metadata"]["name"]);
        if let Some(other) = owners.insert(address.to_owned(), name.clone()) {
            wrongs.push(format!("{other} and {name} both have {address}"));
        }
    }
    wrongs
}

/// Returns the differences from the state at rest.
async fn wrongs(world: &World) -> Vec<String> {
    let mut wrongs = given_twice(world).await;
    let claims = world.people.list(kinds::ADDRESS_CLAIM).await;
    let mut pools = BTreeSet::new();
    for claim in &claims {
        let pool = claim["spec"]["pool"].as_str().unwrap_or_default();
        pools.insert(pool.to_owned());
        let in_pool = claims.iter().filter(|other| other["spec"]["pool"] == claim["spec"]["pool"]).count();
        let has_address = claim.pointer("/status/address").is_some();
        // Six addresses are in the pool edge.
        if !has_address && (pool == "core" || in_pool <= 6) {
            wrongs.push(format!("{} has no address: {}", claim["metadata"]["name"], claim["status"]));
        }
    }
    let mut teams: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for namespace in world.people.list(kinds::NAMESPACE).await {
        let metadata = &namespace["metadata"];
        if let Some(team) = metadata["labels"]["tenants.gyre.dev/team"].as_str() {
            let name = metadata["name"].as_str().unwrap_or_default();
            teams.entry(team.to_owned()).or_default().insert(format!("system:serviceaccounts:{name}"));
        }
    }
    let mut bound: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for binding in world.people.list(kinds::CLUSTER_ROLE_BINDING).await {
        let Some(team) = binding["metadata"]["name"].as_str().and_then(|name| name.strip_prefix("tenants:")) else { continue };
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        let names = subjects.filter_map(|subject| subject["name"].as_str()).map(str::to_owned);
        bound.insert(team.to_owned(), names.collect());
    }
    if bound != teams {
        wrongs.push(format!("bound are {bound:?} instead of {teams:?}"));
    }
    let groups = world.people.list(kinds::PARENT_GROUP).await;
    let values = |reconciler: &str| -> BTreeSet<String> {
        let of_reconciler = groups.iter().filter(|group| group["spec"]["reconciler"] == reconciler);
        of_reconciler.filter_map(|group| group["spec"]["value"].as_str()).map(str::to_owned).collect()
    };
    if values("addresses") != pools || values("teams") != teams.into_keys().collect() {
        wrongs.push(format!("the groups are {:?} and {:?}", values("addresses"), values("teams")));
    }
    wrongs
}

impl Subject for Tenants {
    fn plugins(&self) -> Plugins {
        plugins()
    }

    async fn prepare(&mut self, world: &World) {
        world.people.act(&Action::CreateNamespace("team-b")).await;
    }

    /// A claim never changes its pool: it is made again.
    fn action(&mut self, random: &mut Random) -> Action {
        let pick = |random: &mut Random, count: usize| usize::try_from(random.below(count as u64)).expect("an index");
        let namespace = NAMESPACES[pick(random, 2)];
        let number = random.below(CLAIMS);
        match random.below(6) {
            0 => Action::Delete(claim(namespace, number), Cascade::Background),
            1 | 2 => {
                let team = random.below(3);
                let team = usize::try_from(team).ok().and_then(|team| TEAMS.get(team)).copied();
                joins(NAMESPACES[pick(random, NAMESPACES.len())], team)
            }
            _ => wants(namespace, number, pool(number)),
        }
    }

    /// At last, the second group loses its members, and its children.
    fn step(&mut self, number: usize) -> Option<Vec<Action>> {
        let mut made: Vec<Action> = (0..CLAIMS).map(|number| wants("default", number, pool(number))).collect();
        made.extend([joins("team-a", Some("web")), joins("team-b", Some("web"))]);
        let deleted = Action::Delete(claim("default", 0), Cascade::Background);
        [made, vec![deleted, joins("team-a", None), joins("team-b", None)]].into_iter().nth(number)
    }

    async fn wrongs_now(&mut self, world: &World) -> Vec<String> {
        given_twice(world).await
    }

    async fn wrongs_at_rest(&mut self, world: &World) -> Vec<String> {
        wrongs(world).await
    }
}

#[test]
fn no_address_is_given_twice_and_groups_follow_their_members() {
    under_faults("groups", 36, Hosts::One, &Tenants);
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_is_followed_by_one_that_ends_its_work() {
    killed_after_each_write("groups, killed after each write", &Tenants);
}

/// The host before was killed or lost its Lease a moment ago; the caches of the next one are late.
#[test]
fn of_hosts_that_take_over_from_each_other_none_gives_an_address_twice() {
    under_faults("groups with a Lease", 24, Hosts::InTurns, &Tenants);
}

#[test]
fn addresses_are_unique_again_after_a_restore_from_yesterdays_backup() {
    restored_from_a_backup("groups and a restore", 15, &Tenants);
}

pub(crate) fn member(number: usize) -> Name {
    Name::new(kinds::GROUPED, "default", &format!("member-{number}"))
}

pub(crate) fn is_of_group(number: usize, spec: &Value) -> Action {
    let mut spec = spec.clone();
    spec["group"] = json!("one");
    Action::Put(member(number), json!({ "spec": spec }))
}

/// Returns the condition `Ready` of the only group.
pub(crate) async fn readiness(world: &World) -> Value {
    world.people.list(kinds::PARENT_GROUP).await.first().and_then(readiness_of).cloned().unwrap_or_default()
}

pub(crate) async fn grown_group(policy: Policy, members: usize) -> (World, Plugins, Programs) {
    let plugins = Plugins::one(gyre_artifacts::probes::GROUPED);
    let world = World::set_up(&plugins, 0, Plan::default()).await;
    for number in 0..members {
        world.people.act(&is_of_group(number, &json!({}))).await;
    }
    let programs = plugins.programs_with(|program| Program { policy: policy.clone(), ..program });
    (world, plugins, programs)
}

pub(crate) async fn config_maps(world: &World) -> usize {
    let maps = world.people.list(kinds::CONFIG_MAP).await;
    maps.iter().filter(|map| map["metadata"]["labels"]["gyre.dev/plugin"] == "grouped").count()
}

#[test]
fn a_status_of_an_object_that_is_no_member_is_a_condition_and_members_get_theirs() {
    simulate(async {
        let (world, _, programs) = grown_group(Policy::default(), 3).await;
        let _host = world.host_with(programs, Claim::always(), None);
        world.people.act(&is_of_group(0, &json!({ "stranger": "nobody" }))).await;
        world.rest(QUIET).await;
        let ready = readiness(&world).await;
        assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("InvalidMemberStatus")));
        assert!(ready["message"].as_str().unwrap().contains("default/nobody, which is no member"), "{ready}");
        for number in 0..3 {
            assert_eq!(world.people.get(&member(number)).await.unwrap()["status"]["members"], 3);
        }
        world.people.act(&is_of_group(0, &json!({}))).await;
        world.rest(QUIET).await;
        assert_eq!(readiness(&world).await["status"], "True");
    });
}

#[test]
fn an_answer_that_deletes_all_children_of_a_group_is_held_until_it_is_released() {
    const MEMBERS: usize = 30;
    simulate(async {
        let (world, _, programs) = grown_group(Policy::default(), MEMBERS).await;
        let _host = world.host_with(programs, Claim::always(), None);
        world.rest(QUIET).await;
        assert_eq!(config_maps(&world).await, MEMBERS);
        // The guard does not count what is wanted while the host looks at everything at first.
        sleep(Duration::from_secs(400)).await;
        world.people.act(&is_of_group(0, &json!({ "without": true }))).await;
        world.rest(QUIET).await;
        let ready = readiness(&world).await;
        assert_eq!((config_maps(&world).await, &ready["reason"]), (MEMBERS, &json!("DeletionHeld")), "{ready}");
        world.people.act(&is_of_group(0, &json!({ "without": false }))).await;
        world.rest(QUIET).await;
        assert_eq!((config_maps(&world).await, &readiness(&world).await["status"]), (MEMBERS, &json!("True")));
    });
}

#[test]
fn a_group_that_is_too_large_keeps_everything_until_it_has_shrunk() {
    simulate(async {
        // A quarter of it is for members.
        let limits = Limits { memory_bytes: 4 * MIB, ..Limits::default() };
        let (world, _, programs) = grown_group(Policy { limits, ..Policy::default() }, 3).await;
        let host = world.host_with(programs, Claim::always(), None);
        world.rest(QUIET).await;
        for number in 0..3 {
            world.people.act(&is_of_group(number, &json!({ "text": "x".repeat(400 * 1_024) }))).await;
        }
        world.rest(QUIET).await;
        let ready = readiness(&world).await;
        assert_eq!((config_maps(&world).await, &ready["status"]), (3, &json!("False")), "{ready}");
        assert!(ready["message"].as_str().unwrap().contains("members"), "{ready}");
        let writes = host.writes();
        sleep(QUIET).await;
        assert_eq!(host.writes(), writes, "the host writes although nothing changes");

        world.people.act(&Action::Delete(member(0), Cascade::Background)).await;
        world.rest(QUIET).await;
        assert_eq!((config_maps(&world).await, &readiness(&world).await["status"]), (2, &json!("True")));
    });
}

#[test]
fn an_object_in_the_way_of_a_group_is_reported_and_makes_room_when_it_is_deleted() {
    simulate(async {
        let (world, plugins, _) = grown_group(Policy::default(), 1).await;
        let group = Group::of_value("grouped", "one".to_owned());
        let forged = json!({ "spec": { "reconciler": "somebody", "value": "one" } });
        let name = Name::cluster(kinds::PARENT_GROUP, &group.name);
        world.people.act(&Action::Put(name.clone(), forged)).await;
        let host = world.host(&plugins);
        world.rest(QUIET).await;
        let writes = host.writes();
        sleep(QUIET).await;
        assert_eq!((config_maps(&world).await, host.writes()), (0, writes));
        assert_eq!(world.people.get(&name).await.unwrap()["spec"]["reconciler"], "somebody");
        world.people.act(&Action::Delete(name, Cascade::Background)).await;
        world.rest(QUIET).await;
        assert_eq!((config_maps(&world).await, &readiness(&world).await["status"]), (1, &json!("True")));
    });
}

#[test]
fn a_group_that_lost_its_last_member_goes_without_a_status() {
    simulate(async {
        let (world, plugins, _) = grown_group(Policy::default(), 1).await;
        let host = world.host(&plugins);
        world.rest(QUIET).await;
        let writes = host.writes();
        world.people.act(&Action::Delete(member(0), Cascade::Background)).await;
        world.rest(QUIET).await;
        assert_eq!((config_maps(&world).await, world.people.list(kinds::PARENT_GROUP).await.len()), (0, 0));
        // The ConfigMap, its group, and an Event at most.
        assert!(host.writes() - writes <= 3, "{} writes", host.writes() - writes);
    });
}

/// Returns the numbers that two members had, now or one after the other.
fn given_again(numbers: &mut BTreeMap<u64, String>, members: &[Value]) -> Vec<String> {
    let mut wrongs = Vec::new();
    for member in members {
        let Some(number) = member["status"]["number"].as_u64() else { continue };
        let uid = member["metadata"]["uid"].to_string();
        let owner = numbers.entry(number).or_insert_with(|| uid.clone());
        if *owner != uid {
            wrongs.push(format!("{owner} and {uid} both have the number {number}"));
        }
    }
    wrongs
}

#[test]
fn a_number_that_the_status_of_a_group_counts_is_never_given_again() {
    try_seeds("numbers", 30, |seed| {
        simulate(async {
            let plugins = Plugins::one(gyre_artifacts::probes::GROUPED);
            let world = World::set_up(&plugins, seed, late(seed)).await;
            let mut random = Random::new(seed);
            let mut hosts = vec![world.host_with_lease(&plugins), world.host_with_lease(&plugins)];
            let (mut wrongs, mut numbers) = (Vec::new(), BTreeMap::new());
            // The status goes with the group, so one member stays.
            world.people.act(&is_of_group(5, &json!({}))).await;
            for step in 0..60 {
                let number = usize::try_from(random.below(5)).expect("an index");
                let action = match random.below(3) {
                    0 => Action::Delete(member(number), Cascade::Background),
                    _ => is_of_group(number, &json!({})),
                };
                world.people.act(&action).await;
                sleep(Duration::from_millis(random.below(3_000))).await;
                wrongs.extend(given_again(&mut numbers, &world.people.list(kinds::GROUPED).await));
                if step % 20 == 19 {
                    hosts.remove(0).kill().await;
                    hosts.push(world.host_with_lease(&plugins));
                }
            }
            world.calm_down();
            sleep(Duration::from_secs(60)).await;
            world.rest(QUIET).await;
            let members = world.people.list(kinds::GROUPED).await;
            wrongs.extend(given_again(&mut numbers, &members));
            if let Some(without) = members.iter().find(|member| member["status"]["number"].is_null()) {
                wrongs.push(format!("no number: {without}"));
            }
            Tried { wrongs, counts: vec![("numbers", numbers.len() as u64)] }
        })
    });
}

#[test]
fn a_member_that_moves_is_counted_in_its_new_group() {
    try_seeds("members that move", 30, |seed| {
        simulate(async {
            let plugins = Plugins::one(gyre_artifacts::probes::GROUPED);
            let world = World::set_up(&plugins, seed, late(seed)).await;
            let mut random = Random::new(seed);
            let host = world.host(&plugins);
            for _ in 0..40 {
                let number = usize::try_from(random.below(4)).expect("an index");
                let group = ["one", "two", "three"][usize::try_from(random.below(3)).expect("an index")];
                world.people.act(&Action::Put(member(number), json!({ "spec": { "group": group } }))).await;
                // Within the time of a write of a status, too.
                sleep(Duration::from_millis(random.below(60))).await;
            }
            world.calm_down();
            // A ConfigMap that the former group has not deleted yet is tried again after 5 minutes.
            sleep(Duration::from_secs(400)).await;
            world.rest(QUIET).await;
            let members = world.people.list(kinds::GROUPED).await;
            let size = |group: &Value| members.iter().filter(|member| member["spec"]["group"] == *group).count();
            let is_wrong = |member: &&Value| member["status"]["members"] != json!(size(&member["spec"]["group"]));
            let mut wrongs: Vec<String> = members.iter().filter(is_wrong).map(|member| format!("{member} is wrong")).collect();
            let groups: BTreeSet<String> = members.iter().map(|member| member["spec"]["group"].to_string()).collect();
            let left = world.people.list(kinds::PARENT_GROUP).await.len();
            if left != groups.len() {
                wrongs.push(format!("{left} groups instead of {}", groups.len()));
            }
            let writes = host.writes();
            host.kill().await;
            Tried { wrongs, counts: vec![("writes", writes)] }
        })
    });
}

#[test]
fn a_group_of_all_parents_is_called_without_parents_and_not_with_a_wrong_selector() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::probes::GATHERED);
        let world = World::set_up(&plugins, 0, Plan::default()).await;
        let mut counted = Vec::new();
        for (selector, is_there) in [("", false), ("team=web", true), ("team=nobody", true), ("team=web", true), ("", false)] {
            let action = if is_there {
                Action::Put(member(0), json!({ "metadata": { "labels": { "team": "web" } }, "spec": {} }))
            } else {
                Action::Delete(member(0), Cascade::Background)
            };
            world.people.act(&action).await;
            let selector: Selector = selector.parse().expect("a selector");
            let programs = plugins.programs_with(|program| Program { selector: selector.clone(), ..program });
            let host = world.host_with(programs, Claim::always(), None);
            world.rest(QUIET).await;
            let map = world.people.get(&Name::new(kinds::CONFIG_MAP, "default", "gathered")).await.unwrap_or_default();
            counted.push(map["data"]["members"].as_str().unwrap_or_default().to_owned());
            host.kill().await;
        }
        assert_eq!(counted, ["0", "1", "1", "1", "0"]);
    });
}

#[test]
fn a_version_that_groups_in_another_way_takes_the_place_of_the_one_before() {
    simulate(async {
        let (world, by_field, _) = grown_group(Policy::default(), 2).await;
        let all = Plugins::one(gyre_artifacts::probes::GATHERED);
        let mut ends = Vec::new();
        for plugins in [&by_field, &all, &by_field] {
            let host = world.host(plugins);
            world.rest(QUIET).await;
            let groups = world.people.list(kinds::PARENT_GROUP).await;
            let values: Vec<String> = groups.iter().map(|group| group["spec"]["value"].to_string()).collect();
            ends.push((values.join(" "), config_maps(&world).await));
            host.kill().await;
        }
        let end = |values: &str, maps: usize| (values.to_owned(), maps);
        assert_eq!(ends, [end("\"one\"", 2), end("null", 1), end("\"one\"", 2)]);
    });
}

/// The host before gives an address to the second claim before it sees the first one, and ends. The
/// cache of the next host has both claims, and not yet the address.
#[test]
fn a_host_that_takes_over_with_a_cache_from_before_gives_no_address_twice() {
    /// Two writes of the inventory, the object of the group, and its status come first.
    const KILLED_AFTER: u64 = 4;
    try_seeds("a cache from before", 60, |seed| {
        simulate(async {
            let rules = vec![rule(&["watch"], &[(Fault::EventDelayed, 1.0)])];
            let event_delay = Duration::from_millis(10)..=Duration::from_secs(5);
            let world = World::set_up(&plugins(), seed, Plan { rules, event_delay, ..Plan::default() }).await;
            let programs = || fixed(plugins().programs().to_vec());
            let mut random = Random::new(seed);
            let before = world.host_with(programs(), Claim::always(), Some(KILLED_AFTER + seed % 3));
            sleep(Duration::from_secs(30)).await;
            world.people.act(&wants("default", 2, "core")).await;
            sleep(Duration::from_millis(random.below(500))).await;
            world.people.act(&wants("default", 1, "core")).await;
            let (holder, claim) = ClaimSender::new();
            let host = world.host_with(programs(), claim, None);
            let _ = tokio::time::timeout(Duration::from_secs(20), before.killed()).await;
            let hour = Duration::from_secs(3_600);
            holder.hold_until(Instant::now() + hour);
            let mut wrongs = Vec::new();
            for _ in 0..20 {
                sleep(Duration::from_secs(1)).await;
                wrongs.extend(given_twice(&world).await);
            }
            wrongs.dedup();
            let writes = host.writes();
            host.kill().await;
            Tried { wrongs, counts: vec![("writes", writes)] }
        })
    });
}
