//! JSON to the author's types and back.
//!
//! Derived code can read a struct from a JSON array as well, field by field. No object of Kubernetes is written so, but it was
//! 10 of 139 KB of the echo plugin's code. [`Reader`] stands between `serde_json` and derived code and offers structs nothing
//! but objects, so that the compiler drops the rest.

use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Enough for most objects, so that writing one rarely moves its bytes.
const OBJECT_CAPACITY: usize = 1024;

pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = T::deserialize(Reader(&mut deserializer))?;
    deserializer.end()?;
    Ok(value)
}

/// # Errors
///
/// If the value has a map whose keys are no strings, or its own `Serialize` fails.
pub(crate) fn write(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut json = Vec::with_capacity(OBJECT_CAPACITY);
    serde_json::to_writer(&mut json, value)?;
    Ok(json)
}

/// Passes everything on, and structs as maps.
struct Reader<D>(D);

macro_rules! pass_on {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                self.0.$method(visitor)
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Reader<D> {
    type Error = D::Error;

    pass_on! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(OfMap(visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(OfMap(visitor))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_seq(OfSeq(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, OfSeq(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, OfSeq(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(OfOption(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, OfNewtype(visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }
}

struct OfMap<T>(T);

impl<'de, V: Visitor<'de>> Visitor<'de> for OfMap<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Access(map))
    }
}

struct OfSeq<T>(T);

impl<'de, V: Visitor<'de>> Visitor<'de> for OfSeq<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Access(seq))
    }
}

struct OfOption<T>(T);

impl<'de, V: Visitor<'de>> Visitor<'de> for OfOption<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Reader(deserializer))
    }
}

struct OfNewtype<T>(T);

impl<'de, V: Visitor<'de>> Visitor<'de> for OfNewtype<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Reader(deserializer))
    }

    /// How `serde_json` hands out a `RawValue`.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(map)
    }
}

/// The fields of a map or the elements of a sequence.
struct Access<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Access<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Seed(seed))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Access<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Seed(seed))
    }
}

struct Seed<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Seed<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Reader(deserializer))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Everything {
        inner: Inner,
        optional: Option<Inner>,
        list: Vec<Option<Inner>>,
        map: BTreeMap<String, Vec<Inner>>,
        pair: (Inner, u8),
        newtype: Newtype,
        choice: Vec<Choice>,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        number: i64,
        #[serde(default)]
        fraction: f64,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Newtype(Inner);

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        Unit,
        Tuple(u8, u8),
        Struct { number: u8 },
    }

    #[derive(Debug, Deserialize)]
    struct Raw {
        raw: Box<RawValue>,
        any: Value,
    }

    const EVERYTHING: &str = r#"{
        "inner": {"number": -1, "fraction": 2.5, "unknown": [[{}]]},
        "optional": null,
        "list": [null, {"number": 2}],
        "map": {"one": [{"number": 3}], "\u00fcber": []},
        "pair": [{"number": 4}, 5],
        "newtype": {"number": 6},
        "choice": ["unit", {"tuple": [7, 8]}, {"struct": {"number": 9}}],
        "more": {"of": ["it"]}
    }"#;

    #[test]
    fn all_kinds_of_types_are_read_as_serde_json_reads_them() {
        let expected: Everything = serde_json::from_str(EVERYTHING).unwrap();
        assert_eq!(read::<Everything>(EVERYTHING.as_bytes()).unwrap(), expected);
        let raw: Raw = read(br#"{"raw": {"a" : 1}, "any": [{"b": 2}]}"#).unwrap();
        assert_eq!((raw.raw.get(), raw.any.to_string().as_str()), (r#"{"a" : 1}"#, r#"[{"b":2}]"#));
    }

    #[track_caller]
    fn check_error(json: &str, expected: &str) {
        let error = read::<Inner>(json.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn errors_are_those_of_serde_json() {
        for json in ["", "{", r#"{"number": 1} {}"#, r#"{"number": "1"}"#, r#"{"number": 1, "number": 1}"#, "{}", "null", "7"] {
            check_error(json, &serde_json::from_str::<Inner>(json).unwrap_err().to_string());
        }
    }

    #[test]
    fn a_struct_is_no_array() {
        assert!(serde_json::from_str::<Inner>("[1, 2.5]").is_ok());
        check_error("[1, 2.5]", "invalid type: sequence, expected struct Inner");
    }
}
