package main

import (
	"encoding/json"
	"testing"

	"gyre.dev/gyre"
	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

func TestTheMessageIsInTheConfigMap(t *testing.T) {
	greeting := &Greeting{Object: gyre.Named("hello"), Spec: GreetingSpec{Message: "Hello, world!"}}
	plan, err := Reconciler{}.Reconcile(gyretest.With().Context(), greeting, gyre.NoSettings{})
	if err != nil {
		t.Fatal(err)
	}
	var configMap k8s.ConfigMap
	if err := json.Unmarshal(plan.Children[0].Object, &configMap); err != nil {
		t.Fatal(err)
	}
	if configMap.Data["message"] != "Hello, world!" || plan.Conditions[0].Reason != "Written" {
		t.Errorf("unexpected plan: %+v", plan)
	}
}
