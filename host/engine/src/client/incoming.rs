//! The body of an answer, with a limit for the time without data.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep};
use tracing::debug;

use crate::client::connection::Transport;
use crate::client::request::BoxError;
use crate::health::Health;

/// Two intervals of kube-apiserver's bookmarks, of at most 75 s. After this, the peer of a watch is
/// gone, which the system would notice only after hours.
pub(super) const WATCH_SILENT_AT_MOST: Duration = Duration::from_secs(150);
/// The silent connections in a row after which the objects are listed again. An API server whose
/// versions went back sends nothing, not even bookmarks, until they reach the watch's version.
const SILENT_BEFORE_LIST: u32 = 2;
/// Makes kube's watcher list again. The line break ends an event that was received in part.
const EXPIRED: &[u8] = b"\n{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\
\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410,\
\"message\":\"the resource versions of the API server have gone back, or may have\"}}\n";

pub(crate) struct Incoming<B> {
    inner: B,
    silence: Option<(Pin<Box<Sleep>>, Duration)>,
    watched: Option<Watched>,
    has_ended: bool,
}

struct Watched {
    health: Arc<Health>,
    /// Completes when the cluster has been restored since the list before this watch.
    restored: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl<B> Incoming<B> {
    pub(super) fn as_it_is(inner: B) -> Self {
        Self { inner, silence: None, watched: None, has_ended: false }
    }

    /// Fails when nothing has been received for this time.
    pub(super) fn answer(inner: B, silent_at_most: Duration) -> Self {
        let silence = Some((Box::pin(tokio::time::sleep(silent_at_most)), silent_at_most));
        Self { silence, ..Self::as_it_is(inner) }
    }

    /// Ends after [`WATCH_SILENT_AT_MOST`] without data, as if the API server had ended it, and
    /// reports to `health`. The second time in a row, and when `restored` completes, it ends as if
    /// the version had expired. In a process, silence proves nothing.
    pub(super) fn watch(
        inner: B,
        health: Arc<Health>,
        transport: Transport,
        restored: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let body = match transport {
            Transport::Network => Self::answer(inner, WATCH_SILENT_AT_MOST),
            Transport::InProcess => Self::as_it_is(inner),
        };
        Self { watched: Some(Watched { health, restored: Box::pin(restored) }), ..body }
    }
}

impl<B> Body for Incoming<B>
where
    B: Body<Data = bytes::Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = bytes::Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Some(watched) = &mut self.watched
            && watched.restored.as_mut().poll(context).is_ready()
        {
            watched.health.ended();
            self.has_ended = true;
            return Poll::Ready(Some(Ok(Frame::data(bytes::Bytes::from_static(EXPIRED)))));
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) {
            if let Some((silence, silent_at_most)) = &mut self.silence {
                silence.as_mut().reset(Instant::now() + *silent_at_most);
            }
            match (&self.watched, &frame) {
                (Some(Watched { health, .. }), Some(Ok(_))) => health.heard(),
                (Some(Watched { health, .. }), None) => health.ended(),
                (Some(_), Some(Err(_))) | (None, _) => {}
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some((silence, silent_for)) = &mut self.silence else { return Poll::Pending };
        let silent_for = *silent_for;
        ready!(silence.as_mut().poll(context));
        self.has_ended = true;
        Poll::Ready(match &self.watched {
            Some(Watched { health, .. }) => {
                debug!(?silent_for, "the watch received nothing, not even a bookmark: restarting it");
                let is_lasting = health.silent() >= SILENT_BEFORE_LIST;
                is_lasting.then(|| Ok(Frame::data(bytes::Bytes::from_static(EXPIRED))))
            }
            None => {
                let message = format!("the API server sent nothing for {silent_for:?} in the middle of an answer");
                Some(Err(std::io::Error::new(std::io::ErrorKind::TimedOut, message).into()))
            }
        })
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.inner.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended || self.inner.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restores::Restores;

    struct Hesitant {
        times: usize,
        pause: Pin<Box<Sleep>>,
    }

    const PAUSE: Duration = Duration::from_secs(60);

    impl Hesitant {
        fn new(times: usize) -> Self {
            Self { times, pause: Box::pin(tokio::time::sleep(PAUSE)) }
        }
    }

    impl Body for Hesitant {
        type Data = bytes::Bytes;
        type Error = BoxError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
            if self.times == 0 {
                return Poll::Pending;
            }
            ready!(self.pause.as_mut().poll(context));
            self.times -= 1;
            self.pause.as_mut().reset(Instant::now() + PAUSE);
            Poll::Ready(Some(Ok(Frame::data(bytes::Bytes::from_static(b"bookmark")))))
        }
    }

    async fn next<B: Body<Data = bytes::Bytes, Error = BoxError> + Unpin>(body: &mut B) -> Option<Result<(), BoxError>> {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        frame.map(|frame| frame.map(drop))
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_with_a_silent_peer_ends() {
        let (started, health) = (Instant::now(), Arc::new(Health::default()));
        health.connected();
        let mut body = Incoming::watch(Hesitant::new(3), Arc::clone(&health), Transport::Network, std::future::pending());
        for _ in 0..3 {
            assert!(matches!(next(&mut body).await, Some(Ok(()))));
            assert!(health.down().is_none() && health.silent_for().is_zero());
        }
        assert!(next(&mut body).await.is_none());
        assert_eq!(started.elapsed(), 3 * PAUSE + WATCH_SILENT_AT_MOST, "only silence ends it");
        assert!(health.down().is_some(), "until it is taken up again");
        assert!(next(&mut body).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_silent_twice_in_a_row_expires() {
        let health = Arc::new(Health::default());
        let silent = async |frames| {
            let mut body =
                Incoming::watch(Hesitant::new(frames), Arc::clone(&health), Transport::Network, std::future::pending());
            let mut received = 0;
            while let Some(Ok(())) = next(&mut body).await {
                received += 1;
            }
            received - frames
        };
        assert_eq!([silent(0).await, silent(0).await, silent(1).await, silent(0).await], [0, 1, 0, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_in_the_same_process_may_be_silent() {
        let health = Arc::new(Health::default());
        health.connected();
        let mut body = Incoming::watch(Hesitant::new(0), Arc::clone(&health), Transport::InProcess, std::future::pending());
        let day = Duration::from_secs(24 * 60 * 60);
        assert!(tokio::time::timeout(day, next(&mut body)).await.is_err() && health.down().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_expires_when_the_cluster_has_been_restored_since_its_list() {
        let restores = Restores::default();
        for transport in [Transport::Network, Transport::InProcess] {
            let listed = restores.count();
            let watch = || {
                let health = Arc::new(Health::default());
                Incoming::watch(Hesitant::new(0), health, transport, restores.since(listed))
            };
            let (started, mut body) = (Instant::now(), watch());
            let (ended, ()) = tokio::join!(next(&mut body), async {
                tokio::time::sleep(PAUSE).await;
                restores.report();
            });
            assert!(matches!(ended, Some(Ok(()))) && started.elapsed() == PAUSE, "{:?}", started.elapsed());
            assert!(next(&mut body).await.is_none());
            // A watch that begins after the report, and still at the version of that list.
            assert!(matches!(next(&mut watch()).await, Some(Ok(()))) && started.elapsed() == PAUSE);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_stops_halfway_fails() {
        let (started, most) = (Instant::now(), PAUSE + Duration::from_secs(1));
        let mut body = Incoming::answer(Hesitant::new(1), most);
        assert!(matches!(next(&mut body).await, Some(Ok(()))));
        assert!(matches!(next(&mut body).await, Some(Err(_))));
        assert_eq!(started.elapsed(), PAUSE + most);
        assert!(next(&mut body).await.is_none());
    }
}
