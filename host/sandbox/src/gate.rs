//! Limits concurrent calls, and advances the engine's epoch while any call runs.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use wasmtime::Engine;

/// The interval at which deadlines are checked. A call ends within two ticks of its deadline.
pub const TICK: Duration = Duration::from_millis(10);

/// Idle ticks before ticking stops: calls rarely wake the thread, and an idle host sleeps.
const IDLE_TICKS: u32 = 100;

/// A limit on concurrent calls. They wait here, because the instance pool would fail instead.
pub(crate) struct Gate {
    state: Mutex<GateState>,
    left: Condvar,
    clock: Condvar,
    capacity: u32,
}

struct GateState {
    running: u32,
    ticking: Ticking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ticking {
    On,
    Paused,
    Ended,
}

pub(crate) struct Permit<'a>(&'a Gate);

impl Gate {
    pub(crate) fn new(capacity: u32) -> Self {
        Self {
            state: Mutex::new(GateState { running: 0, ticking: Ticking::On }),
            left: Condvar::new(),
            clock: Condvar::new(),
            capacity: capacity.max(1),
        }
    }

    pub(crate) fn enter(&self, patience: Duration) -> Option<Permit<'_>> {
        let mut state = self.state.lock();
        self.left.wait_while_for(&mut state, |state| state.running >= self.capacity, patience);
        if state.running >= self.capacity {
            return None;
        }
        state.running += 1;
        if state.ticking == Ticking::Paused {
            state.ticking = Ticking::On;
            self.clock.notify_all();
        }
        Some(Permit(self))
    }

    fn tick(&self, engine: &Engine) {
        let mut idle = 0;
        let mut state = self.state.lock();
        loop {
            // Counted from now: after a pause, a burst of ticks would end calls early.
            let next = Instant::now() + TICK;
            while state.ticking != Ticking::Ended {
                let Some(rest) = next.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) else { break };
                self.clock.wait_for(&mut state, rest);
            }
            engine.increment_epoch();
            idle = if state.running == 0 { idle + 1 } else { 0 };
            if idle >= IDLE_TICKS && state.ticking == Ticking::On {
                state.ticking = Ticking::Paused;
                self.clock.wait_while(&mut state, |state| state.ticking == Ticking::Paused);
                idle = 0;
            }
            if state.ticking == Ticking::Ended {
                return;
            }
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.running = state.running.saturating_sub(1);
        drop(state);
        self.0.left.notify_one();
    }
}

pub(crate) struct Ticker {
    gate: Arc<Gate>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(gate: Arc<Gate>, engine: Engine) -> std::io::Result<Self> {
        let ticked = Arc::clone(&gate);
        let thread = std::thread::Builder::new()
            .name("gyre-deadlines".to_owned())
            // It calls nothing that needs more.
            .stack_size(128 << 10)
            .spawn(move || ticked.tick(&engine))?;
        Ok(Self { gate, thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.gate.state.lock().ticking = Ticking::Ended;
        self.gate.clock.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_full_gate_waits_and_gives_up() {
        let gate = Gate::new(1);
        let permit = gate.enter(Duration::ZERO).unwrap();
        let before = Instant::now();
        assert!(gate.enter(Duration::from_millis(20)).is_none());
        assert!(before.elapsed() >= Duration::from_millis(20));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.enter(Duration::from_secs(30)).is_some());
            std::thread::sleep(Duration::from_millis(5));
            drop(permit);
            assert!(waiting.join().unwrap());
        });
        assert!(gate.enter(Duration::ZERO).is_some());
    }
    #[test]
    fn a_gate_never_admits_more_calls_than_it_has_room_for() {
        let gate = Gate::new(2);
        let (running, most) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for round in 0..200 {
                        // Waits end by a permit, by the timeout, or nearly by both.
                        let Some(_permit) = gate.enter(Duration::from_micros(round)) else { continue };
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)), "{most:?}");
    }
}
