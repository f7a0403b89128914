//! The client against a registry in this process, which lies, stops, and leads astray.

#[cfg(test)]
mod authorization;
#[cfg(test)]
mod busy;
#[cfg(test)]
mod client;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod pull;
#[cfg(test)]
mod push;
#[cfg(test)]
mod redirects;
#[cfg(test)]
mod server;
#[cfg(test)]
mod signatures;
#[cfg(test)]
mod tls;
