//! The tests, which the library describes.

#[cfg(test)]
mod alerts;
#[cfg(test)]
mod artifacts;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod dashboard;
#[cfg(test)]
mod echoperator;
#[cfg(test)]
mod host;
#[cfg(test)]
mod image;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod render;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod values;
#[cfg(test)]
mod values_of_plugins;
