//! What a call is given and what it leaves behind, whether its plugin is a component or native code.

use std::time::SystemTime;

use crate::call::{self, Call, Usage};
use crate::state::Access;
use crate::world::{Nothing, World};

/// What surrounds a call.
pub(crate) struct Context<'a> {
    pub(crate) seed: &'a str,
    pub(crate) now: SystemTime,
    pub(crate) access: Access,
}

/// How a call went.
pub(crate) struct Outcome<T> {
    pub(crate) result: Result<T, call::Error>,
    pub(crate) usage: Usage,
    pub(crate) world: Option<Box<dyn World>>,
}

impl<T> Outcome<T> {
    pub(crate) fn into_call(self) -> Call<T> {
        Call { result: self.result, usage: self.usage, world: self.world.unwrap_or_else(|| Box::new(Nothing)) }
    }
}
