//! Label selectors in objects: their validity, and what they select.

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

/// Returns whether it selects these labels, or `None` if invalid. An absent one selects nothing.
pub(crate) fn selects(selector: &Field<'_>, labels: Option<&Map<String, Value>>) -> Option<bool> {
    if !selector.is_set() {
        return Some(false);
    }
    let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
    let mut selects = true;
    for (key, value) in selector.get("matchLabels").object().into_iter().flatten() {
        if !syntax::qualified_name(key).is_empty() || !syntax::label_value(value.as_str().unwrap_or_default()).is_empty() {
            return None;
        }
        selects &= label(key) == value.as_str();
    }
    for requirement in selector.get("matchExpressions").items() {
        let key = requirement.get("key");
        let values = requirement.get("values");
        if !syntax::qualified_name(key.text()).is_empty() {
            return None;
        }
        let among = label(key.text()).map(|label| values.items().any(|value| value.text() == label));
        selects &= match (requirement.get("operator").text(), values.len()) {
            ("In", 1..) => among.unwrap_or(false),
            ("NotIn", 1..) => !among.unwrap_or(false),
            ("Exists", 0) => among.is_some(),
            ("DoesNotExist", 0) => among.is_none(),
            _ => return None,
        };
    }
    Some(selects)
}
