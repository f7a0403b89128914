//! The context and result of a call, for components and native code.

use std::time::SystemTime;

use crate::call::{self, Call, Usage};
use crate::host_imports::{HostImports, NoImports};
use crate::state::Access;

pub(crate) struct Context<'a> {
    pub(crate) seed: &'a str,
    pub(crate) now: SystemTime,
    pub(crate) access: Access,
}

pub(crate) struct Execution<T> {
    pub(crate) result: Result<T, call::Error>,
    pub(crate) usage: Usage,
    pub(crate) imports: Option<Box<dyn HostImports>>,
}

impl<T> Execution<T> {
    pub(crate) fn into_call(self) -> Call<T> {
        Call { result: self.result, usage: self.usage, imports: self.imports.unwrap_or_else(|| Box::new(NoImports)) }
    }
}
