//! Laws of convergence: after any faults, the cluster ends as if there had been none.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Strategy;

use super::laws::{children, is_handed_over, is_owned, lingering_worlds, worlds};
use super::model::{Fate, parsed};
use super::*;

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    vec(select(vec![Fate::Done, Fate::AnswerLost, Fate::NotSent, Fate::Half]), 16)
}

fn desired() -> impl Strategy<Value = Option<Vec<Child>>> {
    proptest::option::weighted(0.9, vec(children(), 0..8))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn after_faults_stop_the_cluster_is_as_if_there_had_been_none(
        world in lingering_worlds(),
        rounds in vec((fates(), any::<bool>(), any::<bool>()), 1..4),
    ) {
        let (mut faultless, mut faulty) = (world.clone(), world);
        for (fates, forgets, deletions_finish) in rounds {
            let plan = faulty.plan();
            faulty.execute_with(&plan, |step| fates.get(step).copied().unwrap_or(Fate::Done));
            if forgets {
                faulty.forget();
            }
            if deletions_finish {
                faulty.finish_deletions();
            }
        }
        prop_assert_eq!(faulty.converge(), faultless.converge());
        prop_assert_eq!(&faulty.counts, &faultless.counts, "objects were created or deleted more often than without faults");
        let rest = faulty.plan();
        prop_assert!(faulty.writes(&rest).is_empty());
    }

    #[test]
    fn a_crash_after_any_write_does_no_harm(world in lingering_worlds(), lost in any::<bool>()) {
        let mut faultless = world.clone();
        let state = faultless.converge();
        let first = world.plan();
        for crash in 0..first.steps.len() {
            let mut world = world.clone();
            let last = if lost { Fate::AnswerLost } else { Fate::Done };
            world.execute_with(&first, |step| match step.cmp(&crash) {
                std::cmp::Ordering::Less => Fate::Done,
                std::cmp::Ordering::Equal => last,
                std::cmp::Ordering::Greater => Fate::NotSent,
            });
            world.forget();
            prop_assert_eq!(world.converge(), state.clone());
            prop_assert_eq!(&world.counts, &faultless.counts);
        }
    }

    #[test]
    fn a_plan_from_a_stale_cache_does_no_harm(world in worlds(), later in desired(), last in desired()) {
        let mut cluster = world.clone();
        cluster.desired = later;
        cluster.converge();
        // The cache is as at first. So is the parent, but for its list, which is written over the
        // present one.
        let mut stale = World { desired: last, ..world };
        stale.parent = cluster.parent.clone();
        let late = stale.plan();
        cluster.desired.clone_from(&stale.desired);
        let before = cluster.clone();
        cluster.execute(&late);
        for uid in cluster.changed_since(&before) {
            let live = before.observed.iter().find(|live| live.uid == uid).expect("what changed was there");
            let object = parsed(live);
            prop_assert!(is_owned(&before, &object) || is_handed_over(&before, &cluster, &object), "{:?} was changed", live);
        }
        cluster.converge();
        prop_assert!(cluster.writes(&cluster.plan()).is_empty());
    }

    #[test]
    fn two_plugins_on_one_parent_leave_each_other_alone(world in worlds(), others in desired(), first in any::<bool>()) {
        let mut one = world.clone();
        let mut other = World { plugin: "another", desired: others, ..world };
        // The first plugin adopts what nobody owns; that is not the subject here.
        one.grants = one.grants.with_adoption(Adoption::Refused);
        other.grants = other.grants.with_adoption(Adoption::Refused);
        if first {
            std::mem::swap(&mut one, &mut other);
        }
        for _ in 0..4 {
            let before = one.clone();
            one.converge();
            for uid in one.changed_since(&before) {
                let live = before.observed.iter().find(|live| live.uid == uid).expect("what changed was there");
                prop_assert!(!is_theirs_alone(&one, &other, &parsed(live)), "{:?} was changed by {}", live, one.plugin);
            }
            (other.observed, other.created) = (one.observed.clone(), one.created);
            std::mem::swap(&mut one, &mut other);
        }
        // Each has what it wants or a reason why not, and neither has anything left to do.
        for world in [&one, &other] {
            prop_assert!(world.writes(&world.plan()).is_empty());
        }
    }

    #[test]
    fn a_kind_that_is_no_longer_declared_is_still_pruned(world in worlds(), desired in vec(children(), 0..8)) {
        let mut world = World { desired: Some(desired), ..world };
        world.execute(&world.plan());
        let upgraded = Manifest { children: Vec::new(), ..manifest() };
        world.grants = Grants::new(&upgraded, Namespaces::All);
        world.desired = Some(Vec::new());
        world.converge();
        // Volumes have outlived their parent: nothing shows any longer that they are children.
        let left = world.observed.iter().find(|live| live.kind.kind != "Volume" && is_owned(&world, &parsed(live)));
        prop_assert!(left.is_none(), "{:?}", left);
    }
}

fn is_theirs_alone(ours: &World, theirs: &World, object: &Value) -> bool {
    is_owned(theirs, object) && !is_owned(ours, object)
}
