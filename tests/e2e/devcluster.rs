//! The host as a process, with devcluster, controlled through kubectl. Each test has its own
//! namespaces, hosts and users, whose requests the audit log shows.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and so do the functions that it is made of"
)]

mod answers;
mod client;
mod composed;
mod counted;
mod creation;
mod diff;
mod echo;
mod failures;
mod faults;
mod finalize;
mod gateway;
mod harness;
mod hostile;
mod inventory;
mod logs;
mod many;
mod memo;
mod metrics;
mod migration;
mod mounts;
mod network;
mod ownership;
mod plane;
mod pod_log;
mod preview;
mod preview_check;
mod probes;
mod reads;
mod record;
mod render;
mod scale;
mod scheduled_echo;
mod shadow;
mod signals;
mod spelling;
mod state;
mod status;
mod swap;
mod traces;
mod watches;
mod xca;
