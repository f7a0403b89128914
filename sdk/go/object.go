package gyre

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Object is the beginning of every object: embed it in the type of a kind.
type Object struct {
	APIVersion string     `json:"apiVersion,omitempty"`
	Kind       string     `json:"kind,omitempty"`
	Metadata   ObjectMeta `json:"metadata"`
}

// ObjectMeta is the metadata of an object.
type ObjectMeta struct {
	Name              string            `json:"name,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	OwnerReferences   []OwnerReference  `json:"ownerReferences,omitempty"`
	Finalizers        []string          `json:"finalizers,omitempty"`
	CreationTimestamp *time.Time        `json:"creationTimestamp,omitempty"`
	DeletionTimestamp *time.Time        `json:"deletionTimestamp,omitempty"`
}

// OwnerReference names an owner of an object. The host writes those of children.
type OwnerReference struct {
	APIVersion         string `json:"apiVersion,omitempty"`
	Kind               string `json:"kind,omitempty"`
	Name               string `json:"name,omitempty"`
	UID                string `json:"uid,omitempty"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

// Named returns the beginning of an object with this name, in the parent's namespace.
func Named(name string) Object { return Object{Metadata: ObjectMeta{Name: name}} }

// encode returns an object in JSON, with the apiVersion and kind of its type if it has none.
func encode(object any) ([]byte, error) {
	bytes, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("cannot write a child of the type %T: %w", object, err)
	}
	var head Object
	if err := json.Unmarshal(bytes, &head); err != nil {
		return nil, fmt.Errorf("a child of the type %T is no object: %w", object, err)
	}
	if head.APIVersion != "" && head.Kind != "" {
		return bytes, nil
	}
	kind, ok := kindOf(reflect.TypeOf(object))
	if !ok {
		return nil, fmt.Errorf("a child of the type %T has no apiVersion and kind; set them, or declare the type with Owns", object)
	}
	if head.APIVersion == "" && head.Kind == "" {
		return withKind(bytes, kind)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(bytes, &fields); err != nil {
		return nil, err
	}
	fields["apiVersion"], _ = json.Marshal(kind.APIVersion())
	fields["kind"], _ = json.Marshal(kind.Kind)
	return json.Marshal(fields)
}

// withKind returns an object in JSON, which has neither apiVersion nor kind, with both at its
// beginning.
func withKind(object []byte, kind GroupVersionKind) ([]byte, error) {
	begin, err := json.Marshal(struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}{kind.APIVersion(), kind.Kind})
	if err != nil {
		return nil, err
	}
	if len(object) == len("{}") {
		return begin, nil
	}
	begin[len(begin)-1] = ','
	return append(begin, object[1:]...), nil
}
