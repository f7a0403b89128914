package gyre

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"gyre.dev/gyre/internal/wit"
)

// blocks is the memory of a test.
type blocks [][]byte

func (b *blocks) Hold(bytes []byte) uint32 {
	*b = append(*b, bytes)
	return uint32(8 * len(*b))
}

type pool = Group[thing]

// poolReconciler gives each member of a group its position.
type poolReconciler struct{}

func (poolReconciler) Reconcile(_ Context, group *pool, _ NoSettings) (Plan, error) {
	plan := Children(thing{Object: Named("list-of-" + group.Spec.Value)})
	for position, member := range group.Members {
		status := map[string]int{"position": position}
		plan = plan.WithMember(MemberOf(member.Metadata).WithStatus(status).Ready("Listed", "it is number %d", position))
	}
	return plan.WithStatus(map[string]int{"count": len(group.Members)}), nil
}

func reconcilePool(t *testing.T, parent string, members ...string) Plan {
	t.Helper()
	defer func(before []*program) { programs = before }(programs)
	Register(Manifest{Name: "pool", GroupBy: "/spec/pool"}, poolReconciler{})
	p, err := find("pool")
	if err != nil {
		t.Fatal(err)
	}
	texts := make([][]byte, len(members))
	for index, member := range members {
		texts[index] = []byte(member)
	}
	plan, err := p.reconcile(Context{}, withMembers([]byte(parent), texts), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestAPluginGetsTheMembersOfItsGroup(t *testing.T) {
	parent := `{"apiVersion":"gyre.dev/v1","kind":"ParentGroup","metadata":{"name":"it"},"spec":{"value":"red"},"status":{"count":7}} `
	plan := reconcilePool(t, parent,
		`{"metadata":{"name":"one","namespace":"a"},"spec":{"size":1}}`,
		`{"metadata":{"name":"two","namespace":"b"}}`)
	want := []Member{
		{Namespace: "a", Name: "one", Status: []byte(`{"position":0}`), Conditions: []Condition{{"Ready", True, "Listed", "it is number 0"}}},
		{Namespace: "b", Name: "two", Status: []byte(`{"position":1}`), Conditions: []Condition{{"Ready", True, "Listed", "it is number 1"}}},
	}
	if !reflect.DeepEqual(plan.Members, want) {
		t.Errorf("unexpected members: %v", plan.Members)
	}
	if child := string(plan.Children[0].Object); !strings.Contains(child, `"list-of-red"`) {
		t.Errorf("unexpected child: %s", child)
	}
}

func TestAGroupMayHaveNoMembers(t *testing.T) {
	plan := reconcilePool(t, `{"metadata":{"name":"all"},"spec":{}}`)
	if len(plan.Members) != 0 || string(plan.Status) != `{"count":0}` {
		t.Errorf("unexpected plan: %v", plan)
	}
}

func TestTheStatusOfAGroupIsRead(t *testing.T) {
	group := GroupOf[thing]()
	status := map[string]int{"before": 1}
	if err := group.ReadStatus(&status); err != nil || status["before"] != 1 {
		t.Errorf("a group without a status changes the value: %v, %v", status, err)
	}
	group.Status = []byte(`{"count":7}`)
	if err := group.ReadStatus(&status); err != nil || status["count"] != 7 {
		t.Errorf("unexpected status: %v, %v", status, err)
	}
}

func TestAMemberIsNotChangedByMembersThatAreMadeOfIt(t *testing.T) {
	base := MemberOf(ObjectMeta{Name: "it"}).Ready("One", "one").Ready("Two", "two").Ready("Three", "three")
	one, other := base.NotReady("Four", "four"), base.NotReady("Five", "five")
	if len(base.Conditions) != 3 || one.Conditions[3].Reason != "Four" || other.Conditions[3].Reason != "Five" {
		t.Error("two members share a condition")
	}
}

func TestAStatusOfAMemberThatIsNoJSONIsATerminalFailure(t *testing.T) {
	plan := NoChildren().WithMember(MemberOf(ObjectMeta{Name: "it"}).WithStatus(make(chan int)))
	result := lowerResult(plan, nil, func(response []any) any { return response })
	failure, ok := result.Payload.(wit.Case)
	if !ok || result.Index != 1 || failure.Index != 2 || !strings.Contains(failure.Payload.(string), "the status of it") {
		t.Errorf("unexpected result: %v", result)
	}
}

// full is a plan with a value in each field.
func full() Plan {
	return Children(thing{Object: Named("a")}).
		ApplyWith(Recreate, thing{Object: Named("b")}).
		KeepChild(ObjectRef{Kind("v1", "Secret"), "default", "c"}).
		WithStatus(map[string]int{"count": 1}).
		Ready("Written", "it is written").
		Requeue(time.Second).
		WithParentFields(map[string]any{"metadata": map[string]any{"labels": map[string]string{"a": "b"}}}).
		DeleteParent(time.Hour, Orphan).
		WithMember(MemberOf(ObjectMeta{Namespace: "a", Name: "b"}).WithStatus(1).NotReady("Gone", "it is gone")).
		WithMember(MemberOf(ObjectMeta{Name: "cluster-scoped"}))
}

func TestEveryResultFitsTheContract(t *testing.T) {
	response := func(response []any) any { return response }
	teardown := func(response []any) any { return []any{response, truth(true)} }
	for _, plan := range []Plan{full(), {}, NoChildren(), Wait("Missing", "it is missing")} {
		var memory blocks
		wit.Lower(&memory, wit.ReconcileResult, lowerResult(plan, nil, response))
		wit.Lower(&memory, wit.FinalizeResult, lowerResult(plan, nil, teardown))
	}
	for _, err := range []error{errNever, RetryAfter(time.Second, "later"), ErrNotFound} {
		var memory blocks
		wit.Lower(&memory, wit.ReconcileResult, lowerResult(Plan{}, err, response))
	}
}

var errNever = Terminal("never")

func TestEveryManifestFitsTheContract(t *testing.T) {
	manifests := []Manifest{
		{Name: "each"},
		{Name: "all", Grouped: true},
		{
			Name:          "by-field",
			GroupBy:       "/spec/pool",
			Children:      []ChildKind{Owns[thing]().With(Apply).UpTo(Recreate).Outliving()},
			Reads:         []ReadKind{Reads[thing]().Where("app=web")},
			ParentFields:  []string{"/metadata/labels"},
			DeletesParent: true,
			CRDs:          [][]byte{[]byte(`{}`)},
		},
	}
	for index, manifest := range manifests {
		var memory blocks
		lowered := lowerManifest(&program{manifest: manifest, schema: []byte(`{}`), finalizes: true})
		wit.Lower(&memory, wit.Manifests, []any{lowered})
		if grouping := lowered.([]any)[4].(wit.Case); int(grouping.Index) != index {
			t.Errorf("the grouping %s is case %d instead of %d", manifest.Name, grouping.Index, index)
		}
	}
}
