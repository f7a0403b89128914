//! Mounts from a configuration file, and what becomes of them as it changes.
