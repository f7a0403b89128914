//! The issuers of certificates that are in other Secrets.

use std::collections::BTreeMap;

use super::request::IssuerSecret;

/// An issuer in another Secret.
#[derive(Clone, PartialEq, Eq)]
pub enum State {
    /// It is there.
    Found {
        /// Its certificate, in PEM.
        certificate: Vec<u8>,
        /// Its private key, in PEM.
        private_key: Vec<u8>,
    },
    /// It is not, for this reason and with this remedy.
    Missing(String),
}

/// The issuers in other Secrets.
pub type Issuers = BTreeMap<IssuerSecret, State>;
