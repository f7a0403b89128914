//! gyre-e2e.
