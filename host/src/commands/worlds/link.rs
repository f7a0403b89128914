//! The way from one world to the kit, and back.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use parking_lot::Mutex;

use super::lines::Output;
use super::protocol::{Answer, Body, Request, What};

/// The way to the kit, for a world and for its plugins that run in the kit.
pub(super) struct Link {
    world: u64,
    output: Arc<Output>,
    requests: Mutex<Receiver<Result<Request, String>>>,
    failed: Mutex<Option<io::Error>>,
}

impl Link {
    pub(super) fn new(world: u64, output: Arc<Output>, requests: Receiver<Result<Request, String>>) -> Self {
        Self { world, output, requests: Mutex::new(requests), failed: Mutex::default() }
    }

    /// Waits for the next request, or the reason why a line is no request. `None` if no more
    /// will come.
    pub(super) fn next(&self) -> Option<Result<Request, String>> {
        if self.failed.lock().is_some() {
            return None;
        }
        self.requests.lock().recv().ok()
    }

    /// Writes a line. After an error there are no more requests.
    pub(super) fn write(&self, what: What<'_>) {
        if let Err(error) = self.output.write(&Answer { world: Some(self.world), what }) {
            *self.failed.lock() = Some(error);
        }
    }

    /// Takes the error of the output, if it failed.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.failed.lock().take()
    }

    pub(super) fn answer(&self, answer: Result<Body, String>) {
        match answer {
            Ok(body) => self.write(What::Ok(body)),
            Err(error) => self.write(What::Error(&error)),
        }
    }
}
