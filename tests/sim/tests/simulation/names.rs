//! A person takes the name of a child right before any request of the host.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_sim::kinds::{self, Kind, Name};
use gyre_sim::script::{Batch, Rest};
use gyre_sim::{Action, Plugins, World, simulate, touched};
use serde_json::{Value, json};

use crate::faults::QUIET;
use crate::seeds::{Tried, try_each};
use crate::storms::settle;

/// Longer than the interval of 5 minutes at which the host checks a taken name.
const LONGER_THAN_A_RECHECK: Duration = Duration::from_secs(400);

fn child(kind: Kind) -> Name {
    Name::new(kind, "default", "strat-0")
}

fn story() -> Vec<Batch> {
    let put =
        |text: &str, image: &str| Action::Put(child(kinds::STRATEGIES), json!({ "spec": { "text": text, "image": image } }));
    let deleted = [kinds::CONFIG_MAP, kinds::JOB, kinds::SECRET].map(|kind| Action::DeleteChild(child(kind)));
    let batch = |actions| Batch { actions, rest: Rest::Short };
    vec![
        batch(vec![put("one", "busybox:1.0")]),
        batch(vec![put("two", "busybox:1.1")]),
        batch(vec![put("three", "busybox:1.1")]),
        batch(deleted.to_vec()),
    ]
}

/// Returns the number of requests, whether the person got the name, and the violations.
fn run(plugins: &Plugins, taken: Option<(usize, Kind, Value)>) -> (usize, bool, Vec<String>) {
    simulate(async {
        let world = World::set_up(plugins, 0, Plan::default()).await;
        let (told, tells) = std::sync::mpsc::channel();
        let kind = taken.as_ref().map(|(_, kind, _)| *kind);
        if let Some((moment, kind, content)) = taken {
            let people = world.people.clone();
            world.record.before(moment, move || told.send(people.take_name(&child(kind), &content)).expect("a listener"));
        }
        drop(world.host(plugins));
        let mut wrongs = Vec::new();
        for batch in story() {
            // People do not delete their own object.
            let is_theirs = |action: &Action| kind.is_some_and(|kind| *action == Action::DeleteChild(child(kind)));
            for action in batch.actions.iter().filter(|action| !is_theirs(action)) {
                world.people.act(action).await;
            }
            if !world.rest(QUIET).await {
                wrongs.push(format!("no rest after {batch:?}"));
            }
        }
        let requests = world.record.inspect(|sent| sent.iter().filter(|sent| !sent.is_watch()).count());
        tokio::time::sleep(LONGER_THAN_A_RECHECK).await;
        let has_got_it = tells.try_recv().unwrap_or(false);
        wrongs.extend(settle(&world, None).await.wrongs);
        let foreign: Vec<Name> = kind.filter(|_| has_got_it).map(child).into_iter().collect();
        wrongs.extend(touched(&world.people, &foreign).await);
        (requests, has_got_it, wrongs)
    })
}

#[test]
fn an_object_that_a_person_creates_at_any_moment_is_never_written_to() {
    let plugins = Plugins::one(gyre_artifacts::probes::STRATEGIES);
    let containers = json!([{ "name": "mine", "image": "mine" }]);
    let job = json!({ "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": containers } } } });
    let contents = [(kinds::CONFIG_MAP, json!({})), (kinds::SECRET, json!({})), (kinds::JOB, job)];
    let (requests, _, wrongs) = run(&plugins, None);
    assert_eq!(wrongs, Vec::<String>::new(), "without anybody who takes a name");
    for (kind, content) in contents {
        try_each(&format!("the name of a {} taken before each request", kind.kind), 1..=requests as u64, |moment| {
            let moment = usize::try_from(moment).expect("a number");
            let (_, has_got_it, wrongs) = run(&plugins, Some((moment, kind, content.clone())));
            Tried { wrongs, counts: vec![("names taken", u64::from(has_got_it))] }
        });
    }
}
