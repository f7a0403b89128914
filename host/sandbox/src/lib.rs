//! gyre-sandbox.
