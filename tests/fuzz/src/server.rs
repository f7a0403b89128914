//! Fuzzes devcluster with sequences of generated requests.
//!
//! ```text
//! case ─┬─ request ─ mutate ◀── corpus
//!       ├─ apply   (laws of server-side apply)
//!       ├─ wire    (bytes of connections)
//!       └─ session ─ check   (what holds of every answer)
//! ```

mod apply;
pub(crate) mod case;
mod check;
mod request;
mod session;
mod wire;
