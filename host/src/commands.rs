//! The commands of `gyre` beside the host itself: how a plugin begins, what it is, what it does to objects, and what it may.
//!
//! They are wired in [`cli`](crate::cli). What the host does itself of `record` and `shadow` is in [`gyre_engine::admin`].

pub(crate) mod connect;
#[cfg(feature = "tools")]
pub(crate) mod dev;
pub(crate) mod inspect;
#[cfg(feature = "tools")]
pub(crate) mod manual;
#[cfg(feature = "tools")]
pub(crate) mod new;
#[cfg(feature = "tools")]
pub(crate) mod offline;
pub(crate) mod output;
pub(crate) mod process;
pub(crate) mod rbac;
pub(crate) mod record;
#[cfg(feature = "tools")]
pub(crate) mod replay;
mod running_host;
pub(crate) mod shadow;
