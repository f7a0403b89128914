//! Tests of the Helm chart and of the image, without a container engine.
//!
//! ```text
//! cases/NAME/values.yaml ── helm template ──▶ objects ──▶ what is expected, laws, a real API server
//! wrong/NAME/values.yaml ── helm template ──▶ error  ──▶ expected.txt
//! charts/gyre/dashboards ──▶ names of metrics ──▶ what /metrics serves
//! charts/gyre/alerts ──▶ the table of the guide, the rules that the chart renders, alerttest
//! Dockerfile ──▶ stages ──▶ the files that they copy exist, and the commands that they run work
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`helm`] | runs helm on the chart |
//! | [`dashboard`] | finds the metrics that a dashboard queries |
//! | [`dockerfile`] | reads a Dockerfile and a .dockerignore |
//! | [`golden`] | compares renderings, and stores their differences |
//! | [`tree`] | documents whose maps keep their order |
//!
//! `cases/default/expected.yaml` has all objects of the default values. The other cases have a
//! `difference.yaml`, which is added to it. Compared are the data of all objects; not compared are
//! comments, and the order of objects and of RBAC rules.
//!
//! `GYRE_BLESS=1` writes the expected files. Review the difference before you commit it.

pub mod dashboard;
pub mod dockerfile;
pub mod golden;
pub mod helm;
pub mod tree;

use std::path::{Path, PathBuf};

/// Returns the root of the checkout.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // This package is two folders below.
    package.ancestors().nth(2).unwrap_or(package)
}

/// Returns the folder of the chart.
pub fn chart() -> PathBuf {
    root().join("charts/gyre")
}

/// Returns whether to write expected files.
pub fn blessing() -> bool {
    std::env::var_os("GYRE_BLESS").is_some_and(|value| value != "0")
}
