//! The real kubectl and helm against devcluster with Pods that run and end.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod transcript;

transcripts!("alive":
    helm_waits_for_hooks,
    jobs_and_pods_run_to_their_end,
);
