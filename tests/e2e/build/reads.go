// Reads many objects, allocates much, or panics, as the message of the parent says.
package main

import (
	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

type greeting struct {
	gyre.Object
	Spec spec `json:"spec"`
}

type spec struct {
	Message string `json:"message"`
}

var greetings = gyre.CustomResource{Kind: gyre.Kind("example.com/v1alpha1", "Greeting")}

type reconciler struct{}

func (reconciler) Reconcile(c gyre.Context, parent *greeting, _ gyre.NoSettings) (gyre.Plan, error) {
	switch parent.Spec.Message {
	case "panic":
		var absent map[string]int
		absent["it"] = 1
	case "garbage":
		bytes := 0
		for range 3_000 {
			garbage := make([]byte, 128<<10)
			garbage[bytes%len(garbage)] = 1
			bytes += len(garbage)
		}
		return gyre.Wait("Collected", "%d MiB", bytes>>20), nil
	}
	var counts [3]int
	for index := range counts {
		all, err := gyre.List[k8s.ConfigMap](c, "")
		if err != nil {
			return gyre.Plan{}, err
		}
		counts[index] = len(all)
	}
	return gyre.Wait("Read", "%d objects, then %d and %d", counts[0], counts[1], counts[2]), nil
}

func init() {
	gyre.Register(gyre.Manifest{
		Name:        "reads",
		Version:     "0.1.0",
		Description: "Reads.",
		Parent:      greetings.Kind,
		Reads:       []gyre.ReadKind{gyre.Reads[k8s.ConfigMap]()},
		CRDs:        [][]byte{gyre.CRD[spec, struct{}](greetings)},
	}, reconciler{})
}

func main() {}
