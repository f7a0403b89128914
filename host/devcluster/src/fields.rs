//! stub
use jiff::Timestamp;
use serde_json::Value;

use crate::schema::SchemaRef;
use crate::status::Status;

pub struct Manager<'a> {
    pub name: &'a str,
    pub api_version: &'a str,
    pub subresource: &'a str,
}
pub enum Force {
    Yes,
    No,
}
pub struct Error(Status);
impl Error {
    pub fn into_status(self) -> Status {
        self.0
    }
}
pub fn record_update(_: Option<&Value>, _: &mut Value, _: SchemaRef<'_>, _: &Manager<'_>, _: &[Vec<&str>], _: Timestamp) {}
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    _: SchemaRef<'_>,
    _: &Manager<'_>,
    _: Force,
    _: &[Vec<&str>],
    _: Timestamp,
) -> Result<Value, Error> {
    match live {
        None => Ok(applied.clone()),
        Some(live) => crate::patch::merge::apply(live, applied).map_err(Error),
    }
}
pub fn same_but_for_times(old: &Value, new: &Value) -> bool {
    old == new
}
