//! A cluster in memory, and a host that works on it until it rests: what `gyre render`, `gyre test` and `gyre check` are made of, for the test
//! kit of plugins (`gyre-test`), which is made of it too.
//!
//! ```text
//! objects ──▶ Scene: embedded API server ◀── host::run, in time of its own
//!                                         └──▶ Action: what the host wrote, in order
//! ```

pub use crate::commands::offline::cases::{Case, EXPECTED, Given, cases_in};
pub use crate::commands::offline::check::compare::flapping;
pub use crate::commands::offline::plan::Action;
pub use crate::commands::offline::rendered::Rendered;
pub use crate::commands::offline::scene::{Again, Done, End, Part, Scene, simulated};
pub use crate::manifests::read;
pub use gyre_engine::difference::unified::unified;
pub use gyre_engine::difference::{Subject, Verb, to_yaml};
