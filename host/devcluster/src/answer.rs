//! What the server answers.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::watch::Watch;

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// Headers, `content-type` among them.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// The body of an [`Answer`].
#[derive(Debug)]
pub enum Body {
    /// All of it.
    Full(Bytes),
    /// Events, as they come: ask [`crate::Server::watch`] for them.
    Watch(Box<Watch>),
}
