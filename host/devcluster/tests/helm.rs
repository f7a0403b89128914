//! The real helm against devcluster.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod transcript;

transcripts!("helm":
    dry_runs_and_failures_leave_nothing,
    install_upgrade_rollback_and_uninstall,
);
