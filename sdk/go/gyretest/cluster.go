// Package gyretest has a fake cluster for `go test`, without the gyre program.
package gyretest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"gyre.dev/gyre"
)

// Cluster is a cluster with fixed objects.
type Cluster struct {
	objects, children []stored
	now               time.Time
	// failures are the errors of reads, by kind.
	failures map[gyre.GroupVersionKind]error
}

type stored struct {
	kind gyre.GroupVersionKind
	meta gyre.ObjectMeta
	text []byte
}

// With returns a cluster with these objects: structs or maps with apiVersion and kind, or types that
// are gyre.Kinded. Its time is the beginning of 2026.
func With(objects ...any) *Cluster {
	return &Cluster{
		objects:  store(objects),
		now:      time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		failures: map[gyre.GroupVersionKind]error{},
	}
}

// NotServing lets reads of a kind fail, as without its CRD.
func (c *Cluster) NotServing(kind gyre.GroupVersionKind) *Cluster {
	c.failures[kind] = gyre.ErrNotServed
	return c
}

// NotGranting lets reads of a kind fail, as without the grant.
func (c *Cluster) NotGranting(kind gyre.GroupVersionKind) *Cluster {
	c.failures[kind] = gyre.ErrNotGranted
	return c
}

// At sets the time, e.g. "2026-01-01T12:00:00Z".
func (c *Cluster) At(now string) *Cluster {
	parsed, err := time.Parse(time.RFC3339Nano, now)
	if err != nil {
		panic(err)
	}
	c.now = parsed.UTC()
	return c
}

// AndChildren adds children of the parent.
func (c *Cluster) AndChildren(children ...any) *Cluster {
	c.children = append(c.children, store(children)...)
	return c
}

// Context returns the context of a call that reads this cluster.
func (c *Cluster) Context() gyre.Context {
	return gyre.Context{
		Cluster: c,
		Log:     gyre.NewLogger(slog.DiscardHandler),
		Clock:   func() time.Time { return c.now },
	}
}

// Applied returns the child with this name that a plan applies. The test fails if there is none.
func Applied[T gyre.Kinded](t testing.TB, plan gyre.Plan, name string) T {
	t.Helper()
	var child T
	kind := child.GroupVersionKind()
	var others []string
	for _, desired := range plan.Children {
		var head gyre.Object
		if err := json.Unmarshal(desired.Object, &head); err != nil {
			continue
		}
		if gyre.Kind(head.APIVersion, head.Kind) != kind || head.Metadata.Name != name {
			others = append(others, head.Kind+" "+head.Metadata.Name)
			continue
		}
		if err := json.Unmarshal(desired.Object, &child); err != nil {
			t.Fatalf("the child %s %s is no %T: %v", kind, name, child, err)
		}
		return child
	}
	t.Fatalf("the plan has no child %s %s; it has %v", kind, name, others)
	return child
}

// Keeps returns whether a plan keeps the child of this type and name: see gyre.Plan.KeepChild.
func Keeps[T gyre.Kinded](plan gyre.Plan, name string) bool {
	var child T
	for _, desired := range plan.Children {
		if desired.Object == nil && desired.Kept.Kind == child.GroupVersionKind() && desired.Kept.Name == name {
			return true
		}
	}
	return false
}

// Status returns the status in a plan. The test fails if there is none.
func Status[S any](t testing.TB, plan gyre.Plan) S {
	t.Helper()
	var status S
	if plan.Status == nil {
		t.Fatal("the plan has no status")
	}
	if err := json.Unmarshal(plan.Status, &status); err != nil {
		t.Fatalf("the status is no %T: %v", status, err)
	}
	return status
}

// Condition returns the condition of this type in a plan. The test fails if there is none.
func Condition(t testing.TB, plan gyre.Plan, conditionType string) gyre.Condition {
	t.Helper()
	for _, condition := range plan.Conditions {
		if condition.Type == conditionType {
			return condition
		}
	}
	t.Fatalf("the plan has no condition %s; it has %v", conditionType, plan.Conditions)
	return gyre.Condition{}
}

func store(objects []any) []stored {
	var all []stored
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		var head gyre.Object
		if err := json.Unmarshal(text, &head); err != nil {
			panic(err)
		}
		kind := gyre.Kind(head.APIVersion, head.Kind)
		if kinded, ok := object.(gyre.Kinded); ok && head.Kind == "" {
			kind = kinded.GroupVersionKind()
		}
		if kind.Kind == "" {
			panic(fmt.Sprintf("an object of the type %T has no kind", object))
		}
		all = append(all, stored{kind, head.Metadata, text})
	}
	slices.SortStableFunc(all, func(a, b stored) int {
		return strings.Compare(a.meta.Namespace+"/"+a.meta.Name, b.meta.Namespace+"/"+b.meta.Name)
	})
	return all
}

func texts(objects []stored, matches func(stored) bool) [][]byte {
	var found [][]byte
	for _, object := range objects {
		if matches(object) {
			found = append(found, object.text)
		}
	}
	return found
}

// Children returns the children of a kind.
func (c *Cluster) Children(kind gyre.GroupVersionKind) ([][]byte, error) {
	return texts(c.children, func(o stored) bool { return o.kind == kind }), nil
}

// Get returns an object. An empty namespace matches any.
func (c *Cluster) Get(kind gyre.GroupVersionKind, namespace, name string) ([]byte, error) {
	if err := c.failures[kind]; err != nil {
		return nil, err
	}
	for _, object := range c.objects {
		if object.kind == kind && object.meta.Name == name && (namespace == "" || object.meta.Namespace == namespace) {
			return object.text, nil
		}
	}
	return nil, gyre.ErrNotFound
}

// List returns the objects that match.
func (c *Cluster) List(kind gyre.GroupVersionKind, namespace, labelSelector string) ([][]byte, error) {
	if err := c.failures[kind]; err != nil {
		return nil, err
	}
	requirements, err := parseSelector(labelSelector)
	if err != nil {
		return nil, err
	}
	return texts(c.objects, func(o stored) bool {
		isInNamespace := namespace == "" || o.meta.Namespace == namespace
		return o.kind == kind && isInNamespace && fits(requirements, o.meta.Labels)
	}), nil
}
