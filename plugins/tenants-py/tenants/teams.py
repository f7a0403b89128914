"""One ClusterRoleBinding for the Namespaces of a team."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gyre import Group, Plan, children, plugin
from gyre.k8s import ClusterRoleBinding, Namespace, RoleRef, Subject

RBAC = "rbac.authorization.k8s.io"


@dataclass
class TeamSettings:
    """The access of teams."""

    cluster_role: Annotated[str, "The ClusterRole that the ServiceAccounts of a team get."] = "view"


@plugin(group_by="/metadata/labels/tenants.gyre.dev~1team", children=[ClusterRoleBinding])
def teams(team: Group[Namespace], settings: TeamSettings) -> Plan:
    """Gives the ServiceAccounts of each team access by one ClusterRoleBinding."""
    subjects = [
        Subject(kind="Group", name=f"system:serviceaccounts:{namespace.name}", api_group=RBAC)
        for namespace in team.members
    ]
    role = RoleRef(kind="ClusterRole", name=settings.cluster_role, api_group=RBAC)
    binding = ClusterRoleBinding(f"tenants:{team.value}", role_ref=role, subjects=subjects)
    message = f"{len(subjects)} Namespaces have the ClusterRole {settings.cluster_role}"
    return children(binding).ready("Bound", message)
