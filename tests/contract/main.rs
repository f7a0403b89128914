//! The contract suite: the behaviour of a Kubernetes API server, as one list of checks that runs
//! against several servers.
//!
//! ```text
//! checks/*.rs ── checks! ─▶ one #[test] each ── verify ──┬─▶ kube-apiserver ─▶ transcript ─┐
//!                                                        └─▶ devcluster     ─▶ transcript ─┴─ diff
//! ```
//!
//! A check is an async function whose name states one behaviour. It sends requests through a
//! [`suite::probe::Probe`], which records every answer. It also asserts what its name claims, so
//! that two servers that are wrong in the same way do not pass. Then the transcripts are masked
//! ([`suite::mask`]) and compared as a whole: status, headers, bodies, watch events. Each check has
//! a namespace and an API group of its own.
//!
//! Two tables list what may differ: [`suite::messages`] the messages that devcluster words itself,
//! and [`suite::differences`] the other known differences.
//!
//! | variable | effect |
//! |---|---|
//! | `GYRE_CONTRACT_PRINT=1` | prints transcripts (with `--nocapture`) |
//! | `GYRE_CONTRACT_RECORD=folder` | writes the transcripts of kube-apiserver into a folder |
//! | `GYRE_CONTRACT_REPLAY=folder` | compares with the transcripts in a folder |
//! | `GYRE_CONTRACT_SERVERS=devcluster` | runs only these servers |
//!
//! What is absent: nodes, authorization, aggregated API servers, and kinds outside of the groups
//! that devcluster serves.

#![deny(dead_code)]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and so do the functions that it is made of"
)]

mod checks;
mod suite;
