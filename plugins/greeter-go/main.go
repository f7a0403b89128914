// A Greeting keeps its message in a ConfigMap.
package main

import (
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
	Message string `json:"message" doc:"Any text."`
}

// GreetingStatus is the status of a Greeting. The host adds the conditions.
type GreetingStatus struct {
	ConfigMap string `json:"configMap" doc:"The ConfigMap that holds the message."`
}

var resource = gyre.CustomResource{
	Kind:        gyre.Kind("example.com/v1alpha1", "Greeting"),
	Description: "A message that is kept in a ConfigMap.",
	Columns:     []gyre.Column{gyre.ConditionColumn("Ready"), gyre.AgeColumn()},
}

// GreetingReconciler is the plugin.
type GreetingReconciler struct{}

// Reconcile returns what should exist. The host calls it whenever one of its inputs has changed: the
// Greeting or its ConfigMap. The host compares, applies, prunes and retries.
func (GreetingReconciler) Reconcile(c gyre.Context, greeting *Greeting, _ gyre.NoSettings) (gyre.Plan, error) {
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
		Parent:      resource.Kind,
		Children:    []gyre.ChildKind{gyre.Owns[k8s.ConfigMap]()},
		CRDs:        [][]byte{gyre.CRD[GreetingSpec, GreetingStatus](resource)},
	}, GreetingReconciler{})
}

func main() {}
