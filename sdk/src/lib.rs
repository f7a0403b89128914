//! Everything that a gyre plugin depends on.
//!
//! A plugin is a pure function: from a parent, and from what it reads, it computes the children and
//! the status that should exist. The host watches, caches, queues, writes, retries and reports.
//!
//! ```text
//!   host ──▶ component (contract's types) ──▶ call (author's types) ──▶ impl Reconciler
//!                                                                          │      │
//!   host ◀── component ◀── call ◀── Response, Failure ◀────────────────────┘      │
//!   host ◀──────────────── Cluster::children, get, list; log ◀────────────────────┘
//! ```
//!
//! A whole plugin, `plugins/greeter` in the repository:
//!
//! ```
//! use gyre_sdk::k8s::ConfigMap;
//! use gyre_sdk::{
//!     Cluster, CustomResource, Manifest, NoSettings, Object, Plan, Reconciler, Result, Schema,
//!     Strategy,
//! };
//! use serde::{Deserialize, Serialize};
//!
//! /// A message that is kept in a ConfigMap.
//! #[derive(Debug, Deserialize, CustomResource)]
//! #[resource(group = "example.com", version = "v1alpha1", kind = "Greeting")]
//! #[resource(status = GreetingStatus, condition("Ready"), age)]
//! pub struct GreetingSpec {
//!     /// Any text.
//!     pub message: String,
//! }
//!
//! /// The status of a Greeting.
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
//!         gyre_sdk::manifest!(Self::Parent).child::<ConfigMap>(Strategy::Apply)
//!     }
//!
//!     fn reconcile(greeting: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
//!         let name = &greeting.metadata.name;
//!         let config_map = ConfigMap::new(name).with_data([("message", &greeting.spec.message)]);
//!         Ok(Plan::children([config_map])
//!             .status(GreetingStatus { config_map: name.clone() })
//!             .ready("Written", format!("ConfigMap {name} holds the message")))
//!     }
//! }
//!
//! // And its test: plain Rust, no cluster, no Wasm.
//! use gyre_sdk::testing::given;
//!
//! let greeting = Object::new("hello", GreetingSpec { message: "Good day.".to_owned() });
//! let plan = given::<GreetingReconciler>(greeting).reconcile();
//! assert_eq!(plan.applies::<ConfigMap>("hello").data().get("message"), Some("Good day."));
//! plan.is_ready("Written");
//! ```
//!
//! Built for `wasm32-wasip2` with `crate-type = ["cdylib"]`, it is a component that gyre mounts.
//!
//! What is absent: a client, a queue, `async`, random numbers, and any way to write. A plugin
//! cannot read `resourceVersion` or `managedFields` of the parent, because they change on every
//! write.

// The derive macros expand to paths in this crate.
#[cfg(test)]
extern crate self as gyre_sdk;

#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod bindings;
mod bytes;
mod call;
mod cluster;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod component;
mod condition;
#[cfg(target_family = "wasm")]
mod convert;
mod dynamic;
mod failure;
mod familiar;
mod fields;
mod fingerprint;
pub mod generated;
mod group;
pub mod guide;
mod host;
pub mod k8s;
mod kind;
mod labels;
pub mod log;
mod manifest;
pub mod names;
mod object;
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
pub mod parent;
mod plan;
mod reconciler;
mod resource;
pub mod schema;
mod selector;
mod settings;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod time;
pub mod typed;

pub use bytes::{Bytes, BytesView};
pub use cluster::{Cluster, DynamicReads, Name, Reads};
pub use condition::{Condition, ConditionStatus};
pub use dynamic::DynamicObject;
pub use failure::{Context, Failure, Result};
#[doc(hidden)]
#[expect(deprecated, reason = "the compiler says how they are called here")]
pub use familiar::{Finalize, Outcome, Timestamp};
pub use fingerprint::fingerprint;
pub use group::{Group, Member, Named};
pub use host::Error as ReadError;
pub use kind::{Kind, ObjectRef};
pub use labels::{Labels, LabelsView};
pub use manifest::{ChildKind, Grouping, Manifest, Propagation, ReadKind, Strategy};
pub use object::{Metadata, NoStatus, Object, ObservedCondition, OwnerReference};
pub use plan::{Child, DesiredChild, Event, ParentDeletion, Plan, Report, Severity};
pub use reconciler::Reconciler;
pub use resource::{CustomResource, Resource};
pub use schema::Schema;
pub use selector::Selector;
pub use settings::{NoSettings, Settings};
pub use time::{ParseTimeError, Time};

/// Another name for [`Failure`], which authors guess. It is an alias, so that the messages of the
/// compiler name the type as the documents do.
#[doc(hidden)]
pub type Error = Failure;

/// The dependencies of the macros of this crate.
#[doc(hidden)]
pub mod reexports {
    pub use serde;
    pub use serde_json::Value;
}

/// Derives [`CustomResource`](trait@CustomResource) and [`Schema`](trait@Schema) for a spec.
///
/// The documentation of the type describes the kind. `#[resource(…)]` sets the rest:
///
/// | attribute | what it is |
/// |---|---|
/// | `group = "example.com"`, `version = "v1"`, `kind = "Greeting"` | required |
/// | `plural = "greetings"` | by default, formed like kubebuilder does |
/// | `short_name = "gr"`, `category = "all"` | may be repeated |
/// | `status = GreetingStatus` | a type with a `Schema`; by default, only the fields of the host |
/// | `conditions = "Ready: …"` | the description of the conditions |
/// | `no_status` | the kind has no status, e.g. because it is only read |
/// | `cluster_scoped` | its objects have no namespace; the default is `namespaced` |
/// | `spec_optional` | an object may lack a spec |
/// | `column("Name", ".spec.path")` | a column; a type (`"date"`) and a priority (`1`) may follow |
/// | `condition("Ready")` | a column with the status of a condition |
/// | `age` | a column with the age |
///
/// The derive also defines a type with the name of the kind, e.g. `Greeting` for
/// `Object<GreetingSpec, GreetingStatus>`, unless the spec has this name itself or is optional.
///
/// The host writes the fields `conditions` and `observedGeneration` of the status, so they are
/// added. Write a CRD with several versions by hand, and pass it to [`Manifest::crd`].
///
/// ```
/// use gyre_sdk::{CustomResource, Schema};
///
/// /// A copy of a database.
/// #[derive(serde::Deserialize, CustomResource)]
/// #[resource(group = "example.com", version = "v1", kind = "Backup", short_name = "bk")]
/// #[resource(status = BackupStatus, condition("Ready"), age)]
/// #[resource(column("Schedule", ".spec.schedule"), column("Last", ".status.last", "date"))]
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
/// Derives [`Schema`](trait@Schema) for a struct, or for an enum without fields: for a status, for
/// [settings](Settings), or for a part of a spec.
///
/// The schema follows serde's attributes `rename`, `rename_all`, `default`, `skip` and
/// `transparent`. A field is required unless it has a default or is an `Option`. Documentation
/// becomes the description. `#[schema(…)]` on a field adds keywords:
///
/// | attribute | keyword |
/// |---|---|
/// | `minimum`, `maximum`, `multiple_of` | the same in camel case |
/// | `min_length`, `max_length`, `min_items`, `max_items` | the same in camel case |
/// | `min_properties`, `max_properties` | the same in camel case |
/// | `pattern = "…"`, `format = "date-time"` | the same |
/// | `default = 1` | the same; the field is then not required |
/// | `rule("self > 0", "message")` | a CEL rule; may be repeated, also on the type |
/// | `elements(max_length = 63)` | keywords for the elements of a `Vec` or map |
/// | `json = r#"{"type": "string"}"#` | the whole schema, for types that have none |
pub use gyre_sdk_derive::Schema;
/// Another name for the derive [`Schema`](derive@Schema), which authors guess.
#[doc(hidden)]
pub use gyre_sdk_derive::Schema as JsonSchema;
/// Another name for the derive [`Schema`](derive@Schema), which authors guess for settings.
#[doc(hidden)]
pub use gyre_sdk_derive::Schema as Settings;

/// Exports the [`Reconciler`]s of a component: `export!(Orders)`, or `export!(Orders, Invoices)`.
///
/// Each is mounted by itself, with its own settings, grants and workers. Their manifests have
/// different names: see [`Manifest::named`].
///
/// For other targets than Wasm it exports nothing, so that the crate also builds natively for its
/// tests. A component can have only one `export!`, counting all crates that are linked into it.
#[macro_export]
macro_rules! export {
    ($($reconciler:ty),+ $(,)?) => {
        const _: () = {
            #[cfg(target_family = "wasm")]
            struct Reconcilers;
            #[cfg(target_family = "wasm")]
            impl $crate::component::Reconcilers for Reconcilers {
                const ALL: &'static [$crate::component::Exported] =
                    &[$($crate::component::Exported::of::<$reconciler>()),+];
            }
            #[cfg(target_family = "wasm")]
            type Exported = $crate::component::Component<Reconcilers>;
            #[cfg(target_family = "wasm")]
    $crate::bindings::export!(Exported with_types_in $crate::bindings);

            const fn is_a_reconciler<R: $crate::Reconciler>() {}
            $(is_a_reconciler::<$reconciler>();)+
        };
    };
}
