package main

import (
	"testing"

	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

func TestCopiesFollowTheSecretAndTheNamespaces(t *testing.T) {
	grants := map[string]any{"grants": map[string]any{"writeNamespaces": "all", "readNamespaces": "all"}}
	world := gyretest.Start(t, gyretest.Setup{Files: []string{"samples"}, Mount: grants})
	world.Settle()
	if !world.Has("Secret team-a/registry") {
		t.Fatal("there is no copy in team-a")
	}

	world.Put(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "team-b"}})
	world.Settle()
	world.Edit("Secret shared/registry", func(secret map[string]any) { secret["data"] = map[string]any{"token": "bmV3"} })
	world.Settle()
	for _, namespace := range []string{"team-a", "team-b"} {
		var replica k8s.Secret
		world.Find("Secret "+namespace+"/registry", &replica)
		if got := string(replica.Data["token"]); got != "new" {
			t.Errorf("the copy in %s has %q", namespace, got)
		}
	}

	world.Delete("Secret shared/registry")
	world.Settle()
	if world.Has("Secret team-a/registry") || world.Has("Secret team-b/registry") {
		t.Error("a copy outlives its Secret")
	}
}

func TestTheCasesOfGyreTest(t *testing.T) { gyretest.AssertCases(t, "replicator", "cases") }
