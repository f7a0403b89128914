//! Rules of `x-kubernetes-validations`: CEL expressions over a value and the one that it replaces.
//!
//! The library parses and evaluates; what it lacks of the server's behaviour is here: programs that cannot run for ever
//! ([`Program`]), values as the schema types them ([`value`]), and where rules apply and what they say when they fail ([`rules`]).

mod check;
mod program;
mod rules;
mod value;

pub(crate) use check::{Expected, check};
pub(crate) use program::{Program, escape};
pub(crate) use rules::{Ratchet, validate};
pub(crate) use value::Root;

use super::structural::Rule;

/// The programs of a rule.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The rule itself.
    pub(crate) rule: Result<Program, String>,
    /// What gives the message, if there is such an expression.
    pub(crate) message: Option<Result<Program, String>>,
}

impl Compiled {
    pub(crate) fn new(rule: &Rule) -> Self {
        let message = Some(rule.message_expression.as_str()).filter(|text| !text.is_empty());
        Self { rule: Program::parse(&rule.rule), message: message.map(Program::parse) }
    }
}
