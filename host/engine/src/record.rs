//! Recording calls: what a plugin was given and what it answered, so that the call can be made again elsewhere.
//!
//! A call is a pure function of its input and of what it read. A [`CallRecord`] has both, and the answer.
//!
//! ```text
//!   call ──▶ world (Transcript) ──▶ CallRecord ──▶ Recordings ──▶ session (bounded) ──▶ Writer ──▶ lines ──▶ serve ──▶ `gyre record`
//!                                                      └──▶ whoever else listens          └ redact: no values of Secrets
//!   file ──▶ Reader ──▶ CallInputs ──▶ the call, once more (`replay`)
//! ```
//!
//! Without a listener nothing is kept. A host writes no recording to a disk: it may have none, and who records wants the file elsewhere.

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
