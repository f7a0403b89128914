//! A real Kubernetes control plane for tests: etcd, kube-apiserver and kube-controller-manager run
//! on this machine, without containers, root or network. And a real OCI registry, which fails as
//! tests say.
//!
//! ```text
//! go.mod ─ go build ─▶ cache ─ Tools ─▶ ControlPlane ─┬─ guard ─▶ etcd            (unix socket)
//!   (or KUBEBUILDER_ASSETS)                           ├─ guard ─▶ kube-apiserver  (with audit log)
//!                                                     ├─ guard ─▶ kube-controller-manager
//!                                                     └─ janitor  (removes the folder at the end)
//! ```
//!
//! ```no_run
//! # fn test() -> anyhow::Result<()> {
//! let Some(cluster) = gyre_controlplane::shared_or_skip()? else { return Ok(()) };
//! let mark = cluster.audit()?.mark()?;
//! assert!(cluster.kubectl().args(["get", "namespaces"]).status()?.success());
//! let is_list = |event: &gyre_controlplane::AuditEvent| event.verb == "list";
//! let lists = cluster.audit()?.count_since(mark, is_list)?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`tools`] | finds the programs, or builds them with Go into a cache outside the checkout |
//! | [`control_plane`] | one running control plane, started with [`options`] |
//! | [`allocated`] | the number of bytes that a process has allocated |
//! | [`registry`] | one running registry, whose failures a test controls |
//! | [`audit`] | reads the audit log: who requested what, and when |
//! | [`go_tools`] | builds other programs for tests with Go: actionlint, alerttest |
//! | [`guard`] | child processes that end when this process ends |
//! | [`mod@skip`] | skips a test that cannot run here |
//!
//! What is absent: nodes. Without a scheduler and a kubelet, Pods stay `Pending`; a test that needs
//! a finished Pod patches its status.
//!
//! The garbage collector discovers new kinds every 30 s. The deletion of a custom resource may take
//! that long to reach its dependents if its CRD is younger.

pub mod allocated;
pub mod audit;
mod certificates;
mod components;
pub mod control_plane;
mod error;
mod go;
pub mod go_tools;
pub mod guard;
mod kubeconfig;
mod module;
pub mod options;
mod ports;
pub mod registry;
pub mod skip;
mod stderr;
pub mod tools;

pub use audit::{AuditEvent, AuditReader, Mark, Stage};
pub use control_plane::ControlPlane;
pub use guard::{Guarded, Janitor, Signal};
pub use options::{AuditLevel, Controllers, Options};
pub use registry::Registry;
pub use skip::{Requirement, registry_or_skip, required, shared_or_skip, skip, start_or_skip, tools_or_skip};
pub use tools::{Origin, Tools};
