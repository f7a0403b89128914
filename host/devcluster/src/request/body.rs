//! Request bodies: JSON and YAML, with the duplicate fields that `serde_json::Value` would hide,
//! and [protobuf].

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::expected::Expected;
use super::protobuf;
use crate::status::Status;

const MEDIA_TYPES: [&str; 3] = ["application/json", "application/yaml", protobuf::MEDIA_TYPE];

/// The maximum size of a body: kube-apiserver's `MaxRequestBodyBytes`.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim()
}

#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// The paths of duplicate fields, e.g. `spec.replicas`.
    pub(crate) duplicates: Vec<String>,
}

/// Reads the object in a body of a POST, PUT or DELETE.
///
/// # Errors
///
/// `UnsupportedMediaType`, or `BadRequest` if the body is not of its content type.
pub(crate) fn object(headers: &HeaderMap, body: &Bytes, expected: &Expected<'_>) -> Result<Decoded, Status> {
    match content_type(headers).to_ascii_lowercase().as_str() {
        "" | "application/json" => read(body)
            .map_err(|error| expected.unrecognized(&format!("couldn't get version/kind; json parse error: {error}"), body)),
        "application/yaml" => yaml(body),
        // The real server claims to accept this for custom resources, but crashes.
        protobuf::MEDIA_TYPE if !expected.is_typed => Err(unsupported(&["application/json", "application/yaml"])),
        protobuf::MEDIA_TYPE => Ok(Decoded { value: protobuf::object(body, expected)?, duplicates: Vec::new() }),
        _ => Err(unsupported(&MEDIA_TYPES)),
    }
}

/// The error for a content type that is not one of these.
pub(crate) fn unsupported(accepted: &[&str]) -> Status {
    let message =
        format!("the body of the request was in an unknown format - accepted media types include: {}", accepted.join(", "));
    Status::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
}

/// Reads JSON.
///
/// # Errors
///
/// `BadRequest` if it is not JSON, or nested too deeply.
pub(crate) fn json(body: &[u8]) -> Result<Decoded, Status> {
    read(body).map_err(|error| Status::bad_request(format!("error decoding JSON: {error}")))
}

/// Reads a patch.
///
/// # Errors
///
/// `BadRequest` if it is not JSON.
pub(crate) fn patch(body: &[u8]) -> Result<Decoded, Status> {
    read(body).map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))
}

fn read(body: &[u8]) -> serde_json::Result<Decoded> {
    let mut decoded = Decoded::default();
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let seed = Checked { path: &mut String::new(), duplicates: &mut decoded.duplicates };
    decoded.value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(decoded)
}

/// Reads YAML, of which JSON is a part. Numbers are those of YAML 1.1, such as the octal 0644.
///
/// # Errors
///
/// `BadRequest` if it is not YAML.
pub(crate) fn yaml(body: &[u8]) -> Result<Decoded, Status> {
    if body.trim_ascii_start().starts_with(b"{") {
        return json(body);
    }
    let text = std::str::from_utf8(body).map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let mut value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    gyre_core::yaml::encode_numbers(&mut value);
    Ok(Decoded { value, duplicates: Vec::new() })
}

/// Builds a `Value` and notes the duplicate fields; the last one counts, as in Go.
struct Checked<'a> {
    path: &'a mut String,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Checked<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        let length = self.path.len();
        loop {
            self.path.push_str(&format!("[{}]", list.len()));
            let item = items.next_element_seed(Checked { path: self.path, duplicates: self.duplicates })?;
            self.path.truncate(length);
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let length = self.path.len();
        while let Some(key) = entries.next_key::<String>()? {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key);
            if map.contains_key(&key) && !self.duplicates.contains(self.path) {
                self.duplicates.push(self.path.clone());
            }
            let value = entries.next_value_seed(Checked { path: self.path, duplicates: self.duplicates })?;
            self.path.truncate(length);
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_named_and_the_last_counts() {
        let decoded = json(br#"{"a":1,"b":{"c":[{"d":1,"d":2,"d":3}]},"a":4}"#).unwrap();
        assert_eq!(decoded.duplicates, ["b.c[0].d", "a"]);
        assert_eq!(decoded.value, serde_json::json!({ "a": 4, "b": { "c": [{ "d": 3 }] } }));
    }

    #[test]
    fn numbers_of_yaml_are_read_as_by_kubernetes() {
        let decoded = yaml(b"[0644, -010, 0_7, 08, 3.0]").unwrap();
        assert_eq!(decoded.value.to_string(), "[420,-8,7,8,3]");
    }

    #[test]
    fn invalid_json_is_an_error() {
        for text in ["", "{", "{}{}", "nonsense", &"[".repeat(100_000)] {
            assert_eq!(json(text.as_bytes()).unwrap_err().code, StatusCode::BAD_REQUEST);
        }
    }

    #[test]
    fn the_content_type_says_what_the_body_is() {
        let read = |content_type: &'static str, is_typed| {
            let expected = Expected { is_typed, ..Expected::scale() };
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, http::HeaderValue::from_static(content_type))]);
            object(&headers, &Bytes::from_static(b"{}"), &expected).map_err(|status| (status.code.as_u16(), status.message))
        };
        for content_type in ["", "application/json", "Application/JSON; charset=utf-8", "application/yaml"] {
            assert_eq!(read(content_type, true).unwrap().value, serde_json::json!({}), "{content_type}");
        }
        let unknown = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml";
        let all = format!("{unknown}, application/vnd.kubernetes.protobuf");
        assert_eq!(read("text/html", true).unwrap_err(), (415, all.clone()));
        assert_eq!(read("text/html", false).unwrap_err(), (415, all));
        assert_eq!(read("application/vnd.kubernetes.protobuf", false).unwrap_err(), (415, unknown.to_owned()));
        assert_eq!(read("application/vnd.kubernetes.protobuf", true).unwrap_err().0, 400);
    }
}
