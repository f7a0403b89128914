//! Reads what people write (YAML and JSON, manifests of objects, settings) and reports problems.
//!
//! ```text
//! text ──▶ document: values with positions ──▶ settings ──▶ JSON, or problems
//!                                                       ▲ schema of the plugin
//! files, directories ──▶ manifests: objects
//! ```
//!
//! The modules form layers. Each imports only from modules below it in this table:
//!
//! | module | what it does |
//! |---|---|
//! | [`manifests`], [`settings`] | reads objects from files; checks the settings of a plugin |
//! | [`schema`], `schema_cost` | describes errors of a JSON Schema; limits the cost of validation |
//! | [`document`] | a YAML document as a tree with the position of each value |
//! | [`problem`] | a problem: its place, what it is, and the remedy |
//!
//! What is absent: the keys of the configuration file and the command line, which are in `gyre`.

pub mod document;
pub mod manifests;
pub mod problem;
pub mod schema;
mod schema_cost;
pub mod settings;
