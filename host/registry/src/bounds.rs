//! The bounds of what a registry may send, and of what it may make gyre do.
//!
//! A registry can be hostile or broken, so each answer has a bound in bytes, time and number.

use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The most bytes of a manifest or an index: the specification asks registries to accept 4 MiB.
pub const MANIFEST: u64 = 4 * MIB;
/// The most bytes of a config: it lists imports, exports and kinds.
pub const CONFIG: u64 = MIB;
/// The most bytes of a component: several times the largest ones, which contain an interpreter.
pub const COMPONENT: u64 = 256 * MIB;
/// The most bytes of a signature: a bundle with certificates and a log entry takes some KiB.
pub const SIGNATURE: u64 = MIB;
/// The most bytes of all signatures of a manifest: hundreds of usual ones.
pub const SIGNATURES: u64 = 4 * MIB;
/// The most bytes of a token's answer, and of the text of an error.
pub const TOKEN: u64 = 64 * KIB;
/// The most bytes of a docker `config.json`.
pub const DOCKER_CONFIG: u64 = MIB;
/// The most bytes of a bundle of certificates: the public ones together have some 250 KiB.
pub const CA_BUNDLE: u64 = 4 * MIB;
/// The most bytes of a `WWW-Authenticate` header.
pub const CHALLENGE: usize = 8 << 10;

/// The most layers of a manifest that is read; a component is exactly one.
pub const LAYERS: usize = 100;
/// The most referrers of a manifest that are considered, and the most signatures that are read.
pub const REFERRERS: usize = 100;
/// The most pages of an answer about referrers.
pub const PAGES: usize = 5;
/// The most redirects of a request: storage behind a registry takes one.
pub const REDIRECTS: usize = 5;
/// The most repetitions of a request that is answered by 429, 502, 503 or 504.
pub const RETRIES: u32 = 3;
/// The most attempts to read a component whose transfer breaks off.
pub const ATTEMPTS: u32 = 3;
/// The longest `Retry-After` that is waited for, in seconds. After a longer one, the request fails,
/// because the caller can do something else meanwhile.
pub const RETRY_AFTER: u64 = 60;

/// The least bytes per second of a transfer, beside twice the time that a request may stand still.
/// A slower one would keep a start waiting for hours.
pub const LEAST_RATE: u64 = 32 * KIB;

/// The longest time of a question: for a manifest, a config or signatures, with logging in,
/// redirects and repetitions. It is enough to wait for [`RETRY_AFTER`] once. Registries answer
/// within seconds.
pub const QUESTION: Duration = Duration::from_secs(2 * 60);
/// The longest time of a pull with all attempts: the largest component needs 437 KiB per second.
pub const TRANSFER: Duration = Duration::from_secs(10 * 60);

/// The longest time to connect: a network takes some seconds at worst.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);

/// The longest time of a transfer of this size. It is longer than a request may stand still, so
/// that a transfer that does is told from a slow one.
pub(crate) fn time_for(bytes: u64, timeout: Duration) -> Duration {
    timeout.saturating_mul(2).saturating_add(Duration::from_millis(bytes.saturating_mul(1000) / LEAST_RATE))
}
