//! Clocks that stand still, sleep that returns at once, and random numbers from a seed.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::sync::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::sync::random::{insecure, insecure_seed, random};

use super::streams::READY;
use crate::state::CallState;

/// The most random bytes in a request. The host allocates them; programs need tens.
const MAX_RANDOM_BYTES: u64 = 64 << 10;

impl wall_clock::Host for CallState {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        let now = self.clock.read();
        Ok(wall_clock::Datetime { seconds: now.as_secs(), nanoseconds: now.subsec_nanos() })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime { seconds: 0, nanoseconds: 1 })
    }
}

impl monotonic_clock::Host for CallState {
    fn now(&mut self) -> wasmtime::Result<monotonic_clock::Instant> {
        Ok(u64::try_from(self.clock.read().as_nanos()).unwrap_or(u64::MAX))
    }

    fn resolution(&mut self) -> wasmtime::Result<monotonic_clock::Duration> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, _when: monotonic_clock::Instant) -> wasmtime::Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }

    fn subscribe_duration(&mut self, _when: monotonic_clock::Duration) -> wasmtime::Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }
}

impl CallState {
    fn random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        wasmtime::ensure!(len <= MAX_RANDOM_BYTES, "{len} random bytes at once are more than {MAX_RANDOM_BYTES}");
        Ok(self.random.bytes(usize::try_from(len)?))
    }
}

impl random::Host for CallState {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.random.u64())
    }
}

impl insecure::Host for CallState {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.random.u64())
    }
}

impl insecure_seed::Host for CallState {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok(self.random.pair())
    }
}
