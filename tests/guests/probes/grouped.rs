//! Groups its parents by `spec.group`. Each member gets a ConfigMap of its name, and a status with
//! the number of members and a number of its own: the next one of those that the status of the
//! group counts, so that none is given again. If a member sets `spec.without`, nobody gets a
//! ConfigMap. `spec.stranger` names an object that gets a status, too, although it is no member.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Group, Manifest, Member, NoSettings, Object, Plan, Reconciler, Result, Strategy};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    without: bool,
    stranger: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Status {
    number: u64,
    members: usize,
}

/// The status of a group.
#[derive(Default, Deserialize, Serialize)]
struct Given {
    given: u64,
}

type Parent = Object<Spec, Status>;

struct Grouped;

impl Reconciler for Grouped {
    type Parent = Group<Parent>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Grouped").child::<ConfigMap>(Strategy::Apply).grouped_by("/spec/group")
    }

    fn reconcile(group: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let members = &group.members;
        let is_without = members.iter().any(|member| member.spec.without);
        let mut given = group.status::<Given>().unwrap_or_default().given;
        let mut plan = Plan::no_children();
        for member in members {
            let namespace = member.metadata.namespace.as_deref().unwrap_or_default();
            if !is_without {
                plan = plan.apply(ConfigMap::new(&member.metadata.name).with_namespace(namespace));
            }
            let number = member.status.as_ref().map_or_else(
                || {
                    given += 1;
                    given
                },
                |status| status.number,
            );
            let status = Status { number, members: members.len() };
            plan = plan.member(Member::of(member).status(&status));
            if let Some(stranger) = &member.spec.stranger {
                let stranger = Member { name: stranger.clone(), ..Member::of(member) };
                plan = plan.member(stranger.status(&status));
            }
        }
        Ok(plan.status(Given { given }).ready("Counted", format!("{} members", members.len())))
    }
}

gyre_sdk::export!(Grouped);
