// Package k8s has lean types of common kinds.
package k8s

import "gyre.dev/gyre"

// ConfigMap holds configuration data.
type ConfigMap struct {
	gyre.Object
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
	Immutable  *bool             `json:"immutable,omitempty"`
}

// GroupVersionKind returns the kind.
func (ConfigMap) GroupVersionKind() gyre.GroupVersionKind { return gyre.Kind("v1", "ConfigMap") }

// Secret holds secret data. What a plugin reads has placeholders in place of the values.
type Secret struct {
	gyre.Object
	Type       string            `json:"type,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
	StringData map[string]string `json:"stringData,omitempty"`
	Immutable  *bool             `json:"immutable,omitempty"`
}

// GroupVersionKind returns the kind.
func (Secret) GroupVersionKind() gyre.GroupVersionKind { return gyre.Kind("v1", "Secret") }

// Namespace is a namespace.
type Namespace struct{ gyre.Object }

// GroupVersionKind returns the kind.
func (Namespace) GroupVersionKind() gyre.GroupVersionKind { return gyre.Kind("v1", "Namespace") }
