//! Keys, and signatures by them.

#[cfg(test)]
mod keys;
