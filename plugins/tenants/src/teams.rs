//! One ClusterRoleBinding for the Namespaces of a team.

use gyre_sdk::k8s::{ClusterRoleBinding, Namespace, RoleRef, Subject};
use gyre_sdk::{Cluster, Group, Manifest, Plan, Reconciler, Result, Settings, Strategy};
use serde::Deserialize;

/// The label of a Namespace with the name of its team.
pub const TEAM: &str = "tenants.gyre.dev/team";

/// The reconciler.
pub struct Teams;

/// The access of teams.
#[derive(Debug, Deserialize, Settings)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TeamSettings {
    /// The ClusterRole that the ServiceAccounts of a team get.
    #[schema(default = "view")]
    pub cluster_role: String,
}

impl Default for TeamSettings {
    fn default() -> Self {
        Self { cluster_role: "view".to_owned() }
    }
}

impl Reconciler for Teams {
    type Parent = Group<Namespace>;
    type Settings = TeamSettings;

    fn manifest() -> Manifest {
        Manifest::new("teams", env!("CARGO_PKG_VERSION"), Namespace::KIND)
            .description("Gives the ServiceAccounts of each team access by one ClusterRoleBinding.")
            .grouped_by("/metadata/labels/tenants.gyre.dev~1team")
            .child::<ClusterRoleBinding>(Strategy::Apply)
    }

    fn reconcile(team: &Group<Namespace>, settings: &TeamSettings, _: &Cluster) -> Result<Plan> {
        let name = team.value().unwrap_or_default();
        let subjects = team.members.iter().map(|namespace| {
            Subject::new(format!("system:serviceaccounts:{}", namespace.name()))
                .with_kind("Group")
                .with_api_group("rbac.authorization.k8s.io")
        });
        let role = RoleRef::new(&settings.cluster_role).with_kind("ClusterRole").with_api_group("rbac.authorization.k8s.io");
        let binding = ClusterRoleBinding::new(format!("tenants:{name}")).with_role_ref(role).with_subjects(subjects);
        let count = team.members.len();
        Ok(Plan::children([binding])
            .ready("Bound", format!("{count} Namespaces have the ClusterRole {}", settings.cluster_role)))
    }
}

#[cfg(test)]
mod tests {
    use gyre_sdk::testing::given;

    use super::*;

    #[test]
    fn all_namespaces_of_a_team_are_in_one_binding() {
        let group = Group::of([Namespace::new("web-1"), Namespace::new("web-2")]).with_value("web");
        let plan = given::<Teams>(group).reconcile();
        let binding = plan.applies::<ClusterRoleBinding>("tenants:web");
        let names: Vec<&str> = binding.subjects().filter_map(|subject| subject.name()).collect();
        assert_eq!(names, ["system:serviceaccounts:web-1", "system:serviceaccounts:web-2"]);
        assert_eq!(binding.role_ref().name(), Some("view"));
    }
}
