//! Clients for one purpose each, over the one [`Connection`] of the host.
//!
//! ```text
//!   Api of kube ─▶ Outgoing (claim, User-Agent, Accept) ─▶ Counted (metrics, time limits)
//!                                               ─▶ the host's connection (renewal) ─▶ API server
//! ```
//!
//! Writes are fenced here, immediately before a request is sent.

pub mod connection;
mod counted;
mod incoming;
pub(crate) mod lists;
mod outgoing;
pub mod proxy;
pub mod renewal;
mod request;
#[cfg(test)]
mod tls_server;
pub mod transport;

pub use self::connection::Connection;
pub(crate) use self::counted::{counted, is_there};
pub(crate) use self::outgoing::{fenced, for_account, for_program, for_watch};
pub use self::request::answered;
