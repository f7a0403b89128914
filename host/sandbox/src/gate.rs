//! Who runs when: lets so many calls in at a time, and ticks while any runs.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wasmtime::Engine;

use crate::sandbox::TICK;

/// How many ticks find nobody running before ticking stops: a busy host does not wake the thread for each call, and an idle
/// one sleeps.
const IDLE_TICKS: u32 = 100;

/// Lets so many calls in at a time. It stands before the instance pool, which fails where this waits.
pub(crate) struct Gate {
    room: Mutex<Room>,
    left: Condvar,
    clock: Condvar,
    capacity: u32,
}

struct Room {
    running: u32,
    ticking: Ticking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ticking {
    On,
    Paused,
    Ended,
}

/// Leave to run; given back when dropped.
pub(crate) struct Permit<'a>(&'a Gate);

impl Gate {
    pub(crate) fn new(capacity: u32) -> Self {
        Self {
            room: Mutex::new(Room { running: 0, ticking: Ticking::On }),
            left: Condvar::new(),
            clock: Condvar::new(),
            capacity: capacity.max(1),
        }
    }

    /// Waits for room, at most as long as `patience`.
    pub(crate) fn enter(&self, patience: Duration) -> Option<Permit<'_>> {
        let mut room = self.room();
        if room.running >= self.capacity {
            let full = |room: &mut Room| room.running >= self.capacity;
            let (waited, timeout) = self.left.wait_timeout_while(room, patience, full).unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return None;
            }
            room = waited;
        }
        room.running += 1;
        if room.ticking == Ticking::Paused {
            room.ticking = Ticking::On;
            self.clock.notify_all();
        }
        Some(Permit(self))
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        // Nothing panics while it holds the lock.
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, engine: &Engine) {
        let mut idle = 0;
        let mut room = self.room();
        loop {
            // Counted from now, not from the last tick: after a pause of the whole machine a burst would end calls that
            // had no time.
            let next = Instant::now() + TICK;
            while room.ticking != Ticking::Ended {
                let Some(rest) = next.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) else { break };
                room = self.clock.wait_timeout(room, rest).unwrap_or_else(PoisonError::into_inner).0;
            }
            engine.increment_epoch();
            idle = if room.running == 0 { idle + 1 } else { 0 };
            if idle >= IDLE_TICKS && room.ticking == Ticking::On {
                room.ticking = Ticking::Paused;
                room =
                    self.clock.wait_while(room, |room| room.ticking == Ticking::Paused).unwrap_or_else(PoisonError::into_inner);
                idle = 0;
            }
            if room.ticking == Ticking::Ended {
                return;
            }
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut room = self.0.room();
        room.running = room.running.saturating_sub(1);
        drop(room);
        self.0.left.notify_one();
    }
}

/// The thread that keeps deadlines; it ends with this.
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
        self.gate.room().ticking = Ticking::Ended;
        self.gate.clock.notify_all();
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, there would be nothing left to do.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
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
}
