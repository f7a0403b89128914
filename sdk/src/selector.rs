//! Label selectors.

use crate::k8s::LabelSelectorView;
use crate::labels::{Labels, LabelsView};

/// A label selector: the text that `kubectl get -l` takes, labels that an object must have, or the
/// `LabelSelector` of another object.
///
/// ```
/// use gyre_sdk::Selector;
/// use gyre_sdk::k8s::{Deployment, DeploymentSpec, LabelSelector};
///
/// let web = Selector::from("app=web,tier=front");
/// assert_eq!(Selector::from([("app", "web"), ("tier", "front")]), web);
///
/// let selector = LabelSelector::matching([("app", "web"), ("tier", "front")]);
/// let spec = DeploymentSpec::new().with_selector(selector);
/// assert_eq!(Selector::from(Deployment::new("web").with_spec(spec).spec().selector()), web);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(String);

impl Selector {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of_labels<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut text = String::new();
        for (key, value) in labels {
            push(&mut text, &[key, "=", value]);
        }
        Self(text)
    }
}

/// Adds a requirement.
fn push(text: &mut String, parts: &[&str]) {
    if !text.is_empty() {
        text.push(',');
    }
    text.extend(parts.iter().copied());
}

impl From<&str> for Selector {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Selector {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&String> for Selector {
    fn from(text: &String) -> Self {
        Self(text.clone())
    }
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for Selector {
    fn from(labels: [(K, V); N]) -> Self {
        Self::from(&Labels::from(labels))
    }
}

impl From<Labels> for Selector {
    fn from(labels: Labels) -> Self {
        Self::from(&labels)
    }
}

impl From<&Labels> for Selector {
    fn from(labels: &Labels) -> Self {
        Self::of_labels(labels.iter())
    }
}

impl From<LabelsView<'_>> for Selector {
    fn from(labels: LabelsView<'_>) -> Self {
        Self::of_labels(labels.iter())
    }
}

/// An operator that Kubernetes does not have becomes a selector that does not parse, so that the
/// read is an error.
impl From<LabelSelectorView<'_>> for Selector {
    fn from(selector: LabelSelectorView<'_>) -> Self {
        let Self(mut text) = Self::from(selector.match_labels());
        for requirement in selector.match_expressions() {
            let key = requirement.key().unwrap_or_default();
            let values = requirement.values().collect::<Vec<_>>().join(",");
            match requirement.operator().unwrap_or_default() {
                "In" => push(&mut text, &[key, " in (", &values, ")"]),
                "NotIn" => push(&mut text, &[key, " notin (", &values, ")"]),
                "Exists" => push(&mut text, &[key]),
                "DoesNotExist" => push(&mut text, &["!", key]),
                other => push(&mut text, &[key, " ", other, " (", &values, ")"]),
            }
        }
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::{LabelSelector, LabelSelectorRequirement};

    #[test]
    fn expressions_are_written_as_kubectl_reads_them() {
        let requirement = |operator: &str| LabelSelectorRequirement::new("tier").with_operator(operator);
        let expressions = [
            requirement("In").with_values(["a", "b"]),
            requirement("NotIn").with_values(["c"]),
            requirement("Exists"),
            requirement("DoesNotExist"),
        ];
        let selector = LabelSelector::matching([("app", "web")]).with_match_expressions(expressions);
        let Selector(text) = Selector::from(selector.view());
        assert_eq!(text, "app=web,tier in (a,b),tier notin (c),tier,!tier");
        assert!(text.parse::<gyre_core::selector::Selector>().is_ok());
    }

    #[test]
    fn an_operator_that_does_not_exist_does_not_parse() {
        let wrong = LabelSelectorRequirement::new("tier").with_operator("Like").with_values(["a"]);
        let Selector(text) = Selector::from(LabelSelector::new().with_match_expressions([wrong]).view());
        assert!(text.parse::<gyre_core::selector::Selector>().is_err(), "{text}");
    }
}
