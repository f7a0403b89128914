//! Labels and annotations.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Labels, annotations or other texts by key, sorted. A list takes less code than a map.
///
/// ```
/// use gyre_sdk::Labels;
///
/// let mut labels = Labels::from([("team", "web"), ("app", "hello")]);
/// labels.insert("team", "data");
/// assert_eq!(labels.get("team"), Some("data"));
/// assert_eq!(labels.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["app", "team"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Vec<(String, String)>);

impl Labels {
    /// Returns the value of this key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let index = self.position(key).ok()?;
        self.0.get(index).map(|(_, value)| value.as_str())
    }

    /// Sets the value of this key.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.set(key.into(), value.into());
    }

    /// Returns these labels with one more.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.insert(key, value);
        self
    }

    /// Iterates over keys and values, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.as_str().cmp(key))
    }

    fn set(&mut self, key: String, value: String) {
        match self.position(&key) {
            Ok(index) => {
                if let Some(label) = self.0.get_mut(index) {
                    label.1 = value;
                }
            }
            Err(index) => self.0.insert(index, (key, value)),
        }
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let mut collected = Self::default();
        for (key, value) in labels {
            collected.insert(key, value);
        }
        collected
    }
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for Labels {
    fn from(labels: [(K, V); N]) -> Self {
        labels.into_iter().collect()
    }
}

impl<K: Into<String>, V: Into<String>> From<Vec<(K, V)>> for Labels {
    fn from(labels: Vec<(K, V)>) -> Self {
        labels.into_iter().collect()
    }
}

impl<K: Into<String>, V: Into<String>> From<BTreeMap<K, V>> for Labels {
    fn from(labels: BTreeMap<K, V>) -> Self {
        labels.into_iter().collect()
    }
}

impl From<&Labels> for Labels {
    fn from(labels: &Labels) -> Self {
        labels.clone()
    }
}

impl From<LabelsView<'_>> for Labels {
    fn from(labels: LabelsView<'_>) -> Self {
        labels.to_owned()
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;

        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Labels::default();
                while let Some((key, value)) = map.next_entry()? {
                    labels.set(key, value);
                }
                Ok(labels)
            }
        }

        deserializer.deserialize_map(LabelsVisitor)
    }
}

/// Reads labels, annotations or other texts by key in an object. A value that is no text is left
/// out.
///
/// ```
/// use gyre_sdk::k8s::ConfigMap;
///
/// let config_map = ConfigMap::new("it").with_data([("message", "Good day.")]);
/// assert_eq!(config_map.data().get("message"), Some("Good day."));
/// let copy = ConfigMap::new("copy").with_data(config_map.data());
/// assert_eq!(copy.data().iter().collect::<Vec<_>>(), [("message", "Good day.")]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelsView<'a>(&'a Value);

impl<'a> LabelsView<'a> {
    /// Returns the value of this key.
    pub fn get(self, key: &str) -> Option<&'a str> {
        self.0.get(key)?.as_str()
    }

    /// Iterates over keys and values, by key.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let entries = self.0.as_object().into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// Returns whether there are none.
    pub fn is_empty(self) -> bool {
        self.iter().next().is_none()
    }

    /// Returns a copy, to be changed.
    pub fn to_owned(self) -> Labels {
        self.iter().collect()
    }

    /// Returns a copy with one more.
    pub fn with(self, key: impl Into<String>, value: impl Into<String>) -> Labels {
        self.to_owned().with(key, value)
    }
}

impl<'a> From<&'a Value> for LabelsView<'a> {
    fn from(value: &'a Value) -> Self {
        Self(value)
    }
}
