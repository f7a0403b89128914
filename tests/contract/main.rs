//! The contract suite: one list of checks of a Kubernetes API server, which runs against several.
//!
//! ```text
//! checks/*.rs ── checks! ─▶ one #[test] each ── verify ──┬─▶ kube-apiserver ─▶ transcript ─┐
//!                                                        └─▶ devcluster     ─▶ transcript ─┴─ diff
//! ```
//!
//! A check is an async function whose name states one behaviour. It sends requests through a
//! [`suite::probe::Probe`], which records the answers, and asserts what its name claims, so that
//! two servers with the same error do not pass. The transcripts are masked ([`suite::mask`]) and
//! compared as a whole, except for known differences ([`suite::differences`]). Each check has its
//! own namespace and API group.
//!
//! | variable | effect |
//! |---|---|
//! | `GYRE_CONTRACT_PRINT=1` | prints transcripts (with `--nocapture`) |
//! | `GYRE_CONTRACT_RECORD=folder` | writes the transcripts of kube-apiserver into a folder |
//! | `GYRE_CONTRACT_REPLAY=folder` | compares with the transcripts in a folder |
//! | `GYRE_CONTRACT_SERVERS=devcluster` | runs only these servers |
//!
//! What is absent: nodes, authorization, aggregated API servers, and groups that devcluster lacks.

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
