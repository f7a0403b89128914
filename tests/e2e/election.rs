//! Three replicas of which one writes, whatever becomes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use gyre_controlplane::{AuditEvent, Signal};

use crate::harness::{Cluster, Folder};
use crate::network::Way;
use crate::replicas::{Changes, Deployment, Gaps, Leases, RETRY, Replica, Term, fills_a_cache, is_fenced, one_writer, terms};

const GROUPS: [&str; 4] = ["election-a", "election-b", "election-c", "election-d"];
const REPLICAS: usize = 3;
const PARENTS: usize = 6;
const PACE: Duration = Duration::from_millis(200);
/// How long a process that is to end may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What becomes of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// It is killed.
    Killed,
    /// It stands still until another leads.
    Stopped,
    /// It is cut off from the API server until another leads: what it sends stays on the way.
    Stalled,
    /// It is cut off from the API server until another leads: its connections break.
    CutOff,
    /// It is told to end.
    Ended,
}

/// In each group; thirteen of them are faults, so that there are more than fifty in all.
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
    /// When what happened to whom.
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

    /// Which of the replicas leads.
    fn leader(&self) -> Option<usize> {
        let holders = self.leases.holders();
        let user = holders.get(self.deployment.namespace)?;
        self.replicas.iter().position(|replica| replica.user == *user)
    }

    fn round(&mut self, fault: Fault) {
        let cluster = self.deployment.cluster;
        let leader = cluster.eventually("a leader", || self.leader());
        self.changes.go_on(cluster);
        let replica = &mut self.replicas[leader];
        self.faults.push((fault, replica.user.clone(), SystemTime::now()));
        match fault {
            Fault::Killed => replica.host.process.signal(Signal::Kill).unwrap(),
            Fault::Stopped => replica.host.process.signal(Signal::Stop).unwrap(),
            Fault::Stalled => replica.link.set(Way::Stalled),
            Fault::CutOff => replica.link.set(Way::Broken),
            Fault::Ended => {
                replica.host.process.signal(Signal::Terminate).unwrap();
                let status = replica.host.process.wait(PATIENCE).unwrap().expect("it ends");
                assert_eq!(status.code(), Some(0), "{}", replica.host.log());
            }
        }
        cluster.eventually("another leader", || self.leader().filter(|other| *other != leader));
        self.changes.go_on(cluster);
        let replica = &mut self.replicas[leader];
        match fault {
            Fault::Killed | Fault::Ended => *replica = self.deployment.replica(),
            Fault::Stopped => replica.host.process.signal(Signal::Continue).unwrap(),
            Fault::Stalled | Fault::CutOff => replica.link.set(Way::Open),
        }
    }

    /// All end, one after the other; nobody has the lease after that.
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

/// The terms of leaders whose caches were warm for certain, and of which none was filled between taking the lease and the first write.
fn warm(requests: &[AuditEvent], terms: &[Term], cut_off: &BTreeSet<String>) -> usize {
    let mut warm = 0;
    for term in terms.iter().skip(1).filter(|term| !cut_off.contains(&term.user)) {
        let own = || requests.iter().filter(|event| event.user == term.user);
        let Some(began) = own().next().map(|event| event.received) else { continue };
        // One that has only just started fills its caches as a leader.
        if term.taken.0 < began + 3 * RETRY {
            continue;
        }
        let Some(write) = own().find(|event| is_fenced(event) && term.taken.0 <= event.received) else { continue };
        let filled = own().find(|event| fills_a_cache(event) && (term.taken.0..write.received).contains(&event.received));
        assert!(filled.is_none(), "{term:?} fills a cache before it writes: {filled:?}");
        warm += 1;
    }
    warm
}

#[test]
fn one_writes_at_a_time_whatever_becomes_of_leaders_and_nothing_is_lost() {
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
    let (mut gaps, mut rounds, mut warm_takeovers) = (Gaps::default(), BTreeMap::<Fault, usize>::new(), 0);
    for (deployment, _, faults) in &ended {
        let requests = deployment.requests(start);
        let terms = terms(&requests, deployment.namespace);
        let writes: Vec<&AuditEvent> = requests.iter().filter(|event| is_fenced(event)).collect();
        one_writer(&terms, &writes);
        for (fault, user, at) in faults {
            // One that lost the lease for another reason just then is no round.
            let led = |term: &Term| term.taken.1 <= *at && *at <= term.renewed + RETRY && term.user == *user;
            *rounds.entry(*fault).or_default() += usize::from(terms.iter().any(led));
        }
        let is_cut = |fault: &Fault| matches!(fault, Fault::Stalled | Fault::CutOff);
        let cut_off = faults.iter().filter(|(fault, ..)| is_cut(fault)).map(|(_, user, _)| user.clone()).collect();
        warm_takeovers += warm(&requests, &terms, &cut_off);
        gaps.add(&terms);
    }
    println!("{rounds:?}, {warm_takeovers} leaders wrote out of warm caches");
    gaps.check();
    let faults: usize = rounds.iter().filter(|(fault, _)| **fault != Fault::Ended).map(|(_, count)| count).sum();
    assert!(faults >= 50, "{rounds:?}");
    assert!(warm_takeovers >= 10, "{warm_takeovers}");
}
