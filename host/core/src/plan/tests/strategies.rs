//! Strategies of single children, where they differ from that of their kind.

use proptest::collection::vec;
use proptest::prelude::*;

use super::laws::{strategies, worlds};
use super::*;
use crate::manifest::Strategy::{Apply, CreateOnly, Recreate};

/// Sets the strategies of all children that should exist, in turn.
fn set_strategies(world: &mut World, strategies: &[Option<manifest::Strategy>]) {
    let applied = world.desired.iter_mut().flatten().filter_map(|child| match child {
        Child::Apply(child) => Some(child),
        Child::Keep(_) => None,
    });
    for (child, strategy) in applied.zip(strategies.iter().cycle()) {
        child.strategy = *strategy;
    }
}

/// The plan for a ConfigMap of another text than the one that is wanted with this strategy.
fn plan_for(
    kind: manifest::Strategy,
    strongest: Option<manifest::Strategy>,
    child: Option<manifest::Strategy>,
) -> Result<&'static str, RefusalReason> {
    let existing = created(&world(), config_map("a", "old"));
    let child_kind = ChildKind { strongest_strategy: strongest, ..ChildKind::new(gvk("v1/ConfigMap"), kind) };
    let mut world = world().wants([config_map("a", "new")]).sees([existing]);
    world.grants = world.grants.for_manifest(&Manifest { children: vec![child_kind], ..manifest() });
    set_strategies(&mut world, &[child]);
    let plan = world.plan();
    assert!(plan.steps.iter().all(|step| !matches!(step, Step::Delete { .. })), "a refused child stays: {plan:?}");
    match (plan.steps.as_slice(), plan.refusals.as_slice()) {
        ([], []) => Ok("nothing"),
        ([step], []) => Ok(step.verb()),
        ([], [refusal]) => Err(refusal.reason),
        _ => panic!("{plan:?}"),
    }
}

#[test]
fn a_child_has_the_strategy_that_it_names_if_the_manifest_declares_one_as_strong() {
    assert_eq!(plan_for(Apply, None, None), Ok("apply"));
    assert_eq!(plan_for(Apply, None, Some(Apply)), Ok("apply"));
    assert_eq!(plan_for(Apply, None, Some(CreateOnly)), Ok("nothing"));
    assert_eq!(plan_for(Apply, None, Some(Recreate)), Err(RefusalReason::UndeclaredStrategy));
    assert_eq!(plan_for(Apply, Some(Recreate), None), Ok("apply"));
    assert_eq!(plan_for(Apply, Some(Recreate), Some(Recreate)), Ok("replace"));
    assert_eq!(plan_for(Recreate, None, Some(Apply)), Ok("apply"));
    assert_eq!(plan_for(CreateOnly, None, Some(Apply)), Err(RefusalReason::UndeclaredStrategy));
    assert_eq!(plan_for(CreateOnly, Some(Apply), Some(Apply)), Ok("apply"));
    assert_eq!(plan_for(CreateOnly, Some(Apply), Some(Recreate)), Err(RefusalReason::UndeclaredStrategy));
}

#[test]
fn the_refusal_names_both_strategies_and_the_remedy() {
    let mut world = world().wants([job("a", "v1"), config_map("b", "x")]);
    world.grants = world.grants.for_manifest(&Manifest {
        children: vec![ChildKind::new(gvk("v1/ConfigMap"), Apply), ChildKind::new(gvk("batch/v1/Job"), CreateOnly)],
        ..manifest()
    });
    set_strategies(&mut world, &[Some(Apply), Some(Recreate)]);
    let messages: Vec<String> = world.plan().refusals.into_iter().map(|refusal| refusal.message).collect();
    assert_eq!(
        messages,
        [
            "Job.v1.batch default/a names the strategy apply, and the manifest declares no stronger one than create-only for its kind: declare it there, or name a weaker one",
            "ConfigMap.v1 default/b names the strategy recreate, and the manifest declares no stronger one than apply for its kind: declare it there, or name a weaker one",
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Replacement is under neither the deletion guard nor the annotation against pruning.
    #[test]
    fn nothing_is_replaced_unless_the_manifest_declares_it(world in worlds()) {
        for step in world.plan().steps {
            if matches!(step, Step::Replace { .. }) {
                let kind = world.grants.child(&step.child().kind).expect("its kind is granted");
                prop_assert!([Some(kind.strategy), kind.strongest_strategy].contains(&Some(Recreate)), "{step:?}");
            }
        }
    }

    /// The strategy says how to reach a state, not which.
    #[test]
    fn a_plugin_that_names_another_strategy_in_each_call_settles(
        mut world in worlds(),
        rounds in vec(vec(strategies(), 8), 6),
    ) {
        // A child that differs is replaced at most once, whatever comes before and after.
        for strategies in &rounds {
            set_strategies(&mut world, strategies);
            world.converge();
        }
        let most = world.counts.values().map(|count| count.deleted).max();
        prop_assert!(most.unwrap_or(0) <= 1, "{:?}", world.counts);
        // Once each strategy has had its turn, no other strategy finds anything to do.
        for strategy in [CreateOnly, Apply, Recreate] {
            set_strategies(&mut world, &[Some(strategy)]);
            world.converge();
        }
        let settled = world.observed.clone();
        for strategies in &rounds {
            set_strategies(&mut world, strategies);
            let plan = world.plan();
            prop_assert!(world.writes(&plan).is_empty(), "{plan:?}");
            world.execute(&plan);
        }
        let objects = |observed: &[Live]| observed.iter().map(|live| live.json.clone()).collect::<Vec<_>>();
        prop_assert_eq!(objects(&settled), objects(&world.observed));
    }
}
