//! Rules of `x-kubernetes-validations`: CEL expressions over a value and the one that it replaces.
//!
//! The library parses and evaluates. This module adds the server's type checks ([`mod@check`]),
//! limits ([`super::program`]), types by the schema ([`value`]), and the errors of failed rules
//! ([`rules`]).

mod check;
mod rules;
mod value;

pub(crate) use check::{Expected, check};
pub(crate) use rules::{Ratchet, validate};
pub(crate) use value::Root;
