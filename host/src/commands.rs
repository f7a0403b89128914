//! The commands of `gyre` other than `run`. [`cli`](crate::cli) runs them. The endpoints for
//! `record` and `shadow` are in [`gyre_engine::admin`].

pub(crate) mod artifacts;
#[cfg(feature = "tools")]
pub(crate) mod build;
mod columns;
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
pub(crate) mod rbac;
pub(crate) mod record;
#[cfg(feature = "tools")]
pub(crate) mod replay;
mod running_host;
pub(crate) mod shadow;
pub(crate) mod signals;
pub(crate) mod status;
pub(crate) mod threads;
#[cfg(feature = "tools")]
pub(crate) mod types;
#[cfg(feature = "tools")]
pub(crate) mod values;
#[cfg(feature = "tools")]
pub(crate) mod worlds;
