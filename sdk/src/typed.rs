//! Types of kinds, over JSON: [`kind!`](crate::kind!), [`object!`](crate::object!) and
//! [`choice!`](crate::choice!).
//!
//! A value is JSON with names and types for its fields, so that fields that a type does not know
//! are kept, and a component has code for the fields that it uses alone. Of an object inside of a
//! kind there are two types: one to build it, and one with the ending `View` to read it in place.
//! What is absent reads as `None`, as an empty list, or as an object without fields.
//!
//! `gyre types crd.yaml` writes such types for a CustomResourceDefinition.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bytes::Bytes;
use crate::labels::Labels;
use crate::object::ObservedCondition;

/// An integer or a text, e.g. the number or name of a port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum IntOrText {
    /// An integer.
    Int(i32),
    /// A text, e.g. `25%` or the name of a port.
    Text(String),
}

impl From<i32> for IntOrText {
    fn from(int: i32) -> Self {
        Self::Int(int)
    }
}

impl From<&str> for IntOrText {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for IntOrText {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Display for IntOrText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => write!(formatter, "{int}"),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

/// Reads and sets fields. For the macros of this module.
#[doc(hidden)]
pub mod fields {
    use super::*;

    pub use crate::fields::{get, list, named, object, set, set_inside, text, time};

    #[inline(never)]
    pub fn to_json(value: &Value) -> Vec<u8> {
        // JSON has no value that is no JSON.
        serde_json::to_vec(value).unwrap_or_default()
    }

    #[inline(never)]
    pub fn integer(value: &Value, name: &str) -> Option<i64> {
        value.get(name).and_then(Value::as_i64)
    }

    #[inline(never)]
    pub fn int_or_text(value: &Value, name: &str) -> Option<IntOrText> {
        IntOrText::deserialize(value.get(name)?).ok()
    }

    pub fn entries<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let entries = value.get(name).and_then(Value::as_object).into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), value))
    }

    #[inline(never)]
    pub fn condition(object: &Value, kind: &str) -> Option<ObservedCondition> {
        let created = time(get(object, "metadata"), "creationTimestamp").unwrap_or_default();
        ObservedCondition::find(get(object, "status"), kind, created)
    }

    #[inline(never)]
    pub fn set_text(value: &mut Value, name: &str, text: String) {
        set(value, name, Value::String(text));
    }

    #[inline(never)]
    pub fn text_map(labels: &Labels) -> Value {
        crate::fields::texts(labels)
    }

    pub fn byte_map(bytes: &Bytes) -> Value {
        text_map(bytes.encoded())
    }

    pub fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Value {
        texts.into_iter().map(|text| Value::String(text.into())).collect()
    }
}

/// Defines the type of a kind. `gyre types` writes its uses.
///
/// ```
/// gyre_sdk::kind! {
///     /// A message.
///     Greeting, GreetingView, "example.com/v1" {
///         /// The metadata.
///         object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
///         /// The spec.
///         object(GreetingSpec, GreetingSpecView) spec, with_spec: "spec";
///     }
/// }
/// gyre_sdk::object! {
///     /// What is said.
///     GreetingSpec, GreetingSpecView {
///         /// Any text.
///         text() message, with_message: "message";
///         /// Its tone.
///         choice(Tone) tone, with_tone: "tone";
///     }
/// }
/// gyre_sdk::choice! {
///     /// A tone.
///     Tone {
///         Calm = "Calm",
///         Loud = "Loud",
///     }
/// }
/// use gyre_sdk::k8s::{ObjectMeta, ObjectMetaView};
///
/// let spec = GreetingSpec::new().with_message("Good day.").with_tone(Tone::Calm);
/// let greeting = Greeting::new("hello").with_spec(spec);
/// assert_eq!(greeting.name(), "hello");
/// assert_eq!(greeting.spec().message(), Some("Good day."));
/// assert_eq!(greeting.spec().tone(), Some(Tone::Calm));
/// ```
#[macro_export]
macro_rules! kind {
    ($(#[$documentation:meta])* $name:ident, $view:ident, $api_version:literal {
        $($(#[$about:meta])* $shape:ident($($type:ident),*) $get:ident, $set:ident: $json:literal;)*
    }) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name($crate::reexports::Value);


        impl $crate::Resource for $name {
            const KIND: $crate::Kind = $crate::Kind::new($api_version, stringify!($name));
        }

        impl $name {
            /// The kind.
            pub const KIND: $crate::Kind = $crate::Kind::new($api_version, stringify!($name));

            /// Returns an object of this name, in the parent's namespace if the kind has
            /// namespaces.
            pub fn new(name: impl Into<String>) -> Self {
                Self($crate::typed::fields::named($api_version, stringify!($name), name.into()))
            }

            /// Returns a reference to the object of this name, in the parent's namespace if the
            /// kind has namespaces.
            pub fn named(name: impl Into<String>) -> $crate::ObjectRef {
                Self::KIND.named(name)
            }

            /// Returns the name.
            pub fn name(&self) -> &str {
                $crate::typed::fields::text($crate::typed::fields::get(&self.0, "metadata"), "name").unwrap_or_default()
            }

            /// Returns the namespace, `None` if the object names none.
            pub fn namespace(&self) -> Option<&str> {
                $crate::typed::fields::text($crate::typed::fields::get(&self.0, "metadata"), "namespace")
            }

            /// Returns the labels.
            pub fn labels(&self) -> $crate::LabelsView<'_> {
                $crate::typed::fields::get($crate::typed::fields::get(&self.0, "metadata"), "labels").into()
            }

            /// Returns the annotations.
            pub fn annotations(&self) -> $crate::LabelsView<'_> {
                $crate::typed::fields::get($crate::typed::fields::get(&self.0, "metadata"), "annotations").into()
            }

            /// Returns the condition of this type, if the status has it.
            pub fn condition(&self, kind: &str) -> Option<$crate::ObservedCondition> {
                $crate::typed::fields::condition(&self.0, kind)
            }

            /// Sets a namespace other than the parent's. The operator must grant it.
            pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
                let namespace = $crate::reexports::Value::String(namespace.into());
                $crate::typed::fields::set_inside(&mut self.0, "metadata", "namespace", namespace);
                self
            }

            /// Returns it as a child with a strategy other than that of its kind: see
            /// [`Child::strategy`]($crate::Child::strategy).
            pub fn strategy(self, strategy: $crate::Strategy) -> $crate::Child {
                $crate::Child::from(self).strategy(strategy)
            }

            #[doc(hidden)]
            #[deprecated(note = "write `strategy`")]
            pub fn with_strategy(self, strategy: $crate::Strategy) -> $crate::Child {
                self.strategy(strategy)
            }

            /// Sets the labels. The host adds its own.
            pub fn with_labels(mut self, labels: impl Into<$crate::Labels>) -> Self {
                let labels = $crate::typed::fields::text_map(&labels.into());
                $crate::typed::fields::set_inside(&mut self.0, "metadata", "labels", labels);
                self
            }

            /// Sets the annotations. The host adds its own.
            pub fn with_annotations(mut self, annotations: impl Into<$crate::Labels>) -> Self {
                let annotations = $crate::typed::fields::text_map(&annotations.into());
                $crate::typed::fields::set_inside(&mut self.0, "metadata", "annotations", annotations);
                self
            }

            /// Returns the object as JSON.
            pub fn as_json(&self) -> &$crate::reexports::Value {
                &self.0
            }

            /// Returns it to be read.
            pub fn view(&self) -> $view<'_> {
                $view(&self.0)
            }

            $($crate::field_of! {
                @get [&self] ['_] $(#[$about])* $shape($($type),*) $get: $json
            })*
            $($crate::field_of! {
                @set $(#[$about])* $shape($($type),*) $get, $set: $json
            })*
        }

        impl $crate::Named for $name {
            fn namespace(&self) -> Option<&str> {
                $name::namespace(self)
            }

            fn name(&self) -> &str {
                $name::name(self)
            }
        }

        #[cfg(not(target_family = "wasm"))]
        impl $crate::parent::Parent for $name {
            fn uid(&self) -> &str {
                $crate::parent::typed_uid(&self.0)
            }

            fn namespace(&self) -> Option<&str> {
                $name::namespace(self)
            }

            fn complete(&mut self, missing: &$crate::parent::Missing) {
                $crate::parent::complete_typed(&mut self.0, missing);
            }
        }

        $crate::view_of! {
            $name, $view { $($(#[$about])* $shape($($type),*) $get: $json;)* }
        }

        impl From<$name> for $crate::reexports::Value {
            fn from(object: $name) -> Self {
                object.0
            }
        }
    };
}

/// Defines the types of an object inside of a kind: one to build it, one to read it. After the name
/// may be the field that `new` takes, because the API server requires it: `Container(name: text)`.
#[macro_export]
macro_rules! object {
    ($(#[$documentation:meta])* $name:ident $(($($key:ident: $key_shape:ident $(= $choice:ident)?),+))?, $view:ident {
        $($(#[$about:meta])* $shape:ident($($type:ident),*) $get:ident, $set:ident: $json:literal;)*
    }) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name($crate::reexports::Value);

        $crate::new_of! { $name $(($($key: $key_shape $(= $choice)?),+))? }

        impl $name {
            /// Returns it to be read.
            pub fn view(&self) -> $view<'_> {
                $view(&self.0)
            }

            $($crate::field_of! {
                @set $(#[$about])* $shape($($type),*) $get, $set: $json
            })*
        }

        $crate::view_of! {
            $name, $view { $($(#[$about])* $shape($($type),*) $get: $json;)* }
        }

        impl From<$name> for $crate::reexports::Value {
            fn from(object: $name) -> Self {
                object.0
            }
        }
    };
}

/// The function `new` of an object inside of a kind.
#[doc(hidden)]
#[macro_export]
macro_rules! new_of {
    ($name:ident) => {
        impl $name {
            /// Returns an object without fields.
            pub fn new() -> Self {
                Self($crate::typed::fields::object())
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    ($name:ident($set:ident: text)) => {
        $crate::new_of! { @with $name, $set, impl Into<String> }
    };
    ($name:ident($set:ident: int)) => {
        $crate::new_of! { @with $name, $set, i32 }
    };
    ($name:ident($set:ident: int_or_text)) => {
        $crate::new_of! { @with $name, $set, impl Into<$crate::typed::IntOrText> }
    };
    ($name:ident($set:ident: choice = $choice:ident)) => {
        $crate::new_of! { @with $name, $set, $choice }
    };
    ($name:ident($set_name:ident: text, $set_image:ident: text)) => {
        impl $name {
            /// Returns one with this name and image.
            pub fn new(name: impl Into<String>, image: impl Into<String>) -> Self {
                Self($crate::typed::fields::object()).$set_name(name).$set_image(image)
            }
        }
    };
    (@with $name:ident, $set:ident, $type:ty) => {
        impl $name {
            /// Returns an object with the field that the API server requires, or the name.
            pub fn new(required: $type) -> Self {
                Self($crate::typed::fields::object()).$set(required)
            }
        }
    };
}

/// The type that reads an object in place.
#[doc(hidden)]
#[macro_export]
macro_rules! view_of {
    ($name:ident, $view:ident { $($(#[$about:meta])* $shape:ident($($type:ident),*) $get:ident: $json:literal;)* }) => {
        #[doc = concat!("Reads a [`", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $view<'a>(&'a $crate::reexports::Value);

        impl<'a> $view<'a> {
            /// Returns whether the object exists.
            pub fn exists(self) -> bool {
                !self.0.is_null()
            }

            /// Returns a copy, to be changed.
            pub fn to_owned(self) -> $name {
                $name(self.0.clone())
            }

            $($crate::field_of! {
                @get [self] ['a] $(#[$about])* $shape($($type),*) $get: $json
            })*
        }

        impl<'de> $crate::reexports::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::reexports::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::reexports::Value::deserialize(deserializer).map(Self)
            }
        }

        impl $crate::reexports::serde::Serialize for $name {
            fn serialize<S: $crate::reexports::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<'a> From<&'a $crate::reexports::Value> for $view<'a> {
            fn from(value: &'a $crate::reexports::Value) -> Self {
                Self(value)
            }
        }
    };
}

/// Defines the type of a text of which there are only some.
#[macro_export]
macro_rules! choice {
    ($(#[$documentation:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`.")] $variant,)*
        }

        impl $name {
            /// Returns the text.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Returns the value with this text.
            pub fn from_text(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}

/// The methods of a field.
#[doc(hidden)]
#[macro_export]
macro_rules! field_of {
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* text() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> Option<&$life str> {
            $crate::typed::fields::text($crate::field_of!(@value $($self)*), $json)
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* int() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> Option<i32> {
            $crate::typed::fields::integer($crate::field_of!(@value $($self)*), $json)?.try_into().ok()
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* long() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> Option<i64> {
            $crate::typed::fields::integer($crate::field_of!(@value $($self)*), $json)
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* number() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> Option<f64> {
            $crate::typed::fields::get($crate::field_of!(@value $($self)*), $json).as_f64()
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* flag() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> Option<bool> {
            $crate::typed::fields::get($crate::field_of!(@value $($self)*), $json).as_bool()
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* time() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> Option<$crate::Time> {
            $crate::typed::fields::time($crate::field_of!(@value $($self)*), $json)
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* int_or_text() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> Option<$crate::typed::IntOrText> {
            $crate::typed::fields::int_or_text($crate::field_of!(@value $($self)*), $json)
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* json() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> &$life $crate::reexports::Value {
            $crate::typed::fields::get($crate::field_of!(@value $($self)*), $json)
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* object($name:ident, $view:ident) $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> $view<$life> {
            $crate::typed::fields::get($crate::field_of!(@value $($self)*), $json).into()
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* choice($name:ident) $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> Option<$name> {
            $name::from_text($crate::typed::fields::text($crate::field_of!(@value $($self)*), $json)?)
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* texts() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> impl Iterator<Item = &$life str> + use<$life> {
            $crate::typed::fields::list($crate::field_of!(@value $($self)*), $json).iter().filter_map(|text| text.as_str())
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* longs() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> impl Iterator<Item = i64> + use<$life> {
            $crate::typed::fields::list($crate::field_of!(@value $($self)*), $json).iter().filter_map(|number| number.as_i64())
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* objects($name:ident, $view:ident) $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> impl DoubleEndedIterator<Item = $view<$life>> + ExactSizeIterator + use<$life> {
            $crate::typed::fields::list($crate::field_of!(@value $($self)*), $json).iter().map(Into::into)
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* choices($name:ident) $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> impl Iterator<Item = $name> + use<$life> {
            let texts = $crate::typed::fields::list($crate::field_of!(@value $($self)*), $json).iter();
            texts.filter_map(|text| $name::from_text(text.as_str()?))
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* text_map() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> $crate::LabelsView<$life> {
            $crate::typed::fields::get($crate::field_of!(@value $($self)*), $json).into()
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* byte_map() $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> $crate::BytesView<$life> {
            $crate::typed::fields::get($crate::field_of!(@value $($self)*), $json).into()
        }
    };
    (@get [$($self:tt)*] [$life:lifetime] $(#[$about:meta])* object_map($name:ident, $view:ident) $get:ident: $json:literal) => {
        $(#[$about])*
        pub fn $get($($self)*) -> impl Iterator<Item = (&$life str, $view<$life>)> + use<$life> {
            let entries = $crate::typed::fields::entries($crate::field_of!(@value $($self)*), $json);
            entries.map(|(key, value)| (key, value.into()))
        }
    };

    (@value & $self:ident) => { &$self.0 };
    (@value $self:ident) => { $self.0 };

    (@set $(#[$about:meta])* text() $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: impl Into<String>) -> Self {
            $crate::typed::fields::set_text(&mut self.0, $json, $get.into());
            self
        }
    };
    (@set $(#[$about:meta])* int() $get:ident, $set:ident: $json:literal) => {
        $crate::field_of! { @put $(#[$about])* $get, $set: $json, i32 }
    };
    (@set $(#[$about:meta])* long() $get:ident, $set:ident: $json:literal) => {
        $crate::field_of! { @put $(#[$about])* $get, $set: $json, i64 }
    };
    (@set $(#[$about:meta])* number() $get:ident, $set:ident: $json:literal) => {
        $crate::field_of! { @put $(#[$about])* $get, $set: $json, f64 }
    };
    (@set $(#[$about:meta])* flag() $get:ident, $set:ident: $json:literal) => {
        $crate::field_of! { @put $(#[$about])* $get, $set: $json, bool }
    };
    (@set $(#[$about:meta])* json() $get:ident, $set:ident: $json:literal) => {
        $crate::field_of! { @put $(#[$about])* $get, $set: $json, impl Into<$crate::reexports::Value> }
    };
    (@set $(#[$about:meta])* object($name:ident, $view:ident) $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: impl Into<$name>) -> Self {
            $crate::typed::fields::set(&mut self.0, $json, $get.into().into());
            self
        }
    };
    (@set $(#[$about:meta])* time() $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: $crate::Time) -> Self {
            $crate::typed::fields::set_text(&mut self.0, $json, $get.to_string());
            self
        }
    };
    (@set $(#[$about:meta])* int_or_text() $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: impl Into<$crate::typed::IntOrText>) -> Self {
            let value = match $get.into() {
                $crate::typed::IntOrText::Int(int) => int.into(),
                $crate::typed::IntOrText::Text(text) => text.into(),
            };
            $crate::typed::fields::set(&mut self.0, $json, value);
            self
        }
    };
    (@set $(#[$about:meta])* choice($name:ident) $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: $name) -> Self {
            $crate::typed::fields::set_text(&mut self.0, $json, $get.as_str().to_owned());
            self
        }
    };
    (@set $(#[$about:meta])* texts() $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set<T: Into<String>>(mut self, $get: impl IntoIterator<Item = T>) -> Self {
            $crate::typed::fields::set(&mut self.0, $json, $crate::typed::fields::texts($get));
            self
        }
    };
    (@set $(#[$about:meta])* longs() $get:ident, $set:ident: $json:literal) => {
        $crate::field_of! { @put_all $(#[$about])* $get, $set: $json, i64 }
    };
    // Variables may be pairs. For other types, an empty array would then need a type.
    (@set $(#[$about:meta])* objects(EnvVar, $view:ident) $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: impl IntoIterator<Item: Into<EnvVar>>) -> Self {
            let list: Vec<$crate::reexports::Value> = $get.into_iter().map(|variable| variable.into().into()).collect();
            $crate::typed::fields::set(&mut self.0, $json, list.into());
            self
        }
    };
    (@set $(#[$about:meta])* objects($name:ident, $view:ident) $get:ident, $set:ident: $json:literal) => {
        $crate::field_of! { @put_all $(#[$about])* $get, $set: $json, $name }
    };
    (@set $(#[$about:meta])* choices($name:ident) $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: impl IntoIterator<Item = $name>) -> Self {
            let texts = $crate::typed::fields::texts($get.into_iter().map(|choice| choice.as_str()));
            $crate::typed::fields::set(&mut self.0, $json, texts);
            self
        }
    };
    (@set $(#[$about:meta])* text_map() $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: impl Into<$crate::Labels>) -> Self {
            $crate::typed::fields::set(&mut self.0, $json, $crate::typed::fields::text_map(&$get.into()));
            self
        }
    };
    (@set $(#[$about:meta])* byte_map() $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set(mut self, $get: impl Into<$crate::Bytes>) -> Self {
            $crate::typed::fields::set(&mut self.0, $json, $crate::typed::fields::byte_map(&$get.into()));
            self
        }
    };
    (@set $(#[$about:meta])* object_map($name:ident, $view:ident) $get:ident, $set:ident: $json:literal) => {
        $(#[$about])*
        pub fn $set<K: Into<String>>(mut self, $get: impl IntoIterator<Item = (K, $name)>) -> Self {
            let mut entries = $crate::typed::fields::object();
            for (key, value) in $get {
                $crate::typed::fields::set(&mut entries, &key.into(), value.into());
            }
            $crate::typed::fields::set(&mut self.0, $json, entries);
            self
        }
    };
    (@put $(#[$about:meta])* $get:ident, $set:ident: $json:literal, $type:ty) => {
        $(#[$about])*
        pub fn $set(mut self, $get: $type) -> Self {
            $crate::typed::fields::set(&mut self.0, $json, $get.into());
            self
        }
    };
    (@put_all $(#[$about:meta])* $get:ident, $set:ident: $json:literal, $type:ty) => {
        $(#[$about])*
        pub fn $set(mut self, $get: impl IntoIterator<Item = $type>) -> Self {
            let list: Vec<$crate::reexports::Value> = $get.into_iter().map(Into::into).collect();
            $crate::typed::fields::set(&mut self.0, $json, list.into());
            self
        }
    };
}
