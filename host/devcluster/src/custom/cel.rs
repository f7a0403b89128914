//! Rules of `x-kubernetes-validations`: CEL expressions over a value and the one that it replaces.
//!
//! The library parses and evaluates; what it lacks of the server's behaviour is here: programs that cannot run for ever
//! ([`super::program`]), values as the schema types them ([`value`]), and where rules apply and what they say when they fail ([`rules`]).

mod check;
mod rules;
mod value;

pub(crate) use check::{Expected, check};
pub(crate) use rules::{Ratchet, validate};
pub(crate) use value::Root;
