//! The health of watches, of the API server, and of the host itself.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// A watch that is down for this long is dead. Shorter gaps are normal: watches end every five
/// minutes, and an API server restarts within seconds.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(15);

/// A watch that ends earlier than this was ended by something else than its time limit, which is
/// 290 s: e.g. its CustomResourceDefinition was changed, or the API server was restarted.
const EARLY: Duration = Duration::from_secs(280);

/// Whether a watch is connected, and since when not.
#[derive(Debug)]
pub struct Health {
    state: Mutex<WatchState>,
    kind_doubted: Notify,
}

#[derive(Clone, Debug)]
struct WatchState {
    heard_at: Instant,
    connected_at: Option<Instant>,
    /// The consecutive connections that ended because nothing was received.
    silences: u32,
    down: Option<Down>,
}

/// A watch that is not connected.
#[derive(Clone, Debug)]
pub struct Down {
    /// When it was disconnected.
    pub since: Instant,
    /// The last error since then, if there was one.
    pub error: Option<String>,
}

impl Default for Health {
    fn default() -> Self {
        let now = Instant::now();
        let down = Some(Down { since: now, error: None });
        let state = WatchState { heard_at: now, connected_at: None, silences: 0, down };
        Self { state: Mutex::new(state), kind_doubted: Notify::new() }
    }
}

impl Health {
    pub(crate) fn connected(&self) {
        let (mut state, now) = (self.state(), Instant::now());
        (state.heard_at, state.connected_at, state.down) = (now, Some(now), None);
    }

    pub(crate) fn heard(&self) {
        let mut state = self.state();
        (state.heard_at, state.silences) = (Instant::now(), 0);
    }

    /// Records that a connection ended because nothing was received. Returns the number of
    /// consecutive ones.
    pub(crate) fn silent(&self) -> u32 {
        self.ended();
        let mut state = self.state();
        state.silences = state.silences.saturating_add(1);
        state.silences
    }

    pub(crate) fn failed(&self, error: String) {
        self.is_down(Some(error));
    }

    /// Records the end of the watch, which is normal after some minutes.
    pub(crate) fn ended(&self) {
        self.is_down(None);
        if self.state().connected_at.take().is_some_and(|at| at.elapsed() < EARLY) {
            self.doubt_kind();
        }
    }

    /// Records that the kind may have changed or gone.
    pub(crate) fn doubt_kind(&self) {
        self.kind_doubted.notify_one();
    }

    /// Waits until the kind may have changed or gone.
    pub(crate) async fn kind_doubted(&self) {
        self.kind_doubted.notified().await;
    }

    fn is_down(&self, error: Option<String>) {
        let mut state = self.state();
        let (since, last) = state.down.take().map_or_else(|| (Instant::now(), None), |down| (down.since, down.error));
        state.down = Some(Down { since, error: error.or(last) });
    }

    /// Returns since when and why it is not connected; `None` if it is.
    pub fn down(&self) -> Option<Down> {
        self.state().down.clone()
    }

    /// Returns whether it has been down for `DEAD_AFTER`.
    pub fn is_dead(&self) -> bool {
        self.state().down.as_ref().is_some_and(|down| down.since.elapsed() >= DEAD_AFTER)
    }

    /// The time since it last received anything.
    pub fn silent_for(&self) -> Duration {
        self.state().heard_at.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock()
    }
}

/// The health of the API server. Each answer proves it; [`Self::check`] requests probes.
#[derive(Debug, Default)]
pub(crate) struct ApiServerHealth(Mutex<ApiServerState>);

#[derive(Debug, Default)]
struct ApiServerState {
    heard_at: Option<Instant>,
    asked_at: Option<Instant>,
    is_doubted: bool,
    error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Now,
    NotNow,
}

/// How long an answer is valid. The kubelet probes every ten seconds.
const GOOD_FOR: Duration = Duration::from_secs(8);
/// The time limit of a trivial request.
const GONE_AFTER: Duration = Duration::from_secs(5);

impl ApiServerHealth {
    pub(crate) fn heard(&self) {
        *self.state() = ApiServerState { heard_at: Some(Instant::now()), ..ApiServerState::default() };
    }

    pub(crate) fn doubt(&self) {
        self.state().is_doubted = true;
    }

    pub(crate) fn unanswered(&self, error: String) {
        let mut state = self.state();
        state.asked_at = None;
        state.error = Some(error);
    }

    /// Returns whether the caller must probe now, and the error if the API server is unreachable.
    pub(crate) fn check(&self) -> (Probe, Result<(), String>) {
        let now = Instant::now();
        let mut state = self.state();
        let is_fresh = state.heard_at.is_some_and(|at| now < at + GOOD_FOR) && !state.is_doubted;
        let ask = if is_fresh || state.asked_at.is_some() { Probe::NotNow } else { Probe::Now };
        if ask == Probe::Now {
            state.asked_at = Some(now);
        }
        let waited = state.asked_at.map_or(Duration::ZERO, |at| now - at);
        let result = match (&state.error, state.heard_at) {
            (Some(error), _) => Err(error.clone()),
            (None, None) => Err("it has not answered yet".to_owned()),
            (None, Some(at)) if waited >= GONE_AFTER => Err(format!("it has not answered for {} s", (now - at).as_secs())),
            (None, Some(_)) => Ok(()),
        };
        (ask, result)
    }

    fn state(&self) -> MutexGuard<'_, ApiServerState> {
        self.0.lock()
    }
}

/// The tasks that a host needs, and that only a restart brings back.
#[derive(Debug, Default)]
pub(crate) struct CriticalTasks(Mutex<Vec<(&'static str, AbortHandle)>>);

impl CriticalTasks {
    pub(crate) fn add(&self, name: &'static str, task: AbortHandle) {
        self.tasks().push((name, task));
    }

    pub(crate) fn clear(&self) {
        self.tasks().clear();
    }

    pub(crate) fn ended(&self) -> Vec<&'static str> {
        self.tasks().iter().filter(|(_, task)| task.is_finished()).map(|(name, _)| *name).collect()
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<(&'static str, AbortHandle)>> {
        self.0.lock()
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
        health.ended();
        assert!(health.down().is_some_and(|down| down.error.is_none()), "each ends, and is taken up again");
        tokio::time::advance(DEAD_AFTER).await;
        assert!(health.is_dead(), "it was not taken up");
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_does_not_answer_is_gone_until_it_answers() {
        let api_server = ApiServerHealth::default();
        assert!(matches!(api_server.check(), (Probe::Now, Err(_))), "it was never there");
        api_server.heard();
        assert_eq!(api_server.check(), (Probe::NotNow, Ok(())));
        tokio::time::advance(GOOD_FOR).await;
        assert_eq!(api_server.check(), (Probe::Now, Ok(())), "it was silent, as nobody asked it anything");
        assert_eq!(api_server.check(), (Probe::NotNow, Ok(())), "one question is enough");
        tokio::time::advance(GONE_AFTER).await;
        assert_eq!(api_server.check(), (Probe::NotNow, Err("it has not answered for 13 s".to_owned())));
        api_server.unanswered("refused".to_owned());
        assert_eq!(api_server.check(), (Probe::Now, Err("refused".to_owned())));
        api_server.heard();
        assert_eq!(api_server.check(), (Probe::NotNow, Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_request_only_causes_a_probe() {
        let api_server = ApiServerHealth::default();
        api_server.heard();
        api_server.doubt();
        assert_eq!(api_server.check(), (Probe::Now, Ok(())));
        api_server.heard();
        assert_eq!(api_server.check(), (Probe::NotNow, Ok(())));
    }

    #[tokio::test]
    async fn an_ended_task_is_reported_until_tasks_may_end() {
        let critical_tasks = CriticalTasks::default();
        let (going_on, panicking) = (tokio::spawn(std::future::pending::<()>()), tokio::spawn(async { panic!("a defect") }));
        critical_tasks.add("going on", going_on.abort_handle());
        critical_tasks.add("panicking", panicking.abort_handle());
        assert!(panicking.await.is_err());
        assert_eq!(critical_tasks.ended(), ["panicking"]);
        critical_tasks.clear();
        assert!(critical_tasks.ended().is_empty());
    }
}
