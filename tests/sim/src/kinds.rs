//! The kinds in a simulation.

use gyre_devcluster::store::Resource;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};

/// A kind of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// The name.
    pub kind: &'static str,
    group: &'static str,
    version: &'static str,
    plural: &'static str,
}

const fn kind(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { kind, group, version, plural }
}

/// Parents of the plugin `echo`.
pub const ECHO: Kind = kind("mmontes.io", "v1alpha1", "Echo", "echos");
/// Parents of the plugin `scheduled-echo`.
pub const SCHEDULED_ECHO: Kind = kind("mmontes.io", "v1alpha1", "ScheduledEcho", "scheduledechos");
/// Parents of the plugin `website`.
pub const WEBSITE: Kind = kind("web.gyre.dev", "v1alpha1", "Website", "websites");
/// Read by the plugin `website`, cluster-scoped.
pub const WEBSITE_DEFAULTS: Kind = kind("web.gyre.dev", "v1alpha1", "WebsiteDefaults", "websitedefaults");
/// Parents of the probe `finalizing`.
pub const FINALIZING: Kind = kind("guests.gyre.dev", "v1", "Finalizing", "finalizings");
/// Parents of the probe `cross-namespace`.
pub const CROSS_NAMESPACE: Kind = kind("guests.gyre.dev", "v1", "CrossNamespace", "crossnamespaces");
/// Parents of the probe `strategies`.
pub const STRATEGIES: Kind = kind("guests.gyre.dev", "v1", "Strategies", "strategiess");
/// Parents of the probe `reader`.
pub const READER: Kind = kind("guests.gyre.dev", "v1", "Reader", "readers");
/// Parents of the probe `versioned`.
pub const VERSIONED: Kind = kind("guests.gyre.dev", "v1", "Versioned", "versioneds");
/// Parents of the probes `widened` and `narrowed`.
pub const NARROWING: Kind = kind("guests.gyre.dev", "v1", "Narrowing", "narrowings");
/// Parents of the probe `bare`.
pub const BARE: Kind = kind("guests.gyre.dev", "v1", "Bare", "bares");
/// Parents of the probe `verbatim`.
pub const VERBATIM: Kind = kind("guests.gyre.dev", "v1", "Verbatim", "verbatims");
/// Parents of the probe `outliving`.
pub const OUTLIVING: Kind = kind("guests.gyre.dev", "v1", "Outliving", "outlivings");
/// Parents of the probe `marking`.
pub const MARKING: Kind = kind("guests.gyre.dev", "v1", "Marking", "markings");
/// Members of the groups of the probe `grouped`.
pub const GROUPED: Kind = kind("guests.gyre.dev", "v1", "Grouped", "groupeds");
/// Parents of the probe `overreaching`.
pub const OVERREACHING: Kind = kind("guests.gyre.dev", "v1", "Overreaching", "overreachings");
/// Parents of the probe `landlord`.
pub const LANDLORD: Kind = kind("guests.gyre.dev", "v1", "Landlord", "landlords");
/// Parents of the probe `indiscreet`.
pub const INDISCREET: Kind = kind("guests.gyre.dev", "v1", "Indiscreet", "indiscreets");
/// Parents of the plugin `database`.
pub const DATABASE: Kind = kind("db.gyre.dev", "v1alpha1", "Database", "databases");
/// Parents of the plugin `xca`.
pub const XCA: Kind = kind("apps.xca.k8s.kb.cx", "v1beta1", "Xca", "xcas");
/// Parents of the plugin `gateway`.
pub const GATEWAY: Kind = kind("app.example.com", "v1", "Gateway", "gateways");
/// Parents of the plugin `pod-log`.
pub const POD: Kind = kind("", "v1", "Pod", "pods");
/// Members of the groups of the plugin `tenants`.
pub const ADDRESS_CLAIM: Kind = kind("tenants.gyre.dev", "v1", "AddressClaim", "addressclaims");
/// The objects of groups; cluster-scoped.
pub const PARENT_GROUP: Kind = kind("gyre.dev", "v1", "ParentGroup", "parentgroups");
/// The events of hosts.
pub const EVENT: Kind = kind("events.k8s.io", "v1", "Event", "events");
/// Cluster-scoped.
pub const NAMESPACE: Kind = kind("", "v1", "Namespace", "namespaces");
/// Children, templates, and what readers read.
pub const CONFIG_MAP: Kind = kind("", "v1", "ConfigMap", "configmaps");
/// Children, and what readers read.
pub const SECRET: Kind = kind("", "v1", "Secret", "secrets");
/// Children.
pub const SERVICE_ACCOUNT: Kind = kind("", "v1", "ServiceAccount", "serviceaccounts");
/// Children.
pub const SERVICE: Kind = kind("", "v1", "Service", "services");
/// Children.
pub const JOB: Kind = kind("batch", "v1", "Job", "jobs");
/// Children.
pub const CRON_JOB: Kind = kind("batch", "v1", "CronJob", "cronjobs");
/// Children.
pub const STATEFUL_SET: Kind = kind("apps", "v1", "StatefulSet", "statefulsets");
/// Children of Websites.
pub const DEPLOYMENT: Kind = kind("apps", "v1", "Deployment", "deployments");
/// Children; cluster-scoped.
pub const CLUSTER_ROLE: Kind = kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles");
/// Children; cluster-scoped.
pub const CLUSTER_ROLE_BINDING: Kind = kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings");
/// Cluster-scoped.
pub const DEFINITION: Kind = kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");

/// The kinds of parents.
pub const PARENTS: [Kind; 8] = [ECHO, SCHEDULED_ECHO, WEBSITE, FINALIZING, CROSS_NAMESPACE, STRATEGIES, READER, VERSIONED];
/// The kinds of children.
pub const CHILDREN: [Kind; 7] = [CONFIG_MAP, SECRET, SERVICE, JOB, CRON_JOB, DEPLOYMENT, CLUSTER_ROLE];

impl Kind {
    /// Returns `GROUP/VERSION`, or the version of the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    pub(crate) fn resource(&self) -> Resource {
        Resource::new(self.group, self.plural)
    }

    /// Returns the objects of a namespace or, without one, all.
    pub fn api(&self, client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(self.group, self.version, self.kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, self.plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        }
    }
}

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The kind.
    pub kind: Kind,
    /// The namespace, if it has one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Name {
    /// Returns the name of a namespaced object.
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: Some(namespace.to_owned()), name: name.to_owned() }
    }

    /// Returns the name of a cluster-scoped object.
    pub fn cluster(kind: Kind, name: &str) -> Self {
        Self { kind, namespace: None, name: name.to_owned() }
    }
}

impl Name {
    /// Returns `Kind.group namespace/name`, as in a parent's list of children.
    pub fn listed(&self) -> String {
        let Kind { kind, group, .. } = self.kind;
        let kind = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        format!("{kind} {}/{}", self.namespace.as_deref().unwrap_or_default(), self.name)
    }

    /// Returns the path of its kind and namespace on the API server.
    pub fn collection(&self) -> String {
        let Kind { group, version, plural, .. } = self.kind;
        let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        match &self.namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
            None => format!("{root}/{plural}"),
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}
