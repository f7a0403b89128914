//! Numbers of YAML, as Kubernetes' library (sigs.k8s.io/yaml) converts them to JSON.

use serde_json::{Number, Value};

/// All integers up to this one are exact in a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number as Go encodes it in JSON: an integer if it has no fraction. Infinities and NaN are
/// null.
pub fn json_number(float: f64) -> Value {
    if float.fract() == 0.0 && float.abs() <= EXACT {
        return Value::from(float as i64);
    }
    Number::from_f64(float).map_or(Value::Null, Value::Number)
}

/// Replaces floats without a fraction by integers.
pub fn encode_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64()) {
                *value = json_number(float);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(encode_numbers),
        Value::Object(fields) => fields.values_mut().for_each(encode_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_without_a_fraction_become_integers_wherever_they_are() {
        let mut value = json!({ "a": [3.0, 2.5, -0.0], "b": { "c": 1e3 }, "d": 1e300, "e": "4.0", "f": u64::MAX });
        encode_numbers(&mut value);
        assert_eq!(value.to_string(), format!(r#"{{"a":[3,2.5,0],"b":{{"c":1000}},"d":1e+300,"e":"4.0","f":{}}}"#, u64::MAX));
    }
}
