package gyre

import (
	"fmt"
	"reflect"
	"strings"
)

// GroupVersionKind names a kind. The core group is the empty string.
type GroupVersionKind struct{ Group, Version, Kind string }

// Kind returns a kind by its apiVersion, e.g. Kind("apps/v1", "Deployment").
func Kind(apiVersion, kind string) GroupVersionKind {
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	return GroupVersionKind{group, version, kind}
}

// APIVersion returns the apiVersion of objects of this kind.
func (k GroupVersionKind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

func (k GroupVersionKind) String() string { return k.APIVersion() + " " + k.Kind }

// Kinded is a type that knows its kind, such as those of the package k8s.
type Kinded interface{ GroupVersionKind() GroupVersionKind }

// Strategy says how a child that exists is brought to what is desired.
type Strategy byte

const (
	// Apply changes it in place, with server-side apply.
	Apply Strategy = iota
	// Recreate deletes it and creates it again if it differs.
	Recreate
	// CreateOnly creates it once, and never touches it again while it exists.
	CreateOnly
)

// Propagation says what becomes of the objects that a deleted object owns.
type Propagation byte

const (
	Background Propagation = iota
	Foreground
	Orphan
)

// ChildKind is a kind that the plugin makes children of: see Owns.
type ChildKind struct {
	Kind GroupVersionKind
	// Strategy is that of a child that names none.
	Strategy Strategy
	// Strongest is the strongest strategy that a child may name. Nil is that of the kind.
	Strongest *Strategy
	// Propagation says how children of this kind are deleted.
	Propagation Propagation
	// OutlivesParent says whether children of this kind stay when their parent is deleted.
	OutlivesParent bool
}

// ReadKind is a kind that the plugin may read with Get and List: see Reads.
type ReadKind struct {
	Kind GroupVersionKind
	// Namespace is the only one to read from. Empty means the parent's, and what the operator grants.
	Namespace string
	// LabelSelector selects the objects that are visible, in the syntax of kubectl get -l.
	LabelSelector string
	// MetadataOnly reads apiVersion, kind and metadata only, which costs the host less memory.
	MetadataOnly bool
}

// Manifest declares a reconciler. It must be the same each time.
type Manifest struct {
	// Name is a DNS label.
	Name string
	// Version is that of the plugin, for people.
	Version string
	// Description is a sentence for people.
	Description string
	Parent      GroupVersionKind
	// Grouped calls the plugin about all parents at once: P of its Reconciler is a Group.
	Grouped bool
	// GroupBy calls it about all parents with the same value in this field, a JSON Pointer such as
	// /spec/pool: P of its Reconciler is a Group.
	GroupBy  string
	Children []ChildKind
	Reads    []ReadKind
	// ParentFields are the fields of parents that the plugin may set, as JSON Pointers:
	// Plan.WithParentFields.
	ParentFields []string
	// DeletesParent says whether the plugin may delete parents: Plan.DeleteParent.
	DeletesParent bool
	// CRDs are CustomResourceDefinitions that the plugin brings, in JSON.
	CRDs [][]byte
}

// kinds has the kinds of the types that do not know their own.
var kinds = map[reflect.Type]GroupVersionKind{}

// kindOf returns the kind of a type, or false if the manifest does not declare it.
func kindOf(t reflect.Type) (GroupVersionKind, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if kinded, ok := reflect.New(t).Interface().(Kinded); ok {
		return kinded.GroupVersionKind(), true
	}
	kind, ok := kinds[t]
	return kind, ok
}

func kindOfType[T any]() (GroupVersionKind, error) {
	t := reflect.TypeFor[T]()
	kind, ok := kindOf(t)
	if !ok {
		return kind, fmt.Errorf("%w: the kind of %s; add Owns or Reads of it to the manifest", ErrNotDeclared, t)
	}
	return kind, nil
}

// Owns declares that the plugin makes children of a type, which it changes in place. A type that is
// not Kinded, such as those of k8s.io/api, needs its kind: Owns[batchv1.Job](Kind("batch/v1", "Job")).
func Owns[T any](kind ...GroupVersionKind) ChildKind { return ChildKind{Kind: declare[T](kind)} }

// With returns the kind with another strategy.
func (c ChildKind) With(strategy Strategy) ChildKind {
	c.Strategy = strategy
	return c
}

// UpTo returns the kind with the strongest strategy that a child may name.
func (c ChildKind) UpTo(strategy Strategy) ChildKind {
	c.Strongest = &strategy
	return c
}

// Outliving returns the kind with children that stay when their parent is deleted, e.g. volumes with
// data. A new parent of the same name gets them back if the operator lets the mount adopt objects.
func (c ChildKind) Outliving() ChildKind {
	c.OutlivesParent = true
	return c
}

// Reads declares that the plugin reads objects of a type. See Owns for the kind.
func Reads[T any](kind ...GroupVersionKind) ReadKind { return ReadKind{Kind: declare[T](kind)} }

// Where returns the kind with a label selector.
func (r ReadKind) Where(labelSelector string) ReadKind {
	r.LabelSelector = labelSelector
	return r
}

// OnlyMetadata returns the kind of which only apiVersion, kind and metadata are read.
func (r ReadKind) OnlyMetadata() ReadKind {
	r.MetadataOnly = true
	return r
}

func declare[T any](given []GroupVersionKind) GroupVersionKind {
	t := reflect.TypeFor[T]()
	if len(given) > 0 {
		kinds[t] = given[0]
		return given[0]
	}
	kind, ok := kindOf(t)
	if !ok {
		panic(fmt.Sprintf("%s has no method GroupVersionKind: name its kind, e.g. Owns[%s](gyre.Kind(\"example.com/v1\", %q))", t, t, t.Name()))
	}
	return kind
}
