package gyre

import (
	"encoding/json"
	"fmt"
	"time"
)

// Cluster is what a plugin may look at. What it reads is an input: a change calls the plugin again.
// In tests it is a gyretest.Cluster.
type Cluster interface {
	// Children returns the children of a kind that exist because of this parent.
	Children(kind GroupVersionKind) ([][]byte, error)
	// Get returns an object, or ErrNotFound. An empty namespace is the parent's.
	Get(kind GroupVersionKind, namespace, name string) ([]byte, error)
	// List returns the objects that match. An empty namespace is all that are granted.
	List(kind GroupVersionKind, namespace, labelSelector string) ([][]byte, error)
}

// Context is what a call has besides its parent and settings.
type Context struct {
	Cluster Cluster
	// Log writes into the host's log, beside the plugin and the parent.
	Log *Logger
	// Clock returns the time in a test. Nil is the host's clock.
	Clock func() time.Time
}

// Now returns the time of the call. It is an input: the host notes that the plugin has read it, and
// calls again only if something else changes. To be called at a time, return Plan.Requeue.
func (c Context) Now() time.Time {
	if c.Clock != nil {
		return c.Clock()
	}
	// Round removes the reading of the monotonic clock.
	return time.Now().UTC().Round(0)
}

// Get returns the object of this name in the parent's namespace. The error is ErrNotFound if there
// is none.
func Get[T any](c Context, name string) (*T, error) { return GetIn[T](c, "", name) }

// GetIn returns the object of this name in a namespace.
func GetIn[T any](c Context, namespace, name string) (*T, error) {
	kind, err := kindOfType[T]()
	if err != nil {
		return nil, err
	}
	bytes, err := c.Cluster.Get(kind, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind.Kind, name, err)
	}
	return decode[T](kind, bytes)
}

// List returns the objects of a type that match a label selector, in all granted namespaces.
func List[T any](c Context, labelSelector string) ([]*T, error) {
	return ListIn[T](c, "", labelSelector)
}

// ListIn returns the objects of a type in a namespace that match a label selector.
func ListIn[T any](c Context, namespace, labelSelector string) ([]*T, error) {
	kind, err := kindOfType[T]()
	if err != nil {
		return nil, err
	}
	texts, err := c.Cluster.List(kind, namespace, labelSelector)
	return decodeAll[T](kind, texts, err)
}

// ChildrenOf returns the children of a type that exist because of the parent.
func ChildrenOf[T any](c Context) ([]*T, error) {
	kind, err := kindOfType[T]()
	if err != nil {
		return nil, err
	}
	texts, err := c.Cluster.Children(kind)
	return decodeAll[T](kind, texts, err)
}

// ChildOf returns the child of this type and name that exists because of the parent. The error is
// ErrNotFound if there is none: objects of others with this name are no children.
func ChildOf[T any](c Context, name string) (*T, error) {
	kind, err := kindOfType[T]()
	if err != nil {
		return nil, err
	}
	texts, err := c.Cluster.Children(kind)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind.Kind, name, err)
	}
	for _, text := range texts {
		var head Object
		if err := json.Unmarshal(text, &head); err == nil && head.Metadata.Name == name {
			return decode[T](kind, text)
		}
	}
	return nil, fmt.Errorf("%s %s: %w", kind.Kind, name, ErrNotFound)
}

func decodeAll[T any](kind GroupVersionKind, texts [][]byte, err error) ([]*T, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind.Kind, err)
	}
	objects := make([]*T, len(texts))
	for index, bytes := range texts {
		if objects[index], err = decode[T](kind, bytes); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

func decode[T any](kind GroupVersionKind, bytes []byte) (*T, error) {
	object := new(T)
	if err := json.Unmarshal(bytes, object); err != nil {
		return nil, fmt.Errorf("cannot read a %s: %w", kind.Kind, err)
	}
	return object, nil
}
