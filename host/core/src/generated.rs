//! Values of Secrets that the host makes instead of the plugin: passwords, keys, certificates.
//!
//! ```text
//!   data: {password: {generate: …}} ──▶ Requests ──┐
//!                                                  ├──▶ decide ──▶ keep or make each value
//!   live Secret: values, record ───────────────────┘                  │
//!                                   Record ◀── values ◀── gyre-values ┘
//! ```
//!
//! A value is made once and then kept: whatever is in the Secret counts, and the [`Record`] in an
//! annotation says for which epoch it was made. Texts and hashes follow from other values.
//!
//! What is absent: randomness, and the reading of certificates and hashes, which is [`Inspect`].

mod decide;
mod digest;
mod issuers;
mod record;
mod request;
mod shown;
mod template;
mod validate;

pub use self::decide::{Action, CertificateFacts, Decision, Inspect, Live, Reuse, decide};
pub use self::digest::{DigestKey, KEY, PLACEHOLDER_PREFIX, is_placeholder};
pub use self::issuers::{Issuers, State};
pub use self::record::{GENERATED_ANNOTATION, Record};
pub use self::request::{
    Algorithm, Bytes, Certificate, Encoding, Format, Generator, Hash, HashAlgorithm, Issuer, IssuerSecret, KeyPair, Password,
    Request, Usage,
};
pub use self::shown::{LAST_APPLIED, shown};
pub use self::template::Template;
pub use self::validate::{LARGEST_COST, MOST_VALUES, Requests};

#[cfg(test)]
mod tests;
