//! gyre-bench.
