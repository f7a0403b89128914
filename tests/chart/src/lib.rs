//! What holds the Helm chart and the image to what they promise, without an engine that could run either.
//!
//! ```text
//! cases/NAME/values.yaml ── helm template ──▶ objects ──▶ expected.yaml, laws about all of them, a real API server's answer
//! wrong/NAME/values.yaml ── helm template ──▶ error  ──▶ expected.txt
//! charts/gyre/dashboards ──▶ names of metrics ──▶ what /metrics serves
//! Dockerfile ──▶ stages ──▶ what they copy is there, and what they run does what it should
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`helm`] | running helm on the chart |
//! | [`dashboard`] | which metrics a dashboard asks for |
//! | [`dockerfile`] | reading a Dockerfile and a .dockerignore |
//! | [`tree`] | documents whose maps keep their order |
//!
//! `GYRE_BLESS=1` writes down what comes out as what is expected; look at the difference before it is committed.

pub mod dashboard;
pub mod dockerfile;
pub mod helm;
pub mod tree;

use std::path::{Path, PathBuf};

/// The root of the checkout.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // This package lies two folders below.
    package.ancestors().nth(2).unwrap_or(package)
}

/// The chart.
pub fn chart() -> PathBuf {
    root().join("charts/gyre")
}

/// Whether what comes out is to be written down as what is expected.
pub fn blessing() -> bool {
    std::env::var_os("GYRE_BLESS").is_some_and(|value| value != "0")
}
