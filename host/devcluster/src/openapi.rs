//! stub
use crate::answer::Answer;
use crate::kinds::Kinds;

pub(crate) fn index(_: &Kinds) -> Answer {
    Answer::no_such_page()
}
pub(crate) fn document(_: &Kinds, _: &str) -> Option<Answer> {
    None
}
