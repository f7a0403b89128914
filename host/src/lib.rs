//! gyre.
