//! The real kubectl and helm against devcluster with running Pods, which need more than a real
//! control plane.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod transcript;

transcripts!("alive":
    helm_waits_for_hooks,
    jobs_and_pods_run_to_their_end,
);
