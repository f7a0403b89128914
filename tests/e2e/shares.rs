//! Three replicas that share the mounts.
