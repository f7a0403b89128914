//! What the sandbox promises to plugins that behave, and what it says to those that are none.

#[path = "../stage/mod.rs"]
mod stage;

mod cache;
mod calls;
mod loading;
mod probe;
mod purity;
