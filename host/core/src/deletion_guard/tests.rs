use proptest::prelude::*;

use super::*;

const PARENTS: usize = 40;

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "Namespace")
}

/// A mount whose parents have children, and the guard of its host.
#[derive(Default)]
struct World {
    guard: DeletionGuard<usize>,
    limits: Limits,
    now: Duration,
    /// The children of each parent, and how many of them its plugin wants.
    parents: Vec<(u64, u64)>,
    released: Vec<usize>,
    /// The times of deletions that were not released.
    deleted: Vec<Duration>,
}

impl World {
    fn new(limits: Limits, parents: impl IntoIterator<Item = u64>) -> Self {
        let parents = parents.into_iter().map(|children| (children, children)).collect();
        Self { limits, parents, ..Self::default() }
    }

    fn time(&self) -> Time {
        Time::from_duration(self.now)
    }

    fn restart(&mut self) {
        self.guard = DeletionGuard::default();
        self.guard.begin(self.time());
    }

    fn children(&self) -> u64 {
        self.parents.iter().map(|(children, _)| children).sum()
    }

    /// Reconciles a parent, and deletes at most `most` of its children, as if others failed.
    fn reconcile(&mut self, parent: usize, has_backlog: bool, most: u64) -> Option<Decision> {
        let (children, wanted) = self.parents[parent];
        let unwanted = children.saturating_sub(wanted);
        let asked: BTreeMap<_, _> = (unwanted > 0).then(|| (kind(), unwanted)).into_iter().collect();
        let release = if self.released.contains(&parent) { Release::Yes } else { Release::No };
        let circumstances = Circumstances { limits: self.limits, release, has_backlog, now: self.time() };
        let all = self.children() as usize;
        let decision = self.guard.decide(&parent, &asked, &circumstances, |_| all).remove(&kind())?;
        if decision == Decision::Delete {
            for _ in 0..unwanted.min(most) {
                self.guard.record_deletion(&parent, &kind(), Time::from_duration(self.now));
                self.parents[parent].0 -= 1;
                if release == Release::No {
                    self.deleted.push(self.now);
                }
            }
        }
        Some(decision)
    }

    fn pass(&mut self) -> Vec<Option<Decision>> {
        (0..self.parents.len()).map(|parent| self.reconcile(parent, false, u64::MAX)).collect()
    }

    fn held(&self) -> u64 {
        self.guard.held().map(|(_, held)| held.children).sum()
    }
}

#[derive(Clone, Debug)]
enum Event {
    Passes(u64),
    Reconciled { parent: usize, has_backlog: bool, most: u64 },
    Wants { parent: usize, children: u64 },
    AllWantNothing,
    Gone(usize),
    Released(usize),
    NewProgram,
    LeadsAgain,
}

fn events() -> impl Strategy<Value = Event> {
    let parent = 0..PARENTS;
    prop_oneof![
        4 => (0_u64..120_000).prop_map(Event::Passes),
        20 => (parent.clone(), any::<bool>(), 0_u64..4)
            .prop_map(|(parent, has_backlog, most)| Event::Reconciled { parent, has_backlog, most }),
        6 => (parent.clone(), 0_u64..4).prop_map(|(parent, children)| Event::Wants { parent, children }),
        1 => Just(Event::AllWantNothing),
        1 => parent.clone().prop_map(Event::Gone),
        1 => parent.prop_map(Event::Released),
        1 => Just(Event::NewProgram),
        1 => Just(Event::LeadsAgain),
    ]
}

proptest! {
    #[test]
    fn no_window_has_more_deletions_than_the_limit(
        children in prop::collection::vec(0_u64..4, PARENTS),
        (few, percent) in (0_u32..20, 0_u32..100),
        events in prop::collection::vec(events(), 1..400),
    ) {
        let limits = Limits { children: few, percent };
        let mut world = World::new(limits, children);
        let most = limits.most(world.children());
        for event in events {
            match event {
                Event::Passes(milliseconds) => world.now += Duration::from_millis(milliseconds),
                Event::Reconciled { parent, has_backlog, most } => drop(world.reconcile(parent, has_backlog, most)),
                Event::Wants { parent, children } => world.parents[parent].1 = children,
                Event::AllWantNothing => world.parents.iter_mut().for_each(|(_, wanted)| *wanted = 0),
                Event::Gone(parent) => {
                    world.guard.forget(&parent);
                    world.parents[parent] = (0, 0);
                }
                Event::Released(parent) => world.released.push(parent),
                Event::NewProgram => world.guard.begin(world.time()),
                Event::LeadsAgain => world.guard.resume(world.time()),
            }
            let recent = world.deleted.iter().filter(|at| world.now - **at < WINDOW).count();
            prop_assert!(recent as u64 <= most, "{recent} deletions, although {most} are allowed");
            for deletions in world.guard.kinds.values() {
                let wanted: u64 = deletions.wanted.values().map(|wanted| wanted.count).sum();
                prop_assert_eq!(wanted, deletions.total_wanted);
                prop_assert!(deletions.deleted.len() as u128 <= (WINDOW + SLOT).as_secs() as u128 / SLOT.as_secs() as u128 + 1);
            }
        }
    }

    #[test]
    fn a_version_that_wants_nothing_deletes_nothing_however_often_the_host_starts(
        children in prop::collection::vec(1_u64..4, 30..PARENTS),
        restarts in prop::collection::vec(0_u64..400_000, 1..20),
    ) {
        let mut world = World::new(Limits::default(), children);
        let before = world.children();
        world.parents.iter_mut().for_each(|(_, wanted)| *wanted = 0);
        for milliseconds in restarts {
            world.restart();
            world.pass();
            world.now += Duration::from_millis(milliseconds);
            world.pass();
            prop_assert_eq!(world.children(), before);
            prop_assert_eq!(world.held(), before);
        }
        // The release of a parent lets its deletions through, and no others.
        world.released.push(0);
        let released = world.parents[0].0;
        prop_assert_eq!(world.pass()[0], Some(Decision::Delete));
        prop_assert_eq!((world.children(), world.held()), (before - released, before - released));
    }

    #[test]
    fn what_is_held_stays_held_while_the_calls_of_other_parents_fail(
        children in prop::collection::vec(1_u64..4, 30..PARENTS),
        passes in prop::collection::vec((0_u64..400_000, prop::collection::vec(any::<bool>(), PARENTS)), 1..20),
    ) {
        let mut world = World::new(Limits::default(), children);
        let before = world.children();
        world.restart();
        world.parents.iter_mut().for_each(|(_, wanted)| *wanted = 0);
        world.pass();
        world.now += FIRST_PASS;
        world.pass();
        prop_assert_eq!(world.held(), before);
        for (milliseconds, fails) in passes {
            world.now += Duration::from_millis(milliseconds);
            // A call that fails gives no plan, so the guard is not asked.
            for parent in (0..world.parents.len()).filter(|parent| !fails[*parent]) {
                prop_assert_eq!(world.reconcile(parent, false, u64::MAX), Some(Decision::Hold));
            }
            prop_assert_eq!((world.children(), world.held()), (before, before));
        }
    }

    #[test]
    fn few_children_are_deleted_at_once(children in prop::collection::vec(0_u64..4, 0..9), has_backlog: bool) {
        let mut world = World::new(Limits::default(), children);
        world.restart();
        world.parents.iter_mut().for_each(|(_, wanted)| *wanted = 0);
        for parent in 0..world.parents.len() {
            world.reconcile(parent, has_backlog, u64::MAX);
        }
        prop_assert_eq!((world.children(), world.held()), (0, 0));
    }
}

#[test]
fn the_first_pass_ends_when_all_parents_were_reconciled() {
    let mut world = World::new(Limits::default(), [100]);
    world.parents[0].1 = 95;
    let mut decide = |seconds: u64, has_backlog: bool| {
        world.now = Duration::from_secs(seconds);
        world.reconcile(0, has_backlog, 0)
    };
    assert_eq!(decide(1, false), Some(Decision::Wait(Duration::from_secs(9))));
    assert_eq!(decide(10, true), Some(Decision::Wait(FIRST_PASS)));
    assert_eq!(decide(20, false), Some(Decision::Delete));
    assert_eq!(decide(21, true), Some(Decision::Delete), "a later backlog is no pass");
    world.guard.begin(Time::from_duration(Duration::from_secs(30)));
    world.now = Duration::from_secs(700);
    assert_eq!(world.reconcile(0, true, 0), Some(Decision::Delete), "there may always be a backlog");
}

#[test]
fn a_host_that_leads_again_holds_what_it_held_although_only_few_parents_are_reconciled() {
    let held = || {
        let mut world = World::new(Limits::default(), [1; PARENTS]);
        world.now = FIRST_PASS;
        world.parents.iter_mut().for_each(|(_, wanted)| *wanted = 0);
        for parent in 0..PARENTS {
            world.reconcile(parent, true, 0);
        }
        assert_eq!(world.held(), PARENTS as u64 - 25, "the first 25 wait");
        world
    };
    let mut world = held();
    world.guard.resume(world.time());
    world.now += FIRST_PASS;
    assert_eq!(world.reconcile(0, false, u64::MAX), Some(Decision::Hold));
    assert_eq!(world.children(), PARENTS as u64);

    let mut world = held();
    world.guard.begin(world.time());
    assert_eq!(world.held(), 0, "another program may want them all");
}

#[test]
fn what_is_held_is_deleted_once_the_others_are_wanted_again_or_are_not_known_to_be_unwanted() {
    let mut world = World::new(Limits::default(), [20, 20]);
    world.now = FIRST_PASS;
    world.parents.iter_mut().for_each(|(_, wanted)| *wanted = 0);
    assert_eq!(world.pass(), [Some(Decision::Delete), Some(Decision::Hold)], "nobody knew of the second parent");
    world.now += WINDOW + SLOT;
    assert_eq!(world.pass(), [None, Some(Decision::Delete)], "the window has passed");

    let mut world = World::new(Limits::default(), [20, 20]);
    world.parents.iter_mut().for_each(|(_, wanted)| *wanted = 0);
    world.pass();
    world.now = WINDOW * 100;
    assert_eq!(world.pass(), [Some(Decision::Hold); 2], "time alone releases nothing");
    world.parents[0].1 = 20;
    assert_eq!(world.pass(), [None, Some(Decision::Delete)]);
}

#[test]
fn a_release_is_for_one_version_and_recent() {
    let days = ["2026-11-24".to_owned(), "2026-11-25".to_owned()];
    let check = |annotation: Option<&str>, expected| {
        assert_eq!(is_released(annotation, "4f1c09ab12cd", &days), expected, "{annotation:?}");
    };
    check(Some("4f1c09ab12cd/2026-11-25"), Release::Yes);
    check(Some("4f1c09ab12cd/2026-11-24"), Release::Yes);
    check(None, Release::No);
    for other in ["", "true", "4f1c09ab12cd", "4f1c09ab12cd/2026-11-23", "0000/2026-11-25"] {
        check(Some(other), Release::No);
    }
}
