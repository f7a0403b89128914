package examples

import (
	"testing"

	"gyre.dev/gyre"
	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

// Teams gives the ServiceAccounts of each team access by one ClusterRoleBinding.
type Teams struct{}

// Reconcile is called about all Namespaces with the same label.
func (Teams) Reconcile(_ gyre.Context, team *gyre.Group[k8s.Namespace], _ gyre.NoSettings) (gyre.Plan, error) {
	binding := k8s.ClusterRoleBinding{
		Object:  gyre.Named("teams:" + team.Spec.Value),
		RoleRef: k8s.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"},
	}
	for _, namespace := range team.Members {
		name := "system:serviceaccounts:" + namespace.Metadata.Name
		subject := k8s.Subject{APIGroup: "rbac.authorization.k8s.io", Kind: "Group", Name: name}
		binding.Subjects = append(binding.Subjects, subject)
	}
	return gyre.Children(binding).Ready("Bound", "%d Namespaces have the ClusterRole view", len(team.Members)), nil
}

func init() {
	gyre.Register(gyre.Manifest{
		Name:     "teams",
		Version:  "0.1.0",
		Parent:   k8s.Namespace{}.GroupVersionKind(),
		GroupBy:  "/metadata/labels/example.com~1team",
		Children: []gyre.ChildKind{gyre.Owns[k8s.ClusterRoleBinding]()},
	}, Teams{})
}

func TestAllNamespacesOfATeamAreInOneBinding(t *testing.T) {
	team := gyre.GroupOf(k8s.Namespace{Object: gyre.Named("web-1")}, k8s.Namespace{Object: gyre.Named("web-2")})
	team.Spec.Value = "web"
	plan, err := Teams{}.Reconcile(gyretest.With().Context(), team, gyre.NoSettings{})
	if err != nil {
		t.Fatal(err)
	}
	binding := gyretest.Applied[k8s.ClusterRoleBinding](t, plan, "teams:web")
	if len(binding.Subjects) != 2 || binding.Subjects[1].Name != "system:serviceaccounts:web-2" {
		t.Errorf("unexpected subjects: %v", binding.Subjects)
	}
}

// ClaimStatus is the status of a member of a pool.
type ClaimStatus struct {
	Position int `json:"position"`
}

func positions(pool *gyre.Group[Claim]) gyre.Plan {
	plan := gyre.NoChildren()
	for position, claim := range pool.Members {
		member := gyre.MemberOf(claim.Metadata).WithStatus(ClaimStatus{position}).Ready("Placed", "it is number %d", position)
		plan = plan.WithMember(member)
	}
	return plan
}

// Claim is a member of a pool.
type Claim struct{ gyre.Object }

func TestEachMemberGetsItsPosition(t *testing.T) {
	plan := positions(gyre.GroupOf(Claim{gyre.Named("a")}, Claim{gyre.Named("b")}))
	if len(plan.Members) != 2 || plan.Members[1].Name != "b" || string(plan.Members[1].Status) != `{"position":1}` {
		t.Errorf("unexpected members: %v", plan.Members)
	}
}
