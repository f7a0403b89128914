package main

import (
	"testing"

	"gyre.dev/gyre"
	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

func TestTheMessageIsInTheConfigMap(t *testing.T) {
	greeting := &Greeting{Object: gyre.Named("hello"), Spec: GreetingSpec{Message: "Hello, world!"}}
	plan, err := GreetingReconciler{}.Reconcile(gyretest.With().Context(), greeting, gyre.NoSettings{})
	if err != nil {
		t.Fatal(err)
	}
	configMap := gyretest.Applied[k8s.ConfigMap](t, plan, "hello")
	if configMap.Data["message"] != "Hello, world!" {
		t.Errorf("unexpected data: %v", configMap.Data)
	}
}
