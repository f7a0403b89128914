//! The host as a process, with a real API server or devcluster (`GYRE_E2E_SERVER=devcluster`),
//! controlled through kubectl. Each test has its own namespaces, hosts and users, whose requests
//! the audit log shows.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and so do the functions that it is made of"
)]

mod admission;
mod answers;
mod author;
mod build;
mod client;
mod command_line;
mod composed;
mod counted;
mod creation;
mod dev;
mod diff;
mod documents;
mod echo;
mod election;
mod errors;
mod example_plugins;
mod failures;
mod faults;
mod finalize;
mod fuzz;
mod gateway;
mod generated;
mod groups;
mod harness;
mod host_status;
mod hostile;
mod impersonation;
mod inventory;
mod languages;
mod logs;
mod many;
mod memo;
mod metrics;
mod migration;
mod mounts;
mod network;
mod offline;
mod ownership;
mod parent_deletion;
mod parent_fields;
mod permissions;
mod plane;
mod pod_log;
mod preview;
mod preview_check;
mod probes;
mod reads;
mod record;
mod registry;
mod render;
mod replicas;
mod replicator;
mod scale;
mod scheduled_echo;
mod second_writers;
mod secure;
mod shadow;
mod shares;
mod signals;
mod spelling;
mod state;
mod status;
mod swap;
mod traces;
mod watches;
mod worlds;
mod xca;
