//! Limits the memory of an instance.

use wasmtime::ResourceLimiter;

/// Limits the sum of all linear memories and tables of a store, unlike `wasmtime::StoreLimits`, and
/// records refusals, because a plugin out of memory ends in an unspecific trap.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    limit: usize,
    held: usize,
    peak: usize,
    /// The last growth, which is undone if the allocator fails.
    granted: usize,
    refused: bool,
}

impl Limiter {
    /// Begins a call. The memory of a reused instance still counts.
    pub(crate) fn arm(&mut self, limit: usize) {
        *self = Self { limit, held: self.held, peak: self.held, granted: 0, refused: false };
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    pub(crate) fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn refused(&self) -> bool {
        self.refused
    }

    fn grow(&mut self, current: usize, desired: usize) -> bool {
        let growth = desired.saturating_sub(current);
        let held = self.held.saturating_add(growth);
        if held > self.limit {
            self.refused = true;
            return false;
        }
        self.held = held;
        self.peak = self.peak.max(held);
        self.granted = growth;
        true
    }

    fn undo(&mut self) {
        self.held = self.held.saturating_sub(self.granted);
        self.granted = 0;
        self.refused = true;
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.grow(current, desired))
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.undo();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = |elements: usize| elements.saturating_mul(size_of::<usize>());
        Ok(self.grow(bytes(current), bytes(desired)))
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.undo();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_and_tables_are_summed() {
        let mut limiter = Limiter::default();
        limiter.arm(1_000);
        assert!(limiter.memory_growing(0, 600, None).unwrap());
        assert!(limiter.table_growing(0, 50, None).unwrap());
        assert!(!limiter.refused());
        assert!(!limiter.memory_growing(0, 1, None).unwrap());
        assert!(limiter.refused());
        assert_eq!(limiter.peak(), 1_000);
    }

    #[test]
    fn a_growth_that_the_allocator_fails_is_not_counted() {
        let mut limiter = Limiter::default();
        limiter.arm(1_000);
        assert!(limiter.memory_growing(0, 900, None).unwrap());
        limiter.memory_grow_failed(wasmtime::format_err!("no")).unwrap();
        assert!(limiter.refused());
        limiter.arm(1_000);
        assert!(limiter.memory_growing(0, 900, None).unwrap());
    }
}
