//! From a [`Parser`] to any type. Nothing is borrowed from the text: what an author's types hold is theirs.

use serde::de::value::MapDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use super::RAW_VALUE;
use super::error::Error;
use super::parser::{Number, Parser, Progress};

macro_rules! integers {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                match self.number_value()? {
                    Some(Number::Unsigned(number)) => visitor.visit_u64(number),
                    Some(Number::Signed(number)) => visitor.visit_i64(number),
                    Some(Number::Other(_)) => Err(Error::invalid_type(Unexpected::Float(0.0), &visitor)),
                    None => Err(self.type_error(&visitor)),
                }
            }
        )*
    };
}

macro_rules! long_integers {
    ($($method:ident $visit:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                let text = match self.next_byte() {
                    Some(b'-' | b'0'..=b'9') => self.number_text()?,
                    _ => return Err(self.type_error(&visitor)),
                };
                match text.parse() {
                    Ok(number) => visitor.$visit(number),
                    Err(_) => Err(Error::invalid_type(Unexpected::Other("number"), &visitor)),
                }
            }
        )*
    };
}

macro_rules! fractions {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                match self.number_value()? {
                    Some(number) => visit_number(number, visitor),
                    None => Err(self.type_error(&visitor)),
                }
            }
        )*
    };
}

macro_rules! strings {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                if let Some(string) = self.string_value()? {
                    return visitor.visit_str(string);
                }
                Err(self.type_error(&visitor))
            }
        )*
    };
}

fn visit_number<'de, V: Visitor<'de>>(number: Number<'_>, visitor: V) -> Result<V::Value, Error> {
    match number {
        Number::Unsigned(number) => visitor.visit_u64(number),
        Number::Signed(number) => visitor.visit_i64(number),
        Number::Other(text) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => visitor.visit_f64(number),
            _ => Err(Error::new(format_args!("number out of range"))),
        },
    }
}

impl<'de> Deserializer<'de> for &mut Parser<'_> {
    type Error = Error;

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }
    long_integers! { deserialize_i128 visit_i128 deserialize_u128 visit_u128 }
    fractions! { deserialize_f32 deserialize_f64 }
    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.next_byte() {
            Some(b'n') => self.deserialize_unit(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            _ => self.deserialize_f64(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.boolean()? {
            Some(value) => visitor.visit_bool(value),
            None => Err(self.type_error(&visitor)),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Some(string) = self.string_value()? {
            return visitor.visit_bytes(string.as_bytes());
        }
        self.deserialize_seq(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.null()? { visitor.visit_unit() } else { Err(self.type_error(&visitor)) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == RAW_VALUE {
            return visitor.visit_map(MapDeserializer::new(std::iter::once((RAW_VALUE, self.skip()?))));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if !self.open(b'[')? {
            return Err(self.type_error(&visitor));
        }
        let mut elements = Elements { parser: self, progress: Progress::Opened };
        let value = visitor.visit_seq(&mut elements)?;
        elements.parser.close(b']', &mut elements.progress)?;
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if !self.open(b'{')? {
            return Err(self.type_error(&visitor));
        }
        let mut entries = Entries { parser: self, progress: Progress::Opened };
        let value = visitor.visit_map(&mut entries)?;
        entries.parser.close(b'}', &mut entries.progress)?;
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if let Some(name) = self.string_value()? {
            return visitor.visit_enum(name.into_deserializer());
        }
        if !self.open(b'{')? {
            return Err(self.type_error(&visitor));
        }
        let mut variant = Entries { parser: self, progress: Progress::Opened };
        let value = visitor.visit_enum(&mut variant)?;
        variant.parser.close(b'}', &mut variant.progress)?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip()?;
        visitor.visit_unit()
    }
}

struct Elements<'p, 't> {
    parser: &'p mut Parser<'t>,
    progress: Progress,
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.parser.next_element(b']', &mut self.progress)? {
            seed.deserialize(&mut *self.parser).map(Some)
        } else {
            Ok(None)
        }
    }
}

/// The fields of an object; one of a single field is also the variant of an enum with a value.
struct Entries<'p, 't> {
    parser: &'p mut Parser<'t>,
    progress: Progress,
}

impl<'de> MapAccess<'de> for &mut Entries<'_, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        match self.parser.next_key(&mut self.progress)? {
            Some(key) => seed.deserialize(Key(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        self.parser.colon()?;
        seed.deserialize(&mut *self.parser)
    }
}

impl<'de> EnumAccess<'de> for &mut Entries<'_, '_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let Some(name) = self.parser.next_key(&mut self.progress)? else {
            return Err(Error::new(format_args!("expected a variant")));
        };
        let variant = seed.deserialize(Key(name))?;
        self.parser.colon()?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Entries<'_, '_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        if self.parser.null()? { Ok(()) } else { Err(self.parser.type_error(&"null")) }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.parser)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.parser.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.parser.deserialize_map(visitor)
    }
}

/// A key is a string, also where the type has numbers or Booleans for keys.
struct Key<'k>(&'k str);

macro_rules! values_within_keys {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                let mut parser = Parser::of(self.0);
                let value = parser.$method(visitor)?;
                parser.end()?;
                Ok(value)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    values_within_keys! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bytes(self.0.as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bytes(self.0.as_bytes())
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
