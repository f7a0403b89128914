//! How the watch of an informer fares: whether it is connected, and since when it is not.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A watch that has been down for so long is dead: caches are older than anyone expects. Shorter gaps are every day's: a watch ends
/// every five minutes, and an API server that is restarted is back in seconds.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(15);

/// See the module's documentation.
#[derive(Debug)]
pub struct Health(Mutex<State>);

#[derive(Clone, Debug)]
struct State {
    /// When it was last heard of: connected, or an event.
    heard_at: Instant,
    down: Option<Down>,
}

/// A watch that is not connected.
#[derive(Clone, Debug)]
pub struct Down {
    /// Since when.
    pub since: Instant,
    /// The last error; none: it is being connected for the first time.
    pub error: Option<String>,
}

impl Default for Health {
    /// Not connected yet.
    fn default() -> Self {
        let now = Instant::now();
        Self(Mutex::new(State { heard_at: now, down: Some(Down { since: now, error: None }) }))
    }
}

impl Health {
    /// The API server has taken the watch.
    pub(crate) fn connected(&self) {
        *self.state() = State { heard_at: Instant::now(), down: None };
    }

    /// The watch has brought something.
    pub(crate) fn heard(&self) {
        self.state().heard_at = Instant::now();
    }

    /// It has failed, and is tried again.
    pub(crate) fn failed(&self, error: String) {
        let mut state = self.state();
        let since = state.down.as_ref().map_or_else(Instant::now, |down| down.since);
        state.down = Some(Down { since, error: Some(error) });
    }

    /// Why it is not connected; none: it is.
    pub fn down(&self) -> Option<Down> {
        self.state().down.clone()
    }

    /// Whether it has been down for too long.
    pub fn is_dead(&self) -> bool {
        self.state().down.as_ref().is_some_and(|down| down.since.elapsed() >= DEAD_AFTER)
    }

    /// How long nothing has been heard of it.
    pub fn silent_for(&self) -> Duration {
        self.state().heard_at.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_watch_is_dead_once_it_has_been_down_for_long_and_alive_again_when_connected() {
        let health = Health::default();
        tokio::time::advance(DEAD_AFTER / 2).await;
        health.failed("refused".to_owned());
        assert!(!health.is_dead());
        tokio::time::advance(DEAD_AFTER / 2).await;
        health.failed("refused again".to_owned());
        assert!(health.is_dead(), "it counts since it went down, not since the last failure");
        assert_eq!(health.down().unwrap().error.as_deref(), Some("refused again"));
        health.connected();
        assert!(!health.is_dead() && health.down().is_none());
        tokio::time::advance(DEAD_AFTER).await;
        assert!(!health.is_dead(), "silence is no failure");
        assert_eq!(health.silent_for(), DEAD_AFTER);
    }
}
