//! The contract suite: what a Kubernetes API server does, stated by one list of checks that runs against several servers.
//!
//! ```text
//! checks/*.rs ── checks! ──▶ one #[test] each ── verify ──┬─▶ kube-apiserver ─▶ transcript ─┐
//!                                                         └─▶ devcluster     ─▶ transcript ─┴─ diff ─▶ empty, or it fails
//! ```
//!
//! A check is an async function whose name states one behaviour. It sends requests through a [`suite::probe::Probe`], which
//! writes down every answer, and asserts what its name claims, so that two servers that are wrong in the same way do not
//! pass. Then the transcripts are compared, masked ([`suite::mask`]), whole: status, headers, bodies, watch events. What is
//! known to differ is in one table ([`suite::differences`]). Each check has a namespace and an API group of its own.
//!
//! | variable | does |
//! |---|---|
//! | `GYRE_CONTRACT_PRINT=1` | prints transcripts (with `--nocapture`) |
//! | `GYRE_CONTRACT_RECORD=folder` | writes the transcripts of kube-apiserver into a folder |
//! | `GYRE_CONTRACT_REPLAY=folder` | compares with the transcripts in a folder |
//! | `GYRE_CONTRACT_SERVERS=devcluster` | runs these servers only |
//!
//! Not here: nodes, authorization, aggregated API servers, and kinds outside of the groups that devcluster serves.

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
