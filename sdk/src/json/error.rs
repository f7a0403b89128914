//! Why JSON was not read or written.

use std::fmt::{self, Display};

use serde::de::{Expected, Unexpected};

/// One sentence, in the words of `serde_json`. As small as a pointer, since every result has room for it.
#[derive(Debug)]
pub(crate) struct Error(Box<Message>);

#[derive(Debug)]
struct Message(String);

impl Error {
    #[cold]
    #[inline(never)]
    pub(super) fn new(message: fmt::Arguments<'_>) -> Self {
        Self(Box::new(Message(fmt::format(message))))
    }
}

impl Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.0)
    }
}

impl std::error::Error for Error {}

impl serde::ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(format_args!("{message}"))
    }
}

/// The sentences with parts of their own are here and not in each place that fails, which there are many of.
impl serde::de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(format_args!("{message}"))
    }

    #[cold]
    #[inline(never)]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format_args!("invalid type: {}, expected {expected}", Found(unexpected)))
    }

    #[cold]
    #[inline(never)]
    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format_args!("invalid value: {}, expected {expected}", Found(unexpected)))
    }

    #[cold]
    #[inline(never)]
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format_args!("unknown variant `{variant}`, {}", OneOf("variants", expected)))
    }

    #[cold]
    #[inline(never)]
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format_args!("unknown field `{field}`, {}", OneOf("fields", expected)))
    }

    #[cold]
    #[inline(never)]
    fn missing_field(field: &'static str) -> Self {
        Self::new(format_args!("missing field `{field}`"))
    }

    #[cold]
    #[inline(never)]
    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format_args!("duplicate field `{field}`"))
    }
}

/// As `serde` words it, without the digits of numbers with fractions: printing those takes kilobytes of code.
struct Found<'a>(Unexpected<'a>);

impl Display for Found<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Unexpected::Bool(value) => return write!(formatter, "boolean `{value}`"),
            Unexpected::Unsigned(value) => return write!(formatter, "integer `{value}`"),
            Unexpected::Signed(value) => return write!(formatter, "integer `{value}`"),
            Unexpected::Str(value) => return write!(formatter, "string {value:?}"),
            Unexpected::Char(value) => return write!(formatter, "character `{value}`"),
            Unexpected::Other(what) => what,
            Unexpected::Float(_) => "floating point number",
            Unexpected::Bytes(_) => "byte array",
            Unexpected::Unit => "null",
            Unexpected::Option => "Option value",
            Unexpected::NewtypeStruct => "newtype struct",
            Unexpected::Seq => "sequence",
            Unexpected::Map => "map",
            Unexpected::Enum => "enum",
            Unexpected::UnitVariant => "unit variant",
            Unexpected::NewtypeVariant => "newtype variant",
            Unexpected::TupleVariant => "tuple variant",
            Unexpected::StructVariant => "struct variant",
        })
    }
}

/// As `serde` words it, but without a panic, which would write into the component where its author keeps the source of `serde`.
struct OneOf(&'static str, &'static [&'static str]);

impl Display for OneOf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            [] => write!(formatter, "there are no {}", self.0),
            [only] => write!(formatter, "expected `{only}`"),
            [one, other] => write!(formatter, "expected `{one}` or `{other}`"),
            [first, others @ ..] => {
                write!(formatter, "expected one of `{first}`")?;
                others.iter().try_for_each(|other| write!(formatter, ", `{other}`"))
            }
        }
    }
}
