//! The settings of a test.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;

/// The form of settings that have the type of the plugin.
pub struct Typed;

/// The form of settings that the operator writes.
pub struct Json;

/// Settings for a test: a value of the plugin's type, or JSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither `{Settings}` nor JSON",
    note = "write a value of the type `Reconciler::Settings`, or `serde_json::json!({{…}})`"
)]
pub trait IntoSettings<Settings, Form> {
    /// Returns the settings of the plugin.
    ///
    /// # Errors
    ///
    /// If the JSON does not fit the type.
    fn into_settings(self) -> Result<Settings, Failure>;
}

impl<Settings> IntoSettings<Settings, Typed> for Settings {
    fn into_settings(self) -> Result<Settings, Failure> {
        Ok(self)
    }
}

impl<Settings: DeserializeOwned> IntoSettings<Settings, Json> for Value {
    fn into_settings(self) -> Result<Settings, Failure> {
        Ok(serde_json::from_value(self)?)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Settings {
        image: String,
    }

    #[test]
    fn settings_are_of_their_type_or_json() {
        let typed = || Settings { image: "busybox".to_owned() };
        assert_eq!(typed().into_settings(), Ok(typed()));
        let json: Result<Settings, _> = json!({"image": "busybox"}).into_settings();
        assert_eq!(json, Ok(typed()));
        let wrong: Result<Settings, _> = json!({"image": 1}).into_settings();
        assert!(matches!(wrong, Err(Failure::Terminal(_))), "{wrong:?}");
    }
}
