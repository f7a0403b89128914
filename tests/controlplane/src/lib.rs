//! gyre-controlplane.
