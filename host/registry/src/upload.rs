//! The body of an upload, which says how far it is.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;

/// The bytes that are handed to the connection at once: several times what a socket takes, and
/// little enough that progress is visible.
const PIECE: usize = 64 << 10;

/// Bytes that are sent in pieces.
pub(crate) struct Upload {
    rest: Bytes,
    done: u64,
    progress: watch::Sender<u64>,
}

impl Upload {
    /// The body, and a channel with the number of bytes that the connection has taken.
    pub(crate) fn new(bytes: Bytes) -> (Self, watch::Receiver<u64>) {
        let (progress, receiver) = watch::channel(0);
        (Self { rest: bytes, done: 0, progress }, receiver)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // The connection asks for the next piece when it has room again.
        let done = self.done;
        self.progress.send_replace(done);
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = PIECE.min(self.rest.len());
        let piece = self.rest.split_to(length);
        self.done += length as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_sent_and_counted() {
        let bytes = Bytes::from((0..PIECE * 2 + 7).map(|at| at as u8).collect::<Vec<_>>());
        let (mut upload, progress) = Upload::new(bytes.clone());
        assert_eq!(upload.size_hint().exact(), Some(bytes.len() as u64));
        let mut context = Context::from_waker(std::task::Waker::noop());
        let (mut sent, mut counted) = (Vec::new(), Vec::new());
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut upload).poll_frame(&mut context) {
            counted.push(*progress.borrow());
            sent.extend(frame.into_data().unwrap());
        }
        assert!(upload.is_end_stream());
        assert_eq!(sent, bytes);
        assert_eq!(counted, [0, PIECE as u64, PIECE as u64 * 2]);
        assert_eq!(*progress.borrow(), bytes.len() as u64);
    }
}
