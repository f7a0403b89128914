//! stub
use serde_json::Value;

use crate::answer::Answer;
use crate::kinds::Kinds;
use crate::request::accept::Accept;

pub(crate) fn core(_: &Kinds, _: Accept) -> Answer {
    Answer::no_such_page()
}
pub(crate) fn groups(_: &Kinds, _: Accept) -> Answer {
    Answer::no_such_page()
}
pub(crate) fn group(_: &Kinds, _: &str) -> Option<Answer> {
    None
}
pub(crate) fn version(_: &Kinds, _: &str, _: &str) -> Option<Answer> {
    None
}
pub(crate) fn paths(_: &Kinds) -> Value {
    Value::Null
}
