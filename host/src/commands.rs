//! The commands of `gyre` beside the host itself: how a plugin begins, what it is, what it does to objects, and what it may.
//!
//! They are wired in [`cli`](crate::cli). What the host does itself of `record` and `shadow` is in [`admin`](gyre_engine::admin).

pub(crate) mod connect;
pub(crate) mod dev;
pub(crate) mod inspect;
pub(crate) mod manual;
pub(crate) mod new;
pub(crate) mod offline;
pub(crate) mod process;
pub(crate) mod rbac;
pub(crate) mod record;
pub(crate) mod replay;
mod running_host;
pub(crate) mod shadow;
