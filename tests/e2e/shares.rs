use std::collections::BTreeMap;
use std::time::Duration;

use gyre_controlplane::{AuditEvent, Signal};

use crate::harness::{Cluster, Folder, PATIENCE};
use crate::replicas::{Changes, Deployment, Gaps, Leases, Replica, is_fenced, one_writer, terms};

const NAMESPACE: &str = "shares";
/// The numbers of the mounted tenants.
const TENANTS: std::ops::Range<u64> = 30..42;
const PACE: Duration = Duration::from_millis(100);

fn lease(number: u64) -> String {
    format!("{NAMESPACE}.tenant-{number}")
}

fn await_spread(cluster: &Cluster, leases: &Leases, replicas: &[&Replica], each: usize) {
    cluster.eventually(&format!("a spread of {each} mounts each"), || {
        let holders = leases.holders();
        let mut loads: BTreeMap<&str, usize> = BTreeMap::new();
        for number in TENANTS {
            *loads.entry(holders.get(&lease(number))?).or_default() += 1;
        }
        let is_even = replicas.iter().all(|replica| loads.get(&*replica.user) == Some(&each));
        (is_even && loads.len() == replicas.len()).then_some(())
    });
}

#[test]
fn replicas_share_the_mounts_evenly_as_they_come_and_go() {
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let (folder, code) = (Folder::new(), Folder::new());
    let put = |number| folder.put(&format!("tenant-{number}.wasm"), gyre_artifacts::tenant(number).unwrap());
    let files: Vec<String> = TENANTS.map(put).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    cluster.install_crds(&files);
    let Some(start) = cluster.audit_mark() else { return };

    let arguments = ["--code-cache", &code.path(), "--name", NAMESPACE, "--ha-scope", "mount"];
    let deployment = Deployment::new(&cluster, NAMESPACE, &files, &arguments);
    let client = deployment.client();
    let leases = Leases::new(&client, NAMESPACE);
    let parents = TENANTS.map(|number| (format!("it-{number}"), format!("Tenant{number}"))).collect();
    let changes = Changes::begin(&client, NAMESPACE, parents, PACE);
    let [mut first, second, third] = [deployment.replica(), deployment.replica(), deployment.replica()];
    await_spread(&cluster, &leases, &[&first, &second, &third], 4);
    changes.await_progress(&cluster);

    second.host.process.signal(Signal::Kill).unwrap();
    await_spread(&cluster, &leases, &[&first, &third], 6);
    changes.await_progress(&cluster);
    let fourth = deployment.replica();
    await_spread(&cluster, &leases, &[&first, &third, &fourth], 4);
    changes.await_progress(&cluster);

    first.host.process.signal(Signal::Terminate).unwrap();
    let status = first.host.process.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(0), "{}", first.host.log());
    await_spread(&cluster, &leases, &[&third, &fourth], 6);
    changes.end(&cluster);

    let requests = deployment.requests(start);
    let mut gaps = Gaps::default();
    for number in TENANTS {
        let terms = terms(&requests, &lease(number));
        let is_its = |event: &&AuditEvent| is_fenced(event) && event.user_agent.contains(&format!("(tenant-{number}/"));
        assert_eq!(one_writer(&terms, &requests.iter().filter(is_its).collect::<Vec<_>>()), [] as [&AuditEvent; 0]);
        gaps.add(&requests, &terms);
    }
    gaps.check();
}
