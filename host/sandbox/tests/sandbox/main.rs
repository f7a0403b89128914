//! What the sandbox promises to plugins that behave, and what it says to those that are none.

#[cfg(test)]
mod cache;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod loading;
#[cfg(test)]
mod native;
#[cfg(test)]
mod probe;
#[cfg(test)]
mod purity;
#[cfg(test)]
#[path = "../stage/mod.rs"]
mod stage;
