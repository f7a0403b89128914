//! Tests of a host on devcluster.

mod churn;
mod kinds;
mod locks;
mod tasks;
mod webhooks;
