//! gyre-sdk.
