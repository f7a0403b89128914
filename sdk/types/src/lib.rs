//! Generates Rust types of kinds from their schemas.
//!
//! ```text
//!  OpenAPI documents ──▶ kubernetes ─┐
//!                                    ├─▶ model ─▶ render ─▶ Rust, as macros of gyre-sdk
//!  CRDs ───────────────▶ crd ────────┘
//! ```
//!
//! What is absent: validation. The API server refuses values that a schema excludes.

mod crd;
mod doc;
mod kubernetes;
mod model;
mod names;
mod render;

pub use crd::{Error, of_crd};
pub use kubernetes::{Selection, of_openapi};
pub use model::{Duplicate, Module};
pub use render::render;
