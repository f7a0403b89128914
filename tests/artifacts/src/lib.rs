//! gyre-artifacts.
