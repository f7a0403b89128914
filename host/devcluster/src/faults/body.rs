use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::plan::{Cut, End, Script, duration};
use super::{Fault, Traced};
use crate::service::{self, BoxError};
use crate::status::Status;

/// The body of an answer, maybe with faults.
#[derive(Debug)]
pub struct Body {
    inner: service::Body,
    faulty: Option<Box<Faulty>>,
    cut: Option<AnswerCut>,
}

/// The progress of an answer that breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerCut {
    Begun,
    HalfSent,
}

struct Faulty {
    script: Script,
    traced: Traced,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    limit: Option<Instant>,
    /// The time of its early end.
    dying: Option<Pin<Box<Sleep>>>,
    events: u64,
    /// Bytes of the server that are not yet split into events.
    unseen: Bytes,
    /// A delayed event, and until when.
    held: Option<(Bytes, Pin<Box<Sleep>>)>,
    /// An event to repeat.
    again: Option<Bytes>,
    phase: Phase,
}

/// Takes the first line, which is an event, or a part of one.
fn take_event(bytes: &mut Bytes) -> Bytes {
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |newline| newline + 1);
    bytes.split_to(end)
}

enum Phase {
    Passing,
    /// Nothing passes until the end of the sleep.
    Hung(Pin<Box<Sleep>>),
    Ending(Result<(), ()>),
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("script", &self.script).field("events", &self.events).finish_non_exhaustive()
    }
}

type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

impl Body {
    pub(super) fn plain(inner: service::Body) -> Self {
        Self { inner, faulty: None, cut: None }
    }

    pub(super) fn cut(inner: service::Body) -> Self {
        Self { inner, faulty: None, cut: Some(AnswerCut::Begun) }
    }

    pub(super) fn scripted(inner: service::Body, script: Script, limit: Option<Duration>, traced: Traced) -> Self {
        let dying = script.end.as_ref().map(|end| Box::pin(sleep(end.life)));
        let limit = limit.and_then(|limit| Instant::now().checked_add(limit));
        let stopped = Box::pin(traced.faults.stopped());
        let phase = Phase::Passing;
        let (unseen, held, again) = (Bytes::new(), None, None);
        let faulty = Faulty { script, traced, stopped, limit, dying, events: 0, unseen, held, again, phase };
        Self { inner, faulty: Some(Box::new(faulty)), cut: None }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        let Self { inner, faulty, cut } = &mut *self;
        match cut {
            Some(AnswerCut::Begun) => {
                let frame = ready!(Pin::new(inner).poll_frame(context));
                let bytes = frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok()).unwrap_or_default();
                *cut = Some(AnswerCut::HalfSent);
                return Poll::Ready(Some(Ok(Frame::data(bytes.slice(..bytes.len() / 2)))));
            }
            Some(AnswerCut::HalfSent) => {
                (*cut, *inner) = (None, service::Body::full(Bytes::new()));
                let error = io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer");
                return Poll::Ready(Some(Err(error.into())));
            }
            None => {}
        }
        if let Some(script) = faulty {
            if script.stopped.as_mut().poll(context).is_pending() {
                return script.poll_frame(inner, context);
            }
            let (phase, kept) = script.stop();
            *faulty = None;
            match (phase, kept) {
                (Phase::Passing, Some(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                (Phase::Passing, None) => {}
                // A watch that hangs or ends cannot continue, because events are missing.
                (Phase::Hung(_) | Phase::Ending(_), _) => {
                    *inner = service::Body::full(Bytes::new());
                    return Poll::Ready(None);
                }
            }
        }
        Pin::new(inner).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.faulty.is_none() && self.cut.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.faulty.is_none() && self.cut.is_none() { self.inner.size_hint() } else { SizeHint::default() }
    }
}

impl Faulty {
    /// Ends the faults. Returns the phase, and the events that were held back.
    fn stop(&mut self) -> (Phase, Option<Bytes>) {
        let held = self.held.take().map(|(bytes, _)| bytes).unwrap_or_default();
        let kept = Bytes::from([held, std::mem::take(&mut self.unseen)].concat());
        (std::mem::replace(&mut self.phase, Phase::Ending(Ok(()))), (!kept.is_empty()).then_some(kept))
    }

    fn poll_frame(&mut self, inner: &mut service::Body, context: &mut Context<'_>) -> Polled {
        match self.phase {
            Phase::Passing => self.poll_passing(inner, context),
            Phase::Hung(_) => self.poll_hung(context),
            Phase::Ending(_) => self.poll_ending(),
        }
    }

    fn poll_passing(&mut self, inner: &mut service::Body, context: &mut Context<'_>) -> Polled {
        if let Some((_, until)) = &mut self.held {
            // The watch may end while an event is delayed.
            if until.as_mut().poll(context).is_pending() {
                return if self.is_dying(context) { self.end(None, context) } else { Poll::Pending };
            }
        }
        if let Some((bytes, _)) = self.held.take() {
            return self.pass(bytes);
        }
        if let Some(bytes) = self.again.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if self.is_dying(context) {
            return self.end(None, context);
        }
        if self.unseen.is_empty() {
            let Some(Ok(frame)) = ready!(Pin::new(&mut *inner).poll_frame(context)) else { return Poll::Ready(None) };
            self.unseen = frame.into_data().unwrap_or_default();
        }
        let bytes = take_event(&mut self.unseen);
        if self.script.end.as_ref().is_some_and(|end| self.events >= end.events) {
            return self.end(Some(&bytes), context);
        }
        self.events += 1;
        if self.script.random.chance(self.script.delay) {
            let delay = duration(&mut self.script.random, &self.script.event_delay);
            self.traced.record(Fault::EventDelayed, Some(delay));
            self.held = Some((bytes, Box::pin(sleep(delay))));
            return self.poll_passing(inner, context);
        }
        self.pass(bytes)
    }

    fn is_dying(&mut self, context: &mut Context<'_>) -> bool {
        self.dying.as_mut().is_some_and(|dying| dying.as_mut().poll(context).is_ready())
    }

    fn pass(&mut self, bytes: Bytes) -> Polled {
        // A bookmark may mark the end of the initial events, which happens once.
        if self.script.random.chance(self.script.duplicate) && !is_bookmark(&bytes) {
            self.traced.record(Fault::EventDuplicated, None);
            self.again = Some(bytes.clone());
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn end(&mut self, event: Option<&Bytes>, context: &mut Context<'_>) -> Polled {
        let Some(End { fault, hang, cut, .. }) = self.script.end.take() else { return Poll::Ready(None) };
        self.dying = None;
        match fault {
            Fault::WatchHung => {
                let until = Instant::now() + hang;
                let until = self.limit.map_or(until, |limit| limit.min(until));
                self.traced.record(fault, Some(until.saturating_duration_since(Instant::now())));
                self.phase = Phase::Hung(Box::pin(sleep_until(until)));
                self.poll_hung(context)
            }
            Fault::WatchExpired => {
                self.traced.record(fault, None);
                self.phase = Phase::Ending(Ok(()));
                let status = Status::expired("The resourceVersion for the provided watch is too old.");
                let event = json!({ "type": "ERROR", "object": status.to_json() });
                Poll::Ready(Some(Ok(Frame::data(Bytes::from(format!("{event}\n"))))))
            }
            _ => {
                self.traced.record(Fault::WatchCut, None);
                self.phase = Phase::Ending(if cut == Cut::Clean { Ok(()) } else { Err(()) });
                match event {
                    Some(event) if cut == Cut::Torn => Poll::Ready(Some(Ok(Frame::data(event.slice(..event.len() / 2))))),
                    _ => self.poll_ending(),
                }
            }
        }
    }

    fn poll_hung(&mut self, context: &mut Context<'_>) -> Polled {
        if let Phase::Hung(until) = &mut self.phase {
            ready!(until.as_mut().poll(context));
        }
        self.phase = Phase::Ending(Ok(()));
        Poll::Ready(None)
    }

    fn poll_ending(&mut self) -> Polled {
        match std::mem::replace(&mut self.phase, Phase::Ending(Ok(()))) {
            Phase::Ending(Err(())) => {
                let error = io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer");
                Poll::Ready(Some(Err(error.into())))
            }
            _ => Poll::Ready(None),
        }
    }
}

fn is_bookmark(event: &[u8]) -> bool {
    let event: Option<Value> = serde_json::from_slice(event).ok();
    event.is_some_and(|event| event.get("type").and_then(Value::as_str) == Some("BOOKMARK"))
}
