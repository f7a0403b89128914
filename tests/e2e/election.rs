//! Three replicas, of which one writes at a time, through all faults of leaders.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use gyre_controlplane::{AuditEvent, Mark, Signal};
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, PATIENCE, guest, guest_crds};
use crate::network::{Passage, Way};
use crate::replicas::{Changes, Deployment, Gaps, Leases, RETRY, Replica, Term, fills_a_cache, is_fenced, one_writer, terms};

const GROUPS: [&str; 4] = ["election-a", "election-b", "election-c", "election-d"];
const REPLICAS: usize = 3;
const PARENTS: usize = 6;
const PACE: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Killed,
    Stopped,
    /// Its requests stay in the network until another leads.
    Stalled,
    /// Its connections are broken until another leads.
    CutOff,
    Ended,
}

/// The faults in each group. Thirteen are not `Ended`, so that there are more than fifty in all.
const FAULTS: [Fault; 15] = [
    Fault::Killed,
    Fault::Stopped,
    Fault::Stalled,
    Fault::Killed,
    Fault::Ended,
    Fault::Stopped,
    Fault::CutOff,
    Fault::Stalled,
    Fault::Killed,
    Fault::Stopped,
    Fault::Ended,
    Fault::CutOff,
    Fault::Killed,
    Fault::Stopped,
    Fault::Stalled,
];

struct Group<'a> {
    deployment: Deployment<'a>,
    leases: Leases,
    changes: Changes,
    replicas: Vec<Replica>,
    faults: Vec<(Fault, String, SystemTime)>,
}

impl<'a> Group<'a> {
    fn start(cluster: &'a Cluster, namespace: &'a str, code: &str) -> Self {
        let arguments = ["--code-cache", code, "--name", namespace];
        let deployment = Deployment::new(cluster, namespace, &[gyre_artifacts::probes::TENANT], &arguments);
        let client = deployment.client();
        let leases = Leases::new(&client, namespace);
        let parents = (0..PARENTS).map(|number| (format!("it-{number}"), "Tenant00".to_owned())).collect();
        let changes = Changes::begin(&client, namespace, parents, PACE);
        let replicas = (0..REPLICAS).map(|_| deployment.replica()).collect();
        Self { deployment, leases, changes, replicas, faults: Vec::new() }
    }

    fn leader(&self) -> Option<usize> {
        let holders = self.leases.holders();
        let user = holders.get(self.deployment.namespace)?;
        self.replicas.iter().position(|replica| replica.user == *user)
    }

    fn round(&mut self, fault: Fault) {
        let cluster = self.deployment.cluster;
        let leader = cluster.eventually("a leader", || self.leader());
        self.changes.await_progress(cluster);
        // A takeover must not include the start of a replica.
        cluster.eventually("a replica that can take over", || {
            let mut others = self.replicas.iter().enumerate().filter(|(number, _)| *number != leader);
            others.any(|(_, replica)| replica.host.http("/readyz").0.contains(" 200 ")).then_some(())
        });
        let replica = &mut self.replicas[leader];
        self.faults.push((fault, replica.user.clone(), SystemTime::now()));
        match fault {
            Fault::Killed => replica.host.process.signal(Signal::Kill).unwrap(),
            Fault::Stopped => replica.host.process.signal(Signal::Stop).unwrap(),
            Fault::Stalled => replica.link.set(Way::STALLED),
            Fault::CutOff => replica.link.set(Way::BROKEN),
            Fault::Ended => {
                replica.host.process.signal(Signal::Terminate).unwrap();
                let status = replica.host.process.wait(PATIENCE).unwrap().expect("it ends");
                assert_eq!(status.code(), Some(0), "{}", replica.host.log());
            }
        }
        cluster.eventually("another leader", || self.leader().filter(|other| *other != leader));
        self.changes.await_progress(cluster);
        let replica = &mut self.replicas[leader];
        match fault {
            Fault::Killed | Fault::Ended => *replica = self.deployment.replica(),
            Fault::Stopped => replica.host.process.signal(Signal::Continue).unwrap(),
            Fault::Stalled | Fault::CutOff => replica.link.set(Way::OPEN),
        }
    }

    fn end(self) -> (Deployment<'a>, Leases, Vec<(Fault, String, SystemTime)>) {
        let changes = self.changes.end(self.deployment.cluster);
        assert!(changes > 100, "only {changes} changes");
        for mut replica in self.replicas {
            replica.host.process.signal(Signal::Terminate).unwrap();
            let status = replica.host.process.wait(PATIENCE).unwrap().expect("it ends");
            assert_eq!(status.code(), Some(0), "{}", replica.host.log());
        }
        assert_eq!(self.leases.holders(), BTreeMap::new());
        (self.deployment, self.leases, self.faults)
    }
}

/// Returns the number of leaders that wrote with intact watches, and checks that these filled no
/// cache between taking the lease and their first write.
fn warm(requests: &[AuditEvent], terms: &[Term], cut_off: &BTreeSet<String>) -> usize {
    let mut warm = 0;
    for term in terms.iter().skip(1).filter(|term| !cut_off.contains(&term.user)) {
        let own = || requests.iter().filter(|event| event.user == term.user);
        let Some(write) = own().find(|event| is_fenced(event) && term.taken.0 <= event.received) else { continue };
        let filled = own().find(|event| fills_a_cache(event) && (term.taken.0..write.received).contains(&event.received));
        assert!(filled.is_none(), "{term:?} fills a cache before it writes: {filled:?}");
        warm += 1;
    }
    warm
}

#[test]
fn one_replica_writes_at_a_time_through_all_faults_of_leaders_and_nothing_is_lost() {
    let Some(cluster) = Cluster::for_test("election", &GROUPS) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let code = Folder::new();
    let run = |namespace: &'static str| {
        let mut group = Group::start(&cluster, namespace, &code.path());
        FAULTS.into_iter().for_each(|fault| group.round(fault));
        group.end()
    };
    let ended = std::thread::scope(|scope| {
        let running = GROUPS.map(|namespace| scope.spawn(move || run(namespace)));
        running.map(|group| group.join().unwrap())
    });
    let (mut gaps, mut rounds) = (Gaps::default(), BTreeMap::<Fault, usize>::new());
    let (mut warm_takeovers, mut led_again, mut stopped_in_sending) = (0, 0, 0);
    for (deployment, _, faults) in &ended {
        let requests = deployment.requests(start);
        let terms = terms(&requests, deployment.namespace);
        let writes: Vec<&AuditEvent> = requests.iter().filter(|event| is_fenced(event)).collect();
        for write in one_writer(&terms, &writes) {
            let was_stopped = faults.iter().any(|(fault, user, _)| *fault == Fault::Stopped && *user == write.user);
            assert!(was_stopped, "{} wrote when another had the lease: {write:?}\n{terms:#?}", write.user);
            println!("stopped as it was sent: {write:?}");
            stopped_in_sending += 1;
        }
        for (fault, user, at) in faults {
            // A leader that lost the lease at that time for another reason does not count.
            let led = |term: &Term| term.taken.1 <= *at && *at <= term.renewed + RETRY && term.user == *user;
            *rounds.entry(*fault).or_default() += usize::from(terms.iter().any(led));
        }
        let is_cut = |fault: &Fault| matches!(fault, Fault::Stalled | Fault::CutOff);
        let cut_off = faults.iter().filter(|(fault, ..)| is_cut(fault)).map(|(_, user, _)| user.clone()).collect();
        warm_takeovers += warm(&requests, &terms, &cut_off);
        let writers: BTreeSet<&str> = terms.iter().map(|term| &*term.user).collect();
        led_again += terms.len() - writers.len();
        gaps.add(&requests, &terms);
    }
    println!("{rounds:?}, {warm_takeovers} leaders wrote out of warm caches, {led_again} lost the lease and led again");
    gaps.check();
    let faults: usize = rounds.iter().filter(|(fault, _)| **fault != Fault::Ended).map(|(_, count)| count).sum();
    assert!(faults >= 50, "{rounds:?}");
    assert!(warm_takeovers >= 10, "{warm_takeovers}");
    assert!(led_again > 0);
    // A process can be stopped between checking its claim and sending a request, within some ten
    // microseconds. A process cannot prevent that, and it is unlikely to happen twice in some ten
    // stops.
    assert!(stopped_in_sending <= 1, "{stopped_in_sending} writes");
}

/// Returns the leader and the standby, both ready.
fn pair(deployment: &Deployment<'_>, leases: &Leases) -> (Replica, Replica) {
    let (one, other) = (deployment.replica(), deployment.replica());
    let leads = |replica: &Replica| leases.holders().get(deployment.namespace) == Some(&replica.user);
    let leader = deployment.cluster.eventually("a leader", || [&one, &other].into_iter().position(leads));
    let (leader, standby) = if leader == 0 { (one, other) } else { (other, one) };
    for (replica, status) in [(&leader, 1.0), (&standby, 0.0)] {
        deployment.cluster.eventually("both to be ready, and to say who leads", || {
            let is_ready = replica.host.http("/readyz").0.contains(" 200 ");
            (is_ready && replica.host.metric("leader_election_master_status", &[]) == status).then_some(())
        });
    }
    (leader, standby)
}

fn parents(namespace: &str, name: &str, text: &str) -> Vec<Value> {
    (0..PARENTS).map(|number| guest("Tenant00", namespace, &format!("{name}-{number}"), json!({ "text": text }))).collect()
}

fn await_children(cluster: &Cluster, namespace: &str, text: &str) {
    cluster.eventually("the children", || {
        let children = cluster.list(namespace, "configmap");
        let with_text = children.iter().filter(|child| child["data"]["text"] == text);
        (with_text.count() == PARENTS).then_some(())
    });
}

fn await_plans(cluster: &Cluster, namespace: &str, replica: &Replica, times: usize) {
    let is_planned = |number| replica.host.plans_about(&format!("{namespace}/it-{number}")) >= times;
    cluster.eventually("the plans", || (0..PARENTS).all(is_planned).then_some(()));
}

/// Checks that there was one writer at a time, and that the second one took over. Returns the
/// writes of the first one.
fn check_handover(deployment: &Deployment<'_>, since: Mark, [leader, other]: [&Replica; 2]) -> Vec<AuditEvent> {
    let requests = deployment.requests(since);
    let terms = terms(&requests, deployment.namespace);
    assert_eq!(
        one_writer(&terms, &requests.iter().filter(|event| is_fenced(event)).collect::<Vec<_>>()),
        [] as [&AuditEvent; 0]
    );
    let users: Vec<&str> = terms.iter().map(|term| &*term.user).collect();
    assert_eq!(users, [&*leader.user, &*other.user]);
    requests.into_iter().filter(|event| is_fenced(event) && event.user == leader.user).collect()
}

fn of_tenants<'a>(cluster: &'a Cluster, namespace: &'a str) -> Deployment<'a> {
    Deployment::new(cluster, namespace, &[gyre_artifacts::probes::TENANT], &["--name", namespace, "--workers", "8"])
}

#[test]
fn a_plan_from_before_a_pause_is_not_written_after_the_lease_was_lost() {
    let namespace = "election-pause";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let deployment = of_tenants(&cluster, namespace);
    let leases = Leases::new(&deployment.client(), namespace);
    let (leader, other) = pair(&deployment, &leases);

    // This opens the connections, because opening needs answers.
    for name in ["warm", "it"] {
        cluster.apply_all(&parents(namespace, name, name));
        await_children(&cluster, namespace, name);
    }
    cluster.settled(&leader.host);
    let created = cluster.audit_mark().unwrap();

    // The leader gets the change, and its plugin returns. Before it first applies a child it reads
    // the field managers; that request stalls.
    leader.link.set(Way { back: Passage::Open, ..Way::STALLED });
    let plans = leader.host.plans_about(&format!("{namespace}/it-0"));
    cluster.apply_all(&parents(namespace, "it", "text"));
    await_plans(&cluster, namespace, &leader, plans + 1);
    leader.host.process.signal(Signal::Stop).unwrap();
    leader.link.set(Way::OPEN);
    let is_answered = |event: &AuditEvent| {
        event.user == leader.user && event.name.starts_with("it-") && event.resource == "configmaps" && event.verb == "get"
    };
    cluster.plane.audit().unwrap().wait_for(created, PATIENCE, is_answered).unwrap();
    cluster.eventually("another leader", || (leases.holders().get(namespace)? == &other.user).then_some(()));
    await_children(&cluster, namespace, "text");

    leader.host.process.signal(Signal::Continue).unwrap();
    cluster.eventually("the leader to see that it is none", || {
        leader.host.log().contains("not sent: this host does not hold the lease, so it may not write").then_some(())
    });
    cluster.apply_all(&parents(namespace, "it", "another text"));
    await_children(&cluster, namespace, "another text");
    check_handover(&deployment, start, [&leader, &other]);
    let requests = deployment.requests(created);
    let written =
        requests.iter().filter(|event| is_fenced(event) && event.user == leader.user && event.name.starts_with("it-"));
    let written: Vec<AuditEvent> = written.cloned().collect();
    assert_eq!(describe_requests(&written), [] as [String; 0]);
    let again = requests.iter().find(|event| is_fenced(event) && event.user == other.user && event.name.starts_with("warm-"));
    assert!(again.is_none(), "a takeover writes what differs, and nothing else: {again:?}");
}

#[test]
fn a_write_in_transit_when_the_lease_is_lost_does_not_arrive_later() {
    let namespace = "election-way";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let deployment = of_tenants(&cluster, namespace);
    let leases = Leases::new(&deployment.client(), namespace);
    let (leader, other) = pair(&deployment, &leases);
    cluster.apply_all(&parents(namespace, "it", "first"));
    await_children(&cluster, namespace, "first");
    cluster.settled(&leader.host);
    let before = count_writes(&deployment, start, &leader);

    // Some writes wait in connections, others for connections.
    leader.link.set(Way { back: Passage::Open, ..Way::STALLED });
    let plans = leader.host.plans_about(&format!("{namespace}/it-0"));
    cluster.apply_all(&parents(namespace, "it", "second"));
    await_plans(&cluster, namespace, &leader, plans + 1);
    cluster.eventually("another leader", || (leases.holders().get(namespace)? == &other.user).then_some(()));
    await_children(&cluster, namespace, "second");
    leader.link.set(Way::OPEN);
    cluster.eventually("the leader to see the other", || {
        leader.host.log().lines().any(|line| line.contains("another replica leads") && line.contains(&other.user)).then_some(())
    });
    cluster.apply_all(&parents(namespace, "it", "third"));
    await_children(&cluster, namespace, "third");
    let written = check_handover(&deployment, start, [&leader, &other]);
    assert_eq!(describe_requests(&written[before..]), [] as [String; 0]);
}

fn describe_requests(events: &[AuditEvent]) -> Vec<String> {
    events.iter().map(|event| format!("{:?} {} {}: {}", event.received, event.verb, event.uri, event.code)).collect()
}

fn count_writes(deployment: &Deployment<'_>, since: Mark, replica: &Replica) -> usize {
    deployment.requests(since).iter().filter(|event| is_fenced(event) && event.user == replica.user).count()
}

#[test]
fn a_terminated_leader_finishes_its_calls_and_releases_the_lease() {
    const DEADLINE: Duration = Duration::from_secs(4);
    let namespace = "election-end";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let _guests = guest_crds();
    cluster.install_crds(&[gyre_artifacts::guests::ENDLESS_LOOP]);
    let Some(start) = cluster.audit_mark() else { return };
    let plugins = [gyre_artifacts::probes::TENANT, gyre_artifacts::guests::ENDLESS_LOOP];
    let deadline = format!("{}ms", DEADLINE.as_millis());
    let deployment = Deployment::new(&cluster, namespace, &plugins, &["--name", namespace, "--call-deadline", &deadline]);
    let client = deployment.client();
    let leases = Leases::new(&client, namespace);
    let load = (0..PARENTS).map(|number| (format!("it-{number}"), "Tenant00".to_owned())).collect();
    let changes = Changes::begin(&client, namespace, load, Duration::from_millis(20));
    let (mut leader, mut other) = pair(&deployment, &leases);
    changes.await_progress(&cluster);
    cluster.apply(&guest("EndlessLoop", namespace, "it", json!({})).to_string());
    let await_call = |replica: &Replica| {
        let active = || replica.host.metric("controller_runtime_active_workers", &["\"endless-loop\""]);
        cluster.eventually("a call", || (active() == 1.0).then_some(()));
    };

    await_call(&leader);
    let signalled = SystemTime::now();
    leader.host.process.signal(Signal::Terminate).unwrap();
    let status = leader.host.process.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(0), "{}", leader.host.log());
    assert!(!leader.host.log().contains("some reconciles did not end in time"), "{}", leader.host.log());
    changes.await_progress(&cluster);

    await_call(&other);
    other.host.process.signal(Signal::Terminate).unwrap();
    cluster.eventually("the host to stop", || {
        other.host.log().contains("stopping: waiting for reconciles in flight").then_some(())
    });
    other.host.process.signal(Signal::Terminate).unwrap();
    let status = other.host.process.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(1), "{}", other.host.log());
    assert_eq!(leases.holders().get(namespace), Some(&other.user), "what it had no time to give back");
    drop(changes);

    let requests = deployment.requests(start);
    let terms = terms(&requests, namespace);
    let [first, second] = &terms[..] else { panic!("{terms:#?}") };
    let released = first.released.expect("the lease was given back");
    let in_flight =
        requests.iter().find(|event| is_fenced(event) && event.resource == "endlessloops" && event.user == leader.user);
    let in_flight = in_flight.expect("the status of the call that was in flight");
    assert!(signalled < in_flight.received && in_flight.timestamp <= released, "{in_flight:?}");
    assert_eq!(second.released, None);
    assert_eq!(
        one_writer(&terms, &requests.iter().filter(|event| is_fenced(event)).collect::<Vec<_>>()),
        [] as [&AuditEvent; 0]
    );
    let mut gaps = Gaps::default();
    gaps.add(&requests, &terms);
    gaps.check();
}

#[test]
fn hosts_of_one_name_never_both_write_although_ha_is_off_for_some_of_them() {
    let Some(cluster) = Cluster::for_test("without-ha", &["without-ha"]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let deployment = of_tenants(&cluster, "without-ha");
    let client = deployment.client();
    let leases = Leases::new(&client, deployment.namespace);
    let parents = (0..PARENTS).map(|number| (format!("it-{number}"), "Tenant00".to_owned())).collect();
    let changes = Changes::begin(&client, deployment.namespace, parents, PACE);
    let mut replicas: Vec<Replica> =
        ["--ha=false", "--ha", "--ha=false"].into_iter().map(|ha| deployment.replica_with(ha)).collect();
    for replica in &replicas {
        cluster.eventually("all to be ready", || replica.host.http("/readyz").0.contains(" 200 ").then_some(()));
    }
    while !replicas.is_empty() {
        let holder = || leases.holders().get(deployment.namespace).cloned();
        let leads = |replica: &Replica| holder().as_ref() == Some(&replica.user);
        let leader = cluster.eventually("a leader", || replicas.iter().position(leads));
        changes.await_progress(&cluster);
        let mut ended = replicas.remove(leader);
        ended.host.process.signal(Signal::Terminate).unwrap();
        ended.host.process.wait(PATIENCE).unwrap().expect("it ends");
    }
    drop(changes);
    let requests = deployment.requests(start);
    let terms = terms(&requests, deployment.namespace);
    let writes: Vec<&AuditEvent> = requests.iter().filter(|event| is_fenced(event)).collect();
    assert_eq!(one_writer(&terms, &writes), [] as [&AuditEvent; 0]);
    assert_eq!(terms.len(), 3, "each of them led: {terms:#?}");
}
