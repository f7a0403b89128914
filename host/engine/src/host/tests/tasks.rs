//! Tasks of mounts that end by a panic.

use futures::future::BoxFuture;
use gyre_devcluster::{Clock as ClusterClock, Cluster, Service};
use gyre_sandbox::Plugin;
use kube::Client;

use super::churn::{Reader, Replica, simulate};
use crate::admin::going_on;
use crate::health::CriticalTasks;
use crate::mounts::lifecycle::Companion;
use crate::mounts::mount::Mount;
use crate::mounts::services::HostServices;
use crate::program::Program;

fn idle<'a>(_: &'a Mount, _: &'a Program, _: &'a HostServices) -> BoxFuture<'a, ()> {
    Box::pin(std::future::ready(()))
}

fn panicking<'a>(_: &'a Mount, _: &'a Program, _: &'a HostServices) -> BoxFuture<'a, ()> {
    // As a panic, but without output on stderr.
    Box::pin(async { std::panic::resume_unwind(Box::new("a defect")) })
}

#[test]
fn a_panic_in_a_mount_is_reported() {
    simulate(async {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let cluster = Cluster::start(&gyre_devcluster::Options::default(), ClusterClock::tokio(start));
        let client = Client::new(Service::new(cluster), "default");
        let cases: [(Companion, Result<(), String>); 2] =
            [(idle, Ok(())), (panicking, Err("ended: a task of the mount reader".to_owned()))];
        for (companion, expected) in cases {
            let replica = Replica::start_with(&client, Plugin::native("reader", Reader).unwrap(), companion).await;
            let informers = replica.services.informers.running();
            assert_eq!(going_on(&CriticalTasks::default(), &replica.mounts, &informers), expected);
        }
    });
}
