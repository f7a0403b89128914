//! The locks that calls of plugins do without, because their threads may lose the CPU.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use gyre_core::object::GroupVersionKind;
use gyre_sandbox::{HostImports as _, LogLevel, LogLine, LogSource};

use super::churn::simulate;
use super::kinds::{GROUP, World};
use crate::reconcile::call_context::CallContext;

/// Much longer than the reads take. A call that waits for a lock would wait for ever.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_call_takes_no_lock_for_which_an_informer_waits() {
    simulate(async {
        let world = World::start().await;
        let active = world.replica.mount.active().unwrap();
        let parent = active.parents.list(None).remove(0);
        let reads = Arc::new(active.lookup.snapshot());
        let mut context = CallContext::new(reads, parent.key(), [].iter(), [].iter(), None);
        let informers = world.replica.services.informers.running();
        let _stores: Vec<_> = informers.iter().map(|informer| informer.store().block()).collect();
        let _readers = world.replica.mount.block_readers();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let kind = GroupVersionKind::new(GROUP, "v1", "Other");
            let (one, all) = (context.get(&kind, None, "it"), context.list(&kind, None, None));
            let message = "read".to_owned();
            context.log(LogLine { level: LogLevel::Info, source: LogSource::Stdout, message, fields: Vec::new() });
            let _ = sender.send((one, all));
        });
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok((Ok(None), Ok(Vec::new()))));
    });
}
