//! Following the changes of a kind.

use bytes::Bytes;
use jiff::Timestamp;

use crate::store::Resource;

/// Where one client's watch stands. It holds no events: it is a place in the history of its kind, so a client that does not read costs
/// nothing, and one that falls behind the history is told `410 Gone`.
#[derive(Debug)]
pub struct Watch {
    pub(crate) resource: Resource,
}

/// What to do for a watch next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this, and ask again.
    Send(Bytes),
    /// Nothing until the store changes, or this time comes.
    Wait(Option<Timestamp>),
    /// Close the connection.
    End,
}
