//! The settings of a plugin.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::schema::{Fragment, Fragments, Schema};

/// The settings of a plugin, which the operator writes: a struct with a [`Schema`], or
/// [`NoSettings`].
///
/// A key that the struct does not have is refused; nested structs need serde's
/// `deny_unknown_fields` for that. Give each field a default: settings are optional.
///
/// ```
/// use gyre_sdk::{Schema, Settings};
///
/// #[derive(serde::Deserialize, Schema)]
/// #[serde(default, deny_unknown_fields)]
/// struct Config {
///     /// The image of the pods.
///     #[schema(min_length = 1, default = "busybox:1.37")]
///     image: String,
/// }
///
/// impl Default for Config {
///     fn default() -> Self {
///         Self { image: "busybox:1.37".to_owned() }
///     }
/// }
///
/// let schema: serde_json::Value = serde_json::from_str(&Config::schema().unwrap()).unwrap();
/// assert_eq!(schema["properties"]["image"]["default"], "busybox:1.37");
/// assert_eq!(schema["additionalProperties"], false);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of settings",
    note = "add `#[derive(serde::Deserialize, gyre_sdk::Schema)]` to it, or use `gyre_sdk::NoSettings`"
)]
pub trait Settings: DeserializeOwned {
    /// Returns the JSON Schema (2020-12), as JSON; `None` if the plugin takes no settings.
    fn schema() -> Option<String>;
}

impl<T: Schema + DeserializeOwned> Settings for T {
    fn schema() -> Option<String> {
        let mut schema = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","#.to_owned();
        push(&mut schema, T::DESCRIPTION);
        push(&mut schema, T::KEYWORDS);
        schema.push_str(r#","additionalProperties":false}"#);
        Some(schema)
    }
}

/// Not inlined, so that a component contains it only once.
#[inline(never)]
fn push(text: &mut String, fragments: Fragments) {
    for fragment in fragments {
        match fragment {
            Fragment::Text(part) => text.push_str(part),
            Fragment::Nested(fragments) => push(text, fragments),
        }
    }
}

/// The settings of a plugin that takes none. Any setting is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

impl Settings for NoSettings {
    fn schema() -> Option<String> {
        None
    }
}
