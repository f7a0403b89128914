//! Recordings of calls. A call is a pure function of its input and its reads; a [`CallRecord`] has
//! both, and the answer, so that the call can be repeated elsewhere.
//!
//! ```text
//!   call ─▶ Transcript ─▶ CallRecord ─▶ Recordings ─▶ session (bounded) ─▶ Writer (redacts)
//!                                           └─▶ other listeners               └─▶ `gyre record`
//!   file ─▶ Reader ─▶ CallInputs ─▶ the call, repeated (`replay`)
//! ```
//!
//! Without a listener nothing is kept. A host writes no recording to a disk, which it may not have.

mod call_inputs;
mod call_record;
mod convert;
pub mod format;
mod reader;
mod recordings;
mod redact;
pub(crate) mod session;
mod strings;
mod text;
mod writer;

pub use self::call_inputs::{CallInputs, CallResult};
pub(crate) use self::call_record::Transcript;
pub use self::call_record::{CallAnswer, CallRecord, Question, Reply};
pub use self::reader::{Ending, Error, Reader};
pub use self::recordings::{Listening, Recordings};
pub use self::redact::Redaction;
pub use self::writer::{Bounds, Writer};
pub use crate::call::Ask;
