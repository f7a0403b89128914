package gyretest

import (
	"strings"
	"testing"
	"time"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// modal does what its spec says.
type modal struct {
	gyre.Object
	Spec modalSpec `json:"spec"`
}

type modalSpec struct {
	Mode  string `json:"mode,omitempty"`
	Extra string `json:"extra,omitempty"`
}

type modalReconciler struct{}

func (modalReconciler) Reconcile(c gyre.Context, parent *modal, _ gyre.NoSettings) (gyre.Plan, error) {
	plan := gyre.Children(k8s.ConfigMap{Object: gyre.Named(parent.Metadata.Name)})
	switch parent.Spec.Mode {
	case "fields":
		return plan.WithParentLabel("a", "b").WithParentFields(modal{Spec: modalSpec{Extra: "set"}}), nil
	case "delete":
		return plan.DeleteParent(parent.Metadata.CreationTimestamp.Add(time.Hour).Sub(c.Now()), gyre.Background), nil
	case "not-declared":
		_, err := gyre.Get[k8s.Secret](c, "absent")
		return plan, err
	case "retry-after":
		return plan, gyre.RetryAfter(time.Minute, "later")
	case "panic":
		panic("it gives up")
	case "log":
		c.Log.With("one", 1).Info("hello", "two", 2)
	}
	return plan.WithReport(gyre.Condition{Type: "Read", Status: gyre.Unknown, Reason: "At", Message: c.Now().Format(time.RFC3339)}, gyre.Warning), nil
}

func (modalReconciler) Finalize(c gyre.Context, parent *modal, _ gyre.NoSettings) (gyre.Plan, error) {
	return gyre.Finalized(), nil
}

// placeReconciler gives each member of a group its position.
type placeReconciler struct{}

type place struct {
	gyre.Object
}

type placeStatus struct {
	Position int `json:"position"`
}

func (placeReconciler) Reconcile(_ gyre.Context, group *gyre.Group[place], _ gyre.NoSettings) (gyre.Plan, error) {
	plan := gyre.NoChildren()
	for position, member := range group.Members {
		plan = plan.WithMember(gyre.MemberOf(member.Metadata).WithStatus(placeStatus{position}).Ready("Placed", "it has a position"))
	}
	return plan.WithStatus(map[string]int{"count": len(group.Members)}), nil
}

var (
	modalKind = gyre.CustomResource{Kind: gyre.Kind("example.com/v1", "Modal")}
	placeKind = gyre.CustomResource{Kind: gyre.Kind("example.com/v1", "Place")}
)

func init() {
	gyre.Register(gyre.Manifest{
		Name:          "modal",
		Version:       "0.1.0",
		Parent:        modalKind.Kind,
		Children:      []gyre.ChildKind{gyre.Owns[k8s.ConfigMap]().UpTo(gyre.Recreate)},
		Reads:         []gyre.ReadKind{gyre.Reads[k8s.Pod]().Where("app=web").OnlyMetadata()},
		ParentFields:  []string{"/metadata/labels", "/spec/extra"},
		DeletesParent: true,
		CRDs:          [][]byte{gyre.CRD[modalSpec, struct{}](modalKind)},
	}, modalReconciler{})
	gyre.Register(gyre.Manifest{
		Name:    "place",
		Version: "0.1.0",
		Parent:  placeKind.Kind,
		GroupBy: "/metadata/namespace",
		CRDs:    [][]byte{gyre.CRD[struct{}, placeStatus](placeKind)},
	}, placeReconciler{})
}

func parentOf(kind gyre.GroupVersionKind, name string, spec any) map[string]any {
	return map[string]any{
		"apiVersion": kind.APIVersion(),
		"kind":       kind.Kind,
		"metadata":   map[string]any{"name": name, "namespace": "default"},
		"spec":       spec,
	}
}

func startModal(t *testing.T, mode string) *World {
	t.Helper()
	object := parentOf(modalKind.Kind, "it", modalSpec{Mode: mode})
	return Start(t, Setup{Reconciler: "modal", Objects: []any{object}})
}

func TestAPlanIsDoneByTheHost(t *testing.T) {
	world := startModal(t, "")
	run := world.Settle()
	run.AssertPlan(
		"finalizers Modal default/it",
		"create ConfigMap default/it",
		"status Modal default/it",
		"event Modal default/it: Warning At: 2026-01-01T00:00:00Z")
	if got := run.Condition("it", "Read"); got != "Unknown At" {
		t.Errorf("unexpected condition: %s", got)
	}
	world.Advance(time.Hour)
	world.Settle().AssertNothingDone()
	world.Delete("Modal it")
	world.Settle()
	if world.Has("Modal it") || world.Has("ConfigMap it") {
		t.Error("the parent or its child is not gone")
	}
}

func TestFieldsOfTheParentAreSet(t *testing.T) {
	world := startModal(t, "fields")
	world.Settle()
	var parent modal
	world.Find("Modal it", &parent)
	if parent.Spec.Extra != "set" || parent.Metadata.Labels["a"] != "b" {
		t.Errorf("unexpected parent: %v", parent)
	}
}

func TestAParentIsDeletedWhenThePlanSaysSo(t *testing.T) {
	world := startModal(t, "delete")
	world.Settle()
	if !world.Has("Modal it") {
		t.Fatal("the parent is deleted too early")
	}
	world.Advance(2 * time.Hour)
	world.Settle()
	if world.Has("Modal it") {
		t.Error("the parent is not deleted")
	}
}

func TestFailuresAndPanicsAreConditions(t *testing.T) {
	for mode, want := range map[string]string{
		"not-declared": "False PluginTerminal",
		"retry-after":  "False PluginRetryAfter",
		"panic":        "False Trapped",
	} {
		run := startModal(t, mode).SettleWithFaults()
		if got := run.Condition("it", "Ready"); got != want {
			t.Errorf("%s: %s instead of %s", mode, got, want)
		}
		if mode == "panic" && !strings.Contains(string(run.Parents[0]), `the plugin trapped: it panicked: it gives up (world_test.go:`) {
			t.Errorf("unexpected message: %s", run.Parents[0])
		}
	}
}

func TestMembersOfAGroupGetTheirStatuses(t *testing.T) {
	objects := []any{parentOf(placeKind.Kind, "a", struct{}{}), parentOf(placeKind.Kind, "b", struct{}{})}
	world := Start(t, Setup{Reconciler: "place", Objects: objects})
	run := world.Settle()
	if got := run.Condition("b", "Ready"); got != "True Placed" {
		t.Errorf("unexpected condition: %s", got)
	}
	var second struct{ Status placeStatus }
	world.Find("Place b", &second)
	if second.Status.Position != 1 {
		t.Errorf("unexpected status: %v", second)
	}
}

func TestALogLineIsPartOfTheRun(t *testing.T) {
	run := startModal(t, "log").Settle()
	if len(run.Log) == 0 || run.Log[0].Message != "hello" || !strings.Contains(string(run.Log[0].Fields), `"two"`) {
		t.Errorf("unexpected log: %v", run.Log)
	}
}

func TestAReconcilerThatIsNotRegisteredIsNamed(t *testing.T) {
	if _, err := registered("absent"); err == nil || !strings.Contains(err.Error(), `"absent"; these are registered: ["modal" "place"]`) {
		t.Errorf("unexpected error: %v", err)
	}
}
