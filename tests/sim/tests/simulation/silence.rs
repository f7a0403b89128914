//! An idle host sends nothing.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_sim::kinds::{ECHO, Name};
use gyre_sim::{Plugins, Sent, World, simulate};
use serde_json::json;

const ECHOS: usize = 1000;
/// Longer than any period of the host: renewed watches, rechecks, back-off (1000 s).
const SILENCE: Duration = Duration::from_secs(3600);

#[test]
fn a_host_of_a_thousand_echos_sends_nothing_for_an_hour() {
    let plugins = Plugins::one(gyre_artifacts::ECHO);
    simulate(async {
        let world = World::new(&plugins, 0, Plan::default()).await;
        for number in 0..ECHOS {
            let spec = json!({ "spec": { "message": format!("number {number}") } });
            world.people.create_in(&Name::new(ECHO, "default", &format!("echo-{number}")), &spec).await;
        }
        let host = world.host(&plugins);
        assert!(world.rest(Duration::from_secs(60)).await);
        let mark = world.record.len();
        let written = world.record.inspect(|sent| sent.iter().filter(|sent| sent.is_done()).count());
        assert!(written >= 2 * ECHOS, "a Job and a status each: {written} writes");

        tokio::time::sleep(SILENCE).await;
        let is_noise = |sent: &&Sent| !sent.is_watch();
        let noise: Vec<Sent> = world.record.inspect(|sent| sent[mark..].iter().filter(is_noise).cloned().collect());
        assert!(noise.is_empty(), "{} requests: {:?}", noise.len(), noise.first());
        host.kill().await;
    });
}
