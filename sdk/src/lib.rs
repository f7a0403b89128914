//! Everything that a gyre plugin depends on.
//!
//! A plugin is a pure function: given an object of the kind that it reconciles (the parent) and what it chooses to read,
//! it returns the child objects and the status that should exist. The host watches, caches, queues, compares, writes,
//! retries and reports.
//!
//! ```text
//!   host ──▶ component (the contract's types to ours) ──▶ call (JSON to the author's types) ──▶ impl Reconciler
//!                                                                                                  │      │
//!   host ◀── component ◀── call ◀── Response, Failure ◀────────────────────────────────────────────┘      │
//!   host ◀──────────────────────────── Cluster::children, get, list; log ◀────────────────────────────────┘
//! ```
//!
//! A whole plugin, `plugins/greeter` in the repository:
//!
//! ```
//! use gyre_sdk::k8s::ConfigMap;
//! use gyre_sdk::{Cluster, CustomResource, Failure, Manifest, NoSettings, Object, Reconciler, Report, Response, Schema, Strategy};
//! use serde::{Deserialize, Serialize};
//!
//! /// A message that is kept in a ConfigMap.
//! #[derive(Debug, Deserialize, CustomResource)]
//! #[resource(group = "example.com", version = "v1alpha1", kind = "Greeting", status = GreetingStatus, condition("Ready"), age)]
//! pub struct GreetingSpec {
//!     /// Any text.
//!     pub message: String,
//! }
//!
//! /// What the plugin reports.
//! #[derive(Debug, Serialize, Schema)]
//! #[serde(rename_all = "camelCase")]
//! pub struct GreetingStatus {
//!     /// The ConfigMap that holds the message.
//!     pub config_map: String,
//! }
//!
//! struct GreetingReconciler;
//!
//! gyre_sdk::export!(GreetingReconciler);
//!
//! impl Reconciler for GreetingReconciler {
//!     type Parent = Object<GreetingSpec>;
//!     type Settings = NoSettings;
//!
//!     fn manifest() -> Manifest {
//!         gyre_sdk::manifest!(Self::Parent).child(ConfigMap::KIND, Strategy::Apply)
//!     }
//!
//!     fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
//!         let name = &parent.metadata.name;
//!         Response::children()
//!             .apply(&ConfigMap::new(name).data([("message", &parent.spec.message)]))?
//!             .report(Report::ready("Written", format!("ConfigMap {name} holds the message")))
//!             .status(&GreetingStatus { config_map: name.clone() })
//!     }
//! }
//!
//! // And its test: plain Rust, no cluster, no Wasm.
//! use gyre_sdk::testing;
//! use serde_json::json;
//!
//! let parent = json!({"metadata": {"name": "hello", "uid": "1"}, "spec": {"message": "Good day."}});
//! let response = testing::reconcile::<GreetingReconciler>(parent, json!({}), &testing::Cluster::new()).unwrap();
//! assert_eq!(response.applied(ConfigMap::KIND, "hello").unwrap()["data"]["message"], "Good day.");
//! ```
//!
//! Built for the target `wasm32-wasip2` with `crate-type = ["cdylib"]`, it is a component that gyre mounts.
//!
//! What is absent: a client, a queue, `async`, random numbers, and any way to write. Of the parent neither
//! `resourceVersion` nor `managedFields` can be read: an answer that depended on them would change when nothing did.

// What the derive macros expand to names this crate.
#[cfg(test)]
extern crate self as gyre_sdk;

#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod bindings;
mod call;
pub mod clock;
mod cluster;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod component;
mod dynamic;
mod fields;
mod fingerprint;
pub mod guide;
mod host;
pub mod k8s;
mod kind;
mod labels;
pub mod log;
mod manifest;
pub mod names;
mod object;
mod reconciler;
mod resource;
mod response;
pub mod schema;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

pub use cluster::Cluster;
pub use dynamic::DynamicObject;
pub use fingerprint::fingerprint;
pub use host::Error as ReadError;
pub use kind::{Kind, ObjectRef};
pub use labels::Labels;
pub use manifest::{ChildKind, Manifest, Propagation, ReadKind, Strategy};
pub use object::{Metadata, NoStatus, Object};
pub use reconciler::{NoSettings, Reconciler};
pub use resource::CustomResource;
pub use response::{Child, Condition, ConditionStatus, Event, Failure, Report, Response, Severity, Teardown};
pub use schema::Schema;

/// Derives [`CustomResource`](trait@CustomResource) and [`Schema`](trait@Schema) for the type of a spec.
///
/// The documentation of the type is the description of the kind, and `#[resource(…)]` says the rest:
///
/// | attribute | what it is |
/// |---|---|
/// | `group = "example.com"`, `version = "v1"`, `kind = "Greeting"` | required |
/// | `plural = "greetings"` | by default, formed as kubebuilder forms it |
/// | `short_name = "gr"`, `category = "all"` | may be repeated |
/// | `status = GreetingStatus` | the type of the status, which has a `Schema`; without it, the status has only what the host writes |
/// | `conditions = "Ready: …"` | the description of the conditions |
/// | `no_status` | the kind has no status: one that is only read |
/// | `cluster_scoped` | its objects have no namespace |
/// | `spec_optional` | an object may lack a spec |
/// | `column("Name", ".spec.path")` | a column of `kubectl get`; its type, such as `"date"`, and its priority, `1`, may follow |
/// | `condition("Ready")` | a column with the status of a condition |
/// | `age` | a column with the age |
///
/// `conditions` and `observedGeneration` of the status are added: the host writes them. For a CRD with several versions, write it down
/// and give it to [`Manifest::crd`].
///
/// ```
/// use gyre_sdk::{CustomResource, Schema};
///
/// /// A copy of a database.
/// #[derive(serde::Deserialize, CustomResource)]
/// #[resource(group = "example.com", version = "v1", kind = "Backup", short_name = "bk", status = BackupStatus)]
/// #[resource(column("Schedule", ".spec.schedule"), column("Last", ".status.last", "date"), condition("Ready"), age)]
/// #[schema(rule("self.keepDays > 0 || self.forever", "set keepDays or forever"))]
/// #[serde(rename_all = "camelCase")]
/// struct BackupSpec {
///     /// When to make it, in the syntax of cron.
///     #[schema(min_length = 9, rule("self == oldSelf", "the schedule is immutable"))]
///     schedule: String,
///     #[serde(default)]
///     #[schema(maximum = 365)]
///     keep_days: u32,
///     #[serde(default)]
///     forever: bool,
/// }
///
/// #[derive(serde::Serialize, Schema)]
/// struct BackupStatus {
///     /// When it was made last.
///     #[schema(format = "date-time")]
///     last: Option<String>,
/// }
///
/// let crd: serde_json::Value = serde_json::from_str(BackupSpec::CRD).unwrap();
/// let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
/// assert_eq!(schema["description"], "A copy of a database.");
/// assert_eq!(schema["properties"]["spec"]["required"], serde_json::json!(["schedule"]));
/// ```
pub use gyre_sdk_derive::CustomResource;
/// Derives [`Schema`](trait@Schema) for a struct, or for an enum of names.
///
/// serde's attributes count: `rename`, `rename_all`, `default`, `skip`, `transparent`. A field is required unless it has a default or is an
/// `Option`. Documentation becomes the description. `#[schema(…)]` on a field says more:
///
/// | attribute | keyword |
/// |---|---|
/// | `minimum`, `maximum`, `multiple_of`, `min_length`, `max_length`, `min_items`, `max_items`, `min_properties`, `max_properties` | the same in camel case |
/// | `pattern = "…"`, `format = "date-time"`, `default = 1` | the same; a field with a default is not required |
/// | `rule("self > 0", "message")` | a CEL rule in `x-kubernetes-validations`; may be repeated, and stand at the type |
/// | `elements(max_length = 63)` | keywords of the elements of a `Vec` or map |
/// | `json = r#"{"type": "string"}"#` | the whole schema, for types that have none |
pub use gyre_sdk_derive::Schema;

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
    $crate::bindings::export!(Exported with_types_in $crate::bindings);

            const fn is_a_reconciler<R: $crate::Reconciler>() {}
            is_a_reconciler::<$reconciler>();
        };
    };
}
