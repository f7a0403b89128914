//! The calls that a host makes.

use std::sync::Arc;

use gyre_engine::record::{CallRecord, Listening, Recordings};
use parking_lot::Mutex;

use crate::plan::Subject;

/// Records the calls of a host that runs with its [`recordings`](Self::recordings).
pub struct CallLog {
    /// To be passed to the host.
    pub recordings: Recordings,
    calls: Arc<Mutex<Vec<Arc<CallRecord>>>>,
    _listening: Listening,
}

impl CallLog {
    /// A log of at most `most` calls: the first ones, and the last one, which decides the result.
    pub fn new(most: usize) -> Self {
        let recordings = Recordings::default();
        let calls = Arc::<Mutex<Vec<Arc<CallRecord>>>>::default();
        let kept = Arc::clone(&calls);
        let listening = recordings.listen(None, move |call| {
            let mut calls = kept.lock();
            calls.truncate(most.saturating_sub(1));
            calls.push(Arc::clone(call));
        });
        Self { recordings, calls, _listening: listening }
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.calls.lock().clone()
    }

    /// Takes the calls since the last time.
    pub fn take(&self) -> Vec<Arc<CallRecord>> {
        std::mem::take(&mut self.calls.lock())
    }
}

/// The parent of a call.
pub fn parent_of(call: &CallRecord) -> Subject {
    Subject::of(&serde_json::from_slice(&call.parent).unwrap_or_default())
}
