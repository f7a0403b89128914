// A plugin that is broken on purpose, for tests: its parent says how.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// Broken says what is broken.
type Broken struct {
	gyre.Object
	Spec BrokenSpec `json:"spec"`
}

// BrokenSpec is what the plugin does.
type BrokenSpec struct {
	Does string `json:"does"`
}

// BrokenReconciler is the plugin.
type BrokenReconciler struct{}

var (
	drawn   = rand.Int64()
	started = time.Now()
	calls   int
)

var ways = map[string]func() map[string]string{
	"panics": func() map[string]string {
		var absent map[string]string
		absent["port"] = "80"
		return absent
	},
	"panics with an error": func() map[string]string {
		panic(errors.New("the first line\nand the second"))
	},
	"panics in a package": func() map[string]string {
		return map[string]string{"line": strings.Repeat("-", -1)}
	},
	"panics elsewhere": func() map[string]string {
		ended := make(chan bool)
		go func() { panic("in a goroutine") }()
		<-ended
		return nil
	},
	"waits": func() map[string]string {
		never := make(chan map[string]string)
		return <-never
	},
	"recurses": func() map[string]string {
		return map[string]string{"depth": fmt.Sprint(depth(0))}
	},
	"loops": func() map[string]string {
		for {
		}
	},
	"allocates": func() map[string]string {
		var all [][]byte
		for len(all) < 1_000_000 {
			all = append(all, make([]byte, 100_000))
		}
		return map[string]string{"size": fmt.Sprint(len(all))}
	},
	"reads the clock": func() map[string]string {
		return map[string]string{"now": time.Now().Format(time.RFC3339Nano)}
	},
	"counts calls": func() map[string]string {
		calls++
		return map[string]string{"calls": fmt.Sprint(calls)}
	},
	"draws": func() map[string]string {
		return map[string]string{"number": fmt.Sprint(rand.Int64())}
	},
	"ranges over a map": func() map[string]string {
		var names []string
		for name := range map[string]bool{"ada": true, "bob": true, "eve": true, "joe": true, "kim": true, "lea": true} {
			names = append(names, name)
		}
		return map[string]string{"names": strings.Join(names, " ")}
	},
	"has what an init function left": func() map[string]string {
		return map[string]string{"number": fmt.Sprint(drawn), "time": started.UTC().Format(time.DateOnly)}
	},
}

func depth(reached int) int {
	return 1 + depth(reached+1)
}

// Reconcile does what its parent says.
func (BrokenReconciler) Reconcile(_ gyre.Context, broken *Broken, _ gyre.NoSettings) (gyre.Plan, error) {
	way := ways[broken.Spec.Does]
	if way == nil {
		return gyre.NoChildren(), nil
	}
	configMap := k8s.ConfigMap{Object: gyre.Named(broken.Metadata.Name), Data: way()}
	return gyre.Children(configMap).Ready("Written", "it is written"), nil
}

func init() {
	resource := gyre.CustomResource{Kind: gyre.Kind("example.com/v1", "Broken")}
	gyre.Register(gyre.Manifest{
		Name:     "broken",
		Version:  "0.1.0",
		Parent:   resource.Kind,
		Children: []gyre.ChildKind{gyre.Owns[k8s.ConfigMap]()},
		CRDs:     [][]byte{gyre.CRD[BrokenSpec, struct{}](resource)},
	}, BrokenReconciler{})
}

func main() {}
