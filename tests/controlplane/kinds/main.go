// Command kinds says what the Go types behind the built-in kinds do to an object that passes through them, which OpenAPI does
// not tell: which fields are dropped or rendered when they are empty, which defaults are set, and how it is written in
// protobuf.
//
// It reads {"kinds": [{"group", "version", "kind"}], "schemas": {name: OpenAPI schema}} and prints
// {"types": …, "defaults": …, "wire": …, "wireSamples": …}, as types.go, defaults.go and wire.go describe them.
// `cargo xtask dump-kinds` runs it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

type input struct {
	Kinds []struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"kinds"`
	Schemas map[string]openAPISchema `json:"schemas"`
}

// openAPISchema has the one thing that the Go types do not say: the values of named strings.
type openAPISchema struct {
	Properties map[string]struct {
		Enum  []string `json:"enum"`
		Items struct {
			Enum []string `json:"enum"`
		} `json:"items"`
	} `json:"properties"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return fmt.Errorf("cannot read the input: %w", err)
	}
	apiextensions.Install(legacyscheme.Scheme)
	apiregistration.Install(legacyscheme.Scheme)
	roots := map[schema.GroupVersionKind]reflect.Type{}
	versions := map[schema.GroupVersion]bool{}
	for _, kind := range in.Kinds {
		gvk := schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
		goType, found := legacyscheme.Scheme.AllKnownTypes()[gvk]
		if !found {
			return fmt.Errorf("no Go type is known for %v; does main.go import the install package of its group?", gvk)
		}
		roots[gvk] = goType
		versions[gvk.GroupVersion()] = true
	}
	types, err := describeTypes(versions, in.Schemas)
	if err != nil {
		return err
	}
	defaults, err := learnDefaults(roots, in.Schemas)
	if err != nil {
		return err
	}
	sent := bodies(roots)
	wire, err := describeWire(sent)
	if err != nil {
		return err
	}
	samples, err := drawSamples(sent)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"types": types, "defaults": defaults, "wire": wire, "wireSamples": samples,
	})
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}
