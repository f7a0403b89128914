//! From any type to a [`Text`].

use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant, Serializer,
};

use super::RAW_VALUE;
use super::error::Error;
use super::text::{First, Text};

macro_rules! numbers {
    ($($method:ident $type:ident $write:ident)*) => {
        $(
            fn $method(self, number: $type) -> Result<(), Error> {
                self.$write(number.into());
                Ok(())
            }
        )*
    };
}

impl<'t> Serializer for &'t mut Text {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = List<'t>;
    type SerializeTuple = List<'t>;
    type SerializeTupleStruct = List<'t>;
    type SerializeTupleVariant = List<'t>;
    type SerializeMap = Fields<'t>;
    type SerializeStruct = Fields<'t>;
    type SerializeStructVariant = Fields<'t>;

    numbers! {
        serialize_i8 i8 signed serialize_i16 i16 signed serialize_i32 i32 signed serialize_i64 i64 signed
        serialize_u8 u8 unsigned serialize_u16 u16 unsigned serialize_u32 u32 unsigned serialize_u64 u64 unsigned
    }

    fn serialize_i128(self, number: i128) -> Result<(), Error> {
        self.push(&number.to_string());
        Ok(())
    }

    fn serialize_u128(self, number: u128) -> Result<(), Error> {
        self.push(&number.to_string());
        Ok(())
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        self.fraction(&number)
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        self.fraction(&number)
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.push(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_char(self, character: char) -> Result<(), Error> {
        self.string(character.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, string: &str) -> Result<(), Error> {
        self.string(string);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.push("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut first = self.open(b'{');
        self.field(&mut first, variant);
        value.serialize(&mut *self)?;
        self.byte(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'t>, Error> {
        Ok(List { first: self.open(b'['), text: self, closing: "]" })
    }

    fn serialize_tuple(self, _: usize) -> Result<List<'t>, Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'t>, Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<List<'t>, Error> {
        let mut first = self.open(b'{');
        self.field(&mut first, variant);
        Ok(List { first: self.open(b'['), text: self, closing: "]}" })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields<'t>, Error> {
        Ok(Fields { first: self.open(b'{'), text: self, form: Form::Object })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'t>, Error> {
        if name == RAW_VALUE {
            return Ok(Fields { first: First::default(), form: Form::Raw(self.length()), text: self });
        }
        self.serialize_map(None)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Fields<'t>, Error> {
        let mut first = self.open(b'{');
        self.field(&mut first, variant);
        Ok(Fields { first: self.open(b'{'), text: self, form: Form::Variant })
    }
}

impl Text {
    /// `serde_json` finds the shortest digits. Only types with fractions draw it in.
    fn fraction(&mut self, number: &impl Serialize) -> Result<(), Error> {
        self.push(&serde_json::to_string(number).map_err(Error::custom)?);
        Ok(())
    }
}

/// An array.
pub(super) struct List<'t> {
    text: &'t mut Text,
    first: First,
    closing: &'static str,
}

impl List<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.text.separate(&mut self.first);
        value.serialize(&mut *self.text)
    }
}

macro_rules! lists {
    ($($trait:ident $method:ident)*) => {
        $(
            impl $trait for List<'_> {
                type Ok = ();
                type Error = Error;

                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                    self.element(value)
                }

                fn end(self) -> Result<(), Error> {
                    self.text.push(self.closing);
                    Ok(())
                }
            }
        )*
    };
}

lists! {
    SerializeSeq serialize_element SerializeTuple serialize_element
    SerializeTupleStruct serialize_field SerializeTupleVariant serialize_field
}

/// An object.
pub(super) struct Fields<'t> {
    text: &'t mut Text,
    first: First,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Object,
    /// In an object of its own, under the variant's name.
    Variant,
    /// A [`RawValue`](serde_json::value::RawValue), which starts here. Its one field is a string, and that is JSON.
    Raw(usize),
}

impl Fields<'_> {
    #[inline(never)]
    fn key(&mut self, key: &str) {
        match self.form {
            Form::Object | Form::Variant => self.text.field(&mut self.first, key),
            Form::Raw(_) => {}
        }
    }

    #[inline(never)]
    fn close(self) -> Result<(), Error> {
        match self.form {
            Form::Object => self.text.push("}"),
            Form::Variant => self.text.push("}}"),
            Form::Raw(start) => return self.text.unquote(start),
        }
        Ok(())
    }
}

impl SerializeMap for Fields<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.text.separate(&mut self.first);
        let start = self.text.length();
        key.serialize(&mut *self.text)?;
        self.text.end_key(start)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.text)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

macro_rules! structs {
    ($($trait:ident)*) => {
        $(
            impl $trait for Fields<'_> {
                type Ok = ();
                type Error = Error;

                fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                    self.key(key);
                    value.serialize(&mut *self.text)
                }

                fn end(self) -> Result<(), Error> {
                    self.close()
                }
            }
        )*
    };
}

structs! { SerializeStruct SerializeStructVariant }
