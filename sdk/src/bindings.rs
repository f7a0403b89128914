//! The contract, as `wit-bindgen` has it: generated from `wit/v0.1.0`, which documents it.
//!
//! It is public for what [`export!`](crate::export) expands to, and for nothing else.

wit_bindgen::generate!({
    path: "wit/v0.1.0",
    world: "plugin",
    pub_export_macro: true,
    ownership: Borrowing { duplicate_if_necessary: true },
});
