//! The settings of a plugin.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The settings of a plugin, which the operator writes. Use [`derive@crate::Settings`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of settings",
    note = "add `#[derive(serde::Deserialize, gyre_sdk::Settings)]` to it, or use `gyre_sdk::NoSettings`"
)]
pub trait Settings: DeserializeOwned {
    /// The JSON Schema (2020-12), built at compile time; `None` if the plugin takes no settings.
    const SCHEMA: Option<&'static str>;
}

/// The settings of a plugin that takes none. Any setting is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

impl Settings for NoSettings {
    const SCHEMA: Option<&'static str> = None;
}
