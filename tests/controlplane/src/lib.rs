//! A real Kubernetes control plane for tests: etcd, kube-apiserver and kube-controller-manager, on this machine, without
//! containers, root or network.
//!
//! ```text
//! go.mod ── go build ──▶ cache ── Tools ──▶ ControlPlane ──┬─ guard ─▶ etcd            (unix socket)
//!   (or KUBEBUILDER_ASSETS)                                ├─ guard ─▶ kube-apiserver  (127.0.0.1, RBAC, audit log)
//!                                                          ├─ guard ─▶ kube-controller-manager
//!                                                          └─ janitor  (removes the folder when all have ended)
//! ```
//!
//! A test uses the shared instance or one of its own. If the tools are missing, it is skipped, and says so:
//!
//! ```no_run
//! # fn test() -> anyhow::Result<()> {
//! let Some(cluster) = gyre_controlplane::shared_or_skip()? else { return Ok(()) };
//! let mark = cluster.audit()?.mark()?;
//! assert!(cluster.kubectl().args(["get", "namespaces"]).status()?.success());
//! let lists = cluster.audit()?.count_since(mark, |event| event.verb == "list" && event.resource == "namespaces")?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`tools`] | finds the programs, or builds them with Go into a cache outside the checkout |
//! | [`control_plane`] | one running control plane |
//! | [`options`] | how it is started |
//! | [`allocated`] | how many bytes a process has allocated |
//! | [`audit`] | reads the audit log: who requested what, and when |
//! | [`guard`] | child processes that end when this process ends, however it ends |
//! | [`mod@skip`] | what a test does when it cannot run here |
//!
//! What is absent: nodes. There is no scheduler and no kubelet, so Pods are created and stay `Pending`; a test that needs a finished Pod
//! patches its status. There is no async and no Kubernetes client either: `kubectl` is the client.
//!
//! The garbage collector looks for new kinds every 30 s, which cannot be configured: the deletion of a custom resource
//! whose CRD is younger than that may take as long to reach its dependents.

pub mod allocated;
pub mod audit;
mod certificates;
mod components;
pub mod control_plane;
pub mod guard;
mod kubeconfig;
mod module;
pub mod options;
mod ports;
pub mod skip;
mod stderr;
pub mod tools;

pub use audit::{AuditEvent, AuditReader, Mark, Stage};
pub use control_plane::ControlPlane;
pub use guard::{Guarded, Janitor, Signal};
pub use options::{AuditLevel, Controllers, Options};
pub use skip::{Requirement, required, shared_or_skip, skip, start_or_skip, tools_or_skip};
pub use tools::{Origin, Tools};
