//! The progress of transfers.

/// Receives how far a transfer is, e.g. to show it on a terminal.
pub trait Progress: Send + Sync {
    /// A transfer begins, or begins again after it broke off.
    fn begin(&self, total: u64);

    /// So far, `done` of the bytes are transferred. It is called often.
    fn advance(&self, done: u64);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64) {}

    fn advance(&self, _: u64) {}
}
