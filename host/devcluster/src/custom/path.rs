//! Paths of fields in errors, like `field.Path`: `spec.items[0].name`.

use std::fmt;
use std::sync::Arc;

/// A path in an object. Only errors need its text, so a step copies only its own name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path(Option<Arc<Step>>);

#[derive(Debug)]
struct Step {
    parent: Path,
    text: String,
}

impl Path {
    pub(crate) fn root() -> Self {
        Self::default()
    }

    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::root() } else { Self::root().step(text) }
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        self.step(if self.is_root() { name.to_owned() } else { format!(".{name}") })
    }

    /// The path of a value of a map, or of an item of a list.
    pub(crate) fn key(&self, key: impl fmt::Display) -> Self {
        self.step(format!("[{key}]"))
    }

    fn step(&self, text: String) -> Self {
        Self(Some(Arc::new(Step { parent: self.clone(), text })))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// The text of the path, empty for the root.
    pub(crate) fn text(&self) -> String {
        let mut steps = Vec::new();
        let mut path = self;
        while let Some(step) = &path.0 {
            steps.push(step.text.as_str());
            path = &step.parent;
        }
        steps.into_iter().rev().collect()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_root() {
            true => f.write_str("<nil>"),
            false => f.write_str(&self.text()),
        }
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
