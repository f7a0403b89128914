//! Label selectors inside of objects: their validation, and the labels that they select.

use std::borrow::Cow;

use gyre_core::selector::Selector;
use serde_json::{Map, Value};

use crate::status::FieldError;
use crate::validation::field::{Errors, Field};
use crate::validation::syntax;

/// `ValidateLabelSelector`.
pub(crate) fn validate(selector: &Field<'_>, errors: &mut Errors) {
    super::labels(&selector.get("matchLabels"), errors);
    for requirement in selector.get("matchExpressions").items() {
        let values = requirement.get("values");
        let operator = requirement.get("operator");
        match operator.text() {
            "In" | "NotIn" => {
                if values.len() == 0 {
                    values.required(errors, "must be specified when `operator` is 'In' or 'NotIn'");
                }
            }
            "Exists" | "DoesNotExist" => {
                if values.len() > 0 {
                    values.forbidden(errors, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
                }
            }
            other => errors.push(FieldError::invalid(operator.path(), other, "not a valid selector operator")),
        }
        requirement.get("key").qualified_name(errors);
        for value in values.items() {
            value.invalid_each(errors, syntax::label_value(value.text()));
        }
    }
}

/// Returns whether a selector selects objects with these labels, or `None` if it is invalid. An
/// absent one selects nothing, an empty one everything.
pub(crate) fn selects(selector: &Field<'_>, labels: Option<&Map<String, Value>>) -> Option<bool> {
    let Some(selector) = selector.value() else { return Some(false) };
    let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str).map(Cow::from);
    Selector::from_object(selector).ok().map(|selector| selector.matches(label))
}
