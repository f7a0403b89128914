//! Configurations.
