//! The guarantees of the sandbox for plugins, and its errors for other bytes.

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
