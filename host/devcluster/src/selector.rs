//! Label and field selectors.

mod fields;
mod labels;
mod lexer;

pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;

#[cfg(test)]
mod tests;
