//! Single cases of a replica and its mounts.

use super::super::{Record, Term};
use super::*;

fn at(seconds: u64) -> Time {
    Time::from_duration(Duration::from_secs(seconds))
}

fn mounts(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// An API server that answers at once, and a replica "me" that can lead the mounts "a" and "b".
struct ElectorTest {
    elector: MountElector,
    leases: BTreeMap<String, ListedLease>,
    version: u32,
    drained: Vec<String>,
    deleted: Vec<String>,
    has_left: bool,
}

impl ElectorTest {
    fn new() -> Self {
        let elector = MountElector::new(names(), "me".to_owned(), Timing::default(), mounts(&["a", "b"]), 1).unwrap();
        Self { elector, leases: BTreeMap::new(), version: 0, drained: Vec::new(), deleted: Vec::new(), has_left: false }
    }

    fn write(&mut self, name: &str, record: Record, leadable: BTreeSet<String>) -> Lease {
        self.version += 1;
        let lease = Lease { resource_version: self.version.to_string(), record };
        let found = ListedLease { name: name.to_owned(), lease: lease.clone(), leadable };
        self.leases.insert(name.to_owned(), found);
        lease
    }

    fn another(&mut self, name: &str, holder: &str, leadable: &[&str]) {
        let record = Record { holder: holder.to_owned(), duration_seconds: 15, transitions: 0 };
        self.write(name, record, mounts(leadable));
    }

    fn step(&mut self, input: Input, now: Time) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for action in self.elector.step(input, now) {
                match action {
                    Action::List => inputs.push(Input::Listed(Some(self.leases.values().cloned().collect()))),
                    Action::Send { name, request, leadable } => {
                        let (Request::Create(record) | Request::Replace { record, .. }) = request else { unreachable!() };
                        let lease = self.write(&name, record, leadable.unwrap_or_default());
                        inputs.push(Input::Answered(name, RequestResult::Lease(lease)));
                    }
                    Action::Delete { name, .. } => {
                        self.leases.remove(&name);
                        self.deleted.push(name);
                    }
                    Action::Drain(mount) => self.drained.push(mount),
                    Action::Left => self.has_left = true,
                }
            }
        }
    }

    fn pass(&mut self, from: u64, to: u64, mut each: impl FnMut(&mut Self)) {
        for second in from..=to {
            each(self);
            self.step(Input::Tick, at(second));
        }
    }

    fn leads(&self) -> Vec<&str> {
        self.elector.claims().map(|(mount, _)| mount).collect()
    }

    /// The mount that is assigned to the other replica, "peer". Each replica has one.
    fn of_peer(&self) -> String {
        let of = self.elector.assigned().iter().find(|(_, replica)| *replica == "peer");
        of.unwrap().0.clone()
    }
}

fn names() -> Names {
    Names::new("gyre")
}

fn with_peer(test: &mut ElectorTest) {
    test.another(&names().replica("peer"), "peer", &["a", "b"]);
}

#[test]
fn a_single_replica_leads_all_mounts() {
    let mut test = ElectorTest::new();
    test.step(Input::Tick, at(0));
    assert_eq!(test.leads(), ["a", "b"]);
    assert_eq!(test.leases[&names().replica("me")].leadable, mounts(&["a", "b"]));
}

#[test]
fn a_mount_of_another_replica_is_released_after_that_replica_has_existed_for_a_lease_duration() {
    let mut test = ElectorTest::new();
    test.step(Input::Tick, at(0));
    test.pass(1, 14, with_peer);
    assert!(test.drained.is_empty() && test.leads().len() == 2, "it might go again at once");
    test.pass(15, 18, with_peer);
    assert_eq!(test.drained, [test.of_peer()]);
    assert_eq!(test.leads().len(), 2, "until nobody writes any more");
    let given = test.of_peer();
    test.step(Input::Drained(given.clone()), at(19));
    assert_eq!(test.leads().len(), 1);
    let record = &test.leases[&names().mount(&given)].lease.record;
    assert_eq!((record.holder.as_str(), record.duration_seconds), ("", 1));
    test.pass(20, 30, with_peer);
    assert_eq!((test.leads().len(), test.drained.len()), (1, 1), "it waits for the other to take it");
}

#[test]
fn a_mount_that_its_replica_does_not_take_is_taken_after_a_lease_duration_and_kept_for_a_while() {
    let mut test = ElectorTest::new();
    with_peer(&mut test);
    test.pass(0, 14, with_peer);
    assert_eq!(test.leads().len(), 1);
    test.pass(15, 100, with_peer);
    assert_eq!((test.leads().len(), test.drained.len()), (2, 0));
    test.pass(101, 175, with_peer);
    assert_eq!(test.drained, [test.of_peer()]);
}

#[test]
fn the_mounts_of_a_dead_replica_are_taken_when_both_of_its_leases_have_expired() {
    let mut test = ElectorTest::new();
    with_peer(&mut test);
    for mount in ["a", "b"] {
        test.another(&names().mount(mount), "peer", &[]);
    }
    test.pass(0, 14, |_| ());
    assert_eq!(test.leads(), [""; 0]);
    test.pass(15, 15, |_| ());
    assert_eq!(test.leads(), ["a", "b"]);
    test.pass(16, 59, |_| ());
    assert!(test.deleted.is_empty());
    test.pass(60, 64, |_| ());
    assert_eq!(test.deleted, [names().replica("peer")], "it is long gone");
}

#[test]
fn a_mount_that_is_not_led_any_more_is_drained_and_given_back() {
    let mut test = ElectorTest::new();
    test.step(Input::Tick, at(0));
    test.step(Input::Mounts(mounts(&["a"])), at(1));
    assert_eq!(test.drained, ["b"]);
    test.step(Input::Drained("b".to_owned()), at(2));
    assert_eq!(test.leads(), ["a"]);
    assert_eq!(test.leases[&names().mount("b")].lease.record.holder, "");
    test.pass(3, 5, |_| ());
    assert_eq!(test.leases[&names().replica("me")].leadable, mounts(&["a"]));
    test.step(Input::Mounts(mounts(&["a", "b"])), at(6));
    test.pass(7, 9, |_| ());
    assert_eq!(test.leads(), ["a", "b"]);
}

#[test]
fn a_replica_that_stops_announces_it_before_it_releases_its_leases_and_deletes_its_presence() {
    let mut test = ElectorTest::new();
    test.step(Input::Tick, at(0));
    let actions = test.elector.step(Input::Leave, at(1));
    let [Action::Send { name, request: Request::Replace { record, term: Term::Begins, .. }, .. }] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    assert_eq!((name, record.holder.as_str()), (&names().replica("me"), ""));
    assert_eq!(test.leads().len(), 2);
    let lease = test.write(name, record.clone(), mounts(&[]));
    test.step(Input::Answered(name.clone(), RequestResult::Lease(lease)), at(1));
    assert!(test.has_left && test.leads().is_empty());
    assert_eq!(test.deleted, [names().replica("me")]);
    assert!(test.leases.values().all(|found| found.lease.record.holder.is_empty()));
    assert_eq!(test.elector.wakeup(at(2)), None);
}

#[test]
fn names_of_leases_are_valid_and_unique() {
    let odd = ["gyre-7d9f_01ab", "Host.Example_1", "___", "ü", &"x".repeat(300)];
    let all: BTreeSet<String> = odd.iter().map(|identity| names().replica(identity)).collect();
    assert_eq!(all.len(), odd.len());
    assert!(all.iter().all(|name| crate::names::is_dns_subdomain(name)), "{all:?}");
    assert_eq!(names().mount("echo"), "gyre.echo");
    assert!(names().replica("gyre-7d9f_01ab").starts_with("gyre.replica.gyre-7d9f-01ab-"));
    assert_eq!(names().label(), "gyre");
    assert_eq!(Names::new(&"x".repeat(64)).label().len(), 63);
}
