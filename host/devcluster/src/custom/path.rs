//! Paths of fields as errors give them, like `field.Path`: `spec.items[0].name`.

use std::fmt;

/// Where in an object something is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(String);

impl Path {
    /// The object itself.
    pub(crate) fn root() -> Self {
        Self::default()
    }

    /// The path that is written so.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A field.
    pub(crate) fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// A value of a map, or an item of a list.
    pub(crate) fn key(&self, key: impl fmt::Display) -> Self {
        Self(format!("{}[{key}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.to_string()
    }
}

impl From<&Path> for String {
    fn from(path: &Path) -> Self {
        path.to_string()
    }
}
