//! The bindings that `wit-bindgen` generates from `wit/v0.1.0`, which documents them. They are
//! public only for [`export!`](crate::export).

wit_bindgen::generate!({
    path: "wit/v0.1.0",
    world: "plugin",
    pub_export_macro: true,
    ownership: Borrowing { duplicate_if_necessary: true },
});
