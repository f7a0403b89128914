//! Reads what people write: YAML and JSON, manifests of objects, and settings of plugins; and says what is wrong with it.
//!
//! ```text
//! text ──▶ document: values with their positions ──▶ settings ──▶ JSON, or problems: where, what, and what to do
//!                                                       ▲ schema of the plugin
//! files, directories ──▶ manifests: objects
//! ```
//!
//! The modules form layers. Each imports only from modules below it in this table:
//!
//! | module | what it does |
//! |---|---|
//! | [`manifests`], [`settings`] | reads objects from files and directories; checks the settings of a plugin |
//! | [`schema`], `schema_cost` | describes what a JSON Schema finds wrong; limits what validating by a schema may cost |
//! | [`document`] | a YAML document as a tree that knows the position of each value |
//! | [`problem`] | something that is wrong: where, what, and what to do |
//!
//! What is absent: the keys of the configuration file and the command line, which are in `gyre`.

pub mod document;
pub mod manifests;
pub mod problem;
pub mod schema;
mod schema_cost;
pub mod settings;
