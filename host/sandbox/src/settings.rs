//! The errors of checking a mount's settings.

use crate::call;

/// The reason why settings are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The plugin rejects the settings, in its own words.
    #[error("the plugin rejects the settings: {0}")]
    Rejected(String),
    /// The plugin gave no answer.
    #[error("the plugin could not check the settings")]
    Call(#[source] call::Error),
}

impl Error {
    /// One word in CamelCase: a label of metrics, and a reason of conditions and events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Rejected(_) => "SettingsRejected",
            Self::Call(error) => error.reason(),
        }
    }
}
