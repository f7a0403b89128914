//! Everything that a gyre plugin depends on.
//!
//! A plugin is a pure function: given an object of the kind that it reconciles (the parent) and what it chooses to read,
//! it returns the child objects and the status that should exist. The host watches, caches, queues, compares, writes,
//! retries and reports.
//!
//! ```text
//!   host ──▶ component (bindings of wit/v0.1.0) ──▶ call (JSON to the author's types) ──▶ impl Reconciler
//!                                                                                            │      │
//!   host ◀── component ◀── call ◀── Response, Failure ◀──────────────────────────────────────┘      │
//!   host ◀──────────────────────────── Cluster::children, get, list; log ◀──────────────────────────┘
//! ```
//!
//! A whole plugin:
//!
//! ```
//! use gyre_sdk::{Cluster, Condition, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! const GREETING: Kind = Kind::new("example.com/v1", "Greeting");
//! const CONFIG_MAP: Kind = Kind::new("v1", "ConfigMap");
//!
//! #[derive(Deserialize)]
//! struct GreetingSpec {
//!     text: String,
//! }
//!
//! struct Greeter;
//!
//! impl Reconciler for Greeter {
//!     type Parent = Object<GreetingSpec, NoStatus>;
//!     type Settings = NoSettings;
//!
//!     fn manifest() -> Manifest {
//!         Manifest::new("greeter", "0.1.0", GREETING).child(CONFIG_MAP, Strategy::Apply)
//!     }
//!
//!     fn reconcile(greeting: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
//!         let name = &greeting.metadata.name;
//!         let config_map = json!({
//!             "apiVersion": "v1",
//!             "kind": "ConfigMap",
//!             "metadata": {"name": name},
//!             "data": {"text": greeting.spec.text},
//!         });
//!         let ready = Condition::yes("Ready", "Written", format!("ConfigMap {name} holds the text"));
//!         Ok(Response::new().apply(&config_map)?.condition(ready))
//!     }
//! }
//!
//! gyre_sdk::export!(Greeter);
//!
//! // And its test: plain Rust, no cluster, no Wasm.
//! use gyre_sdk::testing;
//!
//! let parent = json!({"metadata": {"name": "hello", "uid": "1"}, "spec": {"text": "Good day."}});
//! let response = testing::reconcile::<Greeter>(parent, json!({}), &testing::Cluster::new()).unwrap();
//! assert_eq!(response.applied(CONFIG_MAP, "hello").unwrap()["data"]["text"], "Good day.");
//! ```
//!
//! Built for the target `wasm32-wasip2` with `crate-type = ["cdylib"]`, it is a component that gyre mounts.
//!
//! What is absent: a client, a queue, `async`, random numbers, and any way to write. Of the parent neither
//! `resourceVersion` nor `managedFields` can be read: an answer that depended on them would change when nothing did.

mod call;
pub mod clock;
mod cluster;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod component;
mod fingerprint;
pub mod guide;
mod json;
mod kind;
pub mod log;
mod manifest;
pub mod names;
mod object;
mod reconciler;
mod response;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

pub use cluster::{Cluster, Error as ReadError};
pub use fingerprint::fingerprint;
pub use kind::{Kind, ObjectRef};
pub use manifest::{ChildKind, Manifest, Propagation, ReadKind, Strategy};
pub use object::{Desired, Labels, Metadata, Object, ObservedCondition, ObservedConditions};
pub use reconciler::{NoSettings, NoStatus, Reconciler};
pub use response::{Child, Condition, Event, Failure, Response, Severity, Teardown, Truth};

/// Makes a [`Reconciler`] the one that this crate's component exports.
///
/// Where the target is not Wasm nothing is exported, so that the same crate builds natively, as a library and for its tests. A
/// crate exports one reconciler at most, and so do all the crates that are linked into one component.
#[macro_export]
macro_rules! export {
    ($reconciler:ty) => {
        const _: () = {
            #[cfg(target_family = "wasm")]
            type Exported = $crate::component::Component<$reconciler>;
            #[cfg(target_family = "wasm")]
    $crate::component::bindings::export!(Exported with_types_in $crate::component::bindings);

            const fn is_a_reconciler<R: $crate::Reconciler>() {}
            is_a_reconciler::<$reconciler>();
        };
    };
}
