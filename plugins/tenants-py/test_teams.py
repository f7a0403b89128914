from tenants import teams

from gyre import Group
from gyre.k8s import ClusterRoleBinding, Namespace
from gyre.testing import given


def test_all_namespaces_of_a_team_are_in_one_binding():
    group = Group([Namespace("web-1"), Namespace("web-2")], value="web")
    binding = given(group).reconcile(teams).applies(ClusterRoleBinding, "tenants:web")
    names = [subject.name for subject in binding.subjects]
    assert names == ["system:serviceaccounts:web-1", "system:serviceaccounts:web-2"]
    assert binding.role_ref.name == "view"
