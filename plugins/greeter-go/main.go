// A Greeting keeps its message in a ConfigMap: the plugin greeter, in Go.
package main

import (
	_ "embed"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// Greeting is a message that is kept in a ConfigMap.
type Greeting struct {
	gyre.Object
	Spec GreetingSpec `json:"spec"`
}

// GreetingSpec is the desired state of a Greeting.
type GreetingSpec struct {
	// Message is any text.
	Message string `json:"message"`
}

// GreetingStatus is the status of a Greeting. The host adds the conditions.
type GreetingStatus struct {
	// ConfigMap holds the message.
	ConfigMap string `json:"configMap"`
}

//go:embed crd.json
var crd []byte

// Reconciler is the plugin.
type Reconciler struct{}

// Reconcile returns the ConfigMap that should exist.
func (Reconciler) Reconcile(c gyre.Context, greeting *Greeting, _ gyre.NoSettings) (gyre.Plan, error) {
	name := greeting.Metadata.Name
	configMap := k8s.ConfigMap{Object: gyre.Named(name), Data: map[string]string{"message": greeting.Spec.Message}}
	return gyre.Children(configMap).
		WithStatus(GreetingStatus{ConfigMap: name}).
		Ready("Written", "ConfigMap %s holds the message", name), nil
}

func init() {
	gyre.Register(gyre.Manifest{
		Name:        "greeter",
		Version:     "0.1.0",
		Description: "A Greeting keeps its message in a ConfigMap.",
		Parent:      gyre.Kind("example.com/v1alpha1", "Greeting"),
		Children:    []gyre.ChildKind{gyre.Owns[k8s.ConfigMap]()},
		CRDs:        [][]byte{crd},
	}, Reconciler{})
}

func main() {}
