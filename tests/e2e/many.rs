//! Many plugins in one host.
