// Package gyretest has a fake cluster for `go test`, without the gyre program.
package gyretest

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"gyre.dev/gyre"
)

// Cluster is a cluster with fixed objects. It knows selectors of equality, as in "app=web,tier!=db",
// and keys, as in "app,!tier"; behaviour with all selectors is tested with `gyre test`.
type Cluster struct {
	objects, children []stored
}

type stored struct {
	kind gyre.GroupVersionKind
	meta gyre.ObjectMeta
	text []byte
}

// With returns a cluster with these objects: structs or maps with apiVersion and kind, or types that
// are gyre.Kinded.
func With(objects ...any) *Cluster { return &Cluster{objects: store(objects)} }

// AndChildren adds children of the parent.
func (c *Cluster) AndChildren(children ...any) *Cluster {
	c.children = append(c.children, store(children)...)
	return c
}

// Context returns the context of a call that reads this cluster.
func (c *Cluster) Context() gyre.Context {
	return gyre.Context{Cluster: c, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
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
	for _, object := range c.objects {
		if object.kind == kind && object.meta.Name == name && (namespace == "" || object.meta.Namespace == namespace) {
			return object.text, nil
		}
	}
	return nil, gyre.ErrNotFound
}

// List returns the objects that match.
func (c *Cluster) List(kind gyre.GroupVersionKind, namespace, labelSelector string) ([][]byte, error) {
	if strings.ContainsAny(labelSelector, "()") {
		return nil, fmt.Errorf("%w: the fake cluster knows no sets: %q", gyre.ErrInvalidSelector, labelSelector)
	}
	return texts(c.objects, func(o stored) bool {
		return o.kind == kind && (namespace == "" || o.meta.Namespace == namespace) && matches(labelSelector, o.meta.Labels)
	}), nil
}

func matches(selector string, labels map[string]string) bool {
	for _, term := range strings.Split(selector, ",") {
		term = strings.TrimSpace(term)
		if term == "" {
			continue
		}
		if key, value, found := strings.Cut(term, "!="); found {
			if labels[strings.TrimSpace(key)] == strings.TrimSpace(value) {
				return false
			}
		} else if key, value, found := strings.Cut(strings.Replace(term, "==", "=", 1), "="); found {
			if has, ok := labels[strings.TrimSpace(key)]; !ok || has != strings.TrimSpace(value) {
				return false
			}
		} else if _, has := labels[strings.TrimPrefix(term, "!")]; has == strings.HasPrefix(term, "!") {
			return false
		}
	}
	return true
}
