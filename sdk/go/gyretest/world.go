package gyretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gyre.dev/gyre"
)

// Setup is the beginning of a World.
type Setup struct {
	// Reconciler is the name of a reconciler that this package registers, or that the component has.
	// Empty is the only one.
	Reconciler string
	// Component is the path of a component to test in place of the reconciler of this process.
	Component string
	// Objects exist at first: structs or maps with apiVersion and kind, or types that are gyre.Kinded.
	Objects []any
	// Files are paths of YAML and JSON files and folders with further objects.
	Files []string
	// Case is the folder of a case of `gyre test`. Empty is none.
	Case string
	// Settings are those of the plugin. Nil is none.
	Settings any
	// Mount has keys of the mount, as in the configuration file.
	Mount map[string]any
	// Time is that at first, e.g. "2026-01-01T00:00:00Z", which is also the default.
	Time string
	// PodsRunFor is the time after which pods end. Zero is when a test ends them.
	PodsRunFor time.Duration
	// WithoutControllers says that there are no controllers for Jobs, owners, namespaces, and so on.
	WithoutControllers bool
}

// World is a cluster in memory with the real host, a plugin, and a clock that a test advances. It is run
// by the program gyre, which the environment variable GYRE names, or which is on PATH. An object is
// named as in plans: "Job default/hello", or "Job hello" in the namespace default.
//
//	world := gyretest.Start(t, gyretest.Setup{Files: []string{"samples"}})
//	world.Settle().AssertPlan("create Job default/hello", "status Echo default/hello")
//	world.Advance(24 * time.Hour)
//	world.Settle().AssertNothingDone()
//
// The plugin runs in the process of the test, where a debugger works.
type World struct {
	t    testing.TB
	lane *lane
}

// Start returns a world, which ends with the test. Without the program gyre, the test is skipped; in CI,
// where the environment variable CI is set, it fails.
func Start(t testing.TB, setup Setup) *World {
	t.Helper()
	w := &World{t: t, lane: openLane(t)}
	mount := map[string]any{"plugin": w.load(setup)}
	if setup.Settings != nil {
		mount["settings"] = setup.Settings
	}
	if setup.Mount != nil {
		mount["mount"] = setup.Mount
	}
	objects := []json.RawMessage{}
	for _, object := range setup.Objects {
		objects = append(objects, withKind(object))
	}
	files := []string{}
	for _, file := range setup.Files {
		files = append(files, w.absolute(file))
	}
	fields := map[string]any{
		"plugins":            []any{mount},
		"objects":            objects,
		"files":              files,
		"withoutControllers": setup.WithoutControllers,
	}
	if setup.Case != "" {
		fields["case"] = w.absolute(setup.Case)
	}
	if setup.Time != "" {
		fields["time"] = setup.Time
	}
	if setup.PodsRunFor > 0 {
		fields["podsRunForMs"] = milliseconds(setup.PodsRunFor)
	}
	w.ask("start", fields, nil)
	t.Cleanup(func() { w.ask("end", struct{}{}, nil) })
	return w
}

// AssertCases runs the cases of `gyre test` in a folder with the reconciler of this name, or the only one
// if it is empty. GYRE_BLESS=1 writes their expected.yaml.
func AssertCases(t testing.TB, reconciler, folder string) {
	t.Helper()
	w := &World{t: t, lane: openLane(t)}
	fields := map[string]any{"plugin": w.load(Setup{Reconciler: reconciler}), "folder": w.absolute(folder), "write": isBlessing()}
	w.assertNoDifference("cases", fields)
}

func isBlessing() bool { return os.Getenv("GYRE_BLESS") == "1" }

func openLane(t testing.TB) *lane {
	t.Helper()
	program, err := theProgram()
	if errors.Is(err, errNoProgram) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	lane, err := program.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.close(lane.world) })
	return lane
}

func (w *World) ask(request string, fields, into any) {
	w.t.Helper()
	if err := w.lane.ask(request, fields, into); err != nil {
		w.t.Fatalf("%s: %v", request, err)
	}
}

func (w *World) assertNoDifference(request string, fields any) {
	w.t.Helper()
	var compared struct{ Difference *string }
	w.ask(request, fields, &compared)
	if compared.Difference != nil {
		w.t.Fatal(*compared.Difference)
	}
}

func (w *World) absolute(path string) string {
	w.t.Helper()
	absolute, err := filepath.Abs(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return absolute
}

// load returns the number of the plugin.
func (w *World) load(setup Setup) int {
	w.t.Helper()
	var loaded struct{ Plugin int }
	if setup.Component != "" {
		fields := map[string]any{"path": w.absolute(setup.Component)}
		if setup.Reconciler != "" {
			fields["reconciler"] = setup.Reconciler
		}
		w.ask("load", fields, &loaded)
		return loaded.Plugin
	}
	reconciler, err := registered(setup.Reconciler)
	if err != nil {
		w.t.Fatal(err)
	}
	manifest := manifestForm(reconciler)
	kit := map[string]any{"identity": reconciler.Manifest().Name, "manifest": manifest}
	w.ask("load", map[string]any{"kit": kit}, &loaded)
	w.lane.plugins[loaded.Plugin] = native(reconciler)
	return loaded.Plugin
}

func registered(name string) (gyre.Registered, error) {
	all := gyre.RegisteredReconcilers()
	var names []string
	for _, reconciler := range all {
		if reconciler.Manifest().Name == name || (name == "" && len(all) == 1) {
			return reconciler, nil
		}
		names = append(names, reconciler.Manifest().Name)
	}
	return gyre.Registered{}, fmt.Errorf("no reconciler has the name %q; these are registered: %q", name, names)
}

// withKind returns an object in JSON, with the apiVersion and kind of its type if it has none.
func withKind(object any) json.RawMessage {
	plan := gyre.Children(object)
	if len(plan.Children) == 1 && plan.Children[0].Object != nil {
		return plan.Children[0].Object
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return text
}

// Settle runs the host until it has written nothing for two seconds of simulated time, and returns what
// has happened since the last call.
func (w *World) Settle() *Run { w.t.Helper(); return w.settle(false) }

// SettleWithFaults is like Settle, and calls may end by a fault of the plugin, such as a panic.
func (w *World) SettleWithFaults() *Run { w.t.Helper(); return w.settle(true) }

func (w *World) settle(allowFaults bool) *Run {
	w.t.Helper()
	run := &Run{world: w}
	w.ask("settle", map[string]any{"allowFaults": allowFaults}, run)
	return run
}

// Advance lets time pass.
func (w *World) Advance(duration time.Duration) {
	w.t.Helper()
	w.ask("advance", map[string]any{"ms": milliseconds(duration)}, nil)
}

// Now returns the simulated time.
func (w *World) Now() time.Time {
	w.t.Helper()
	var now struct{ Time time.Time }
	w.ask("now", struct{}{}, &now)
	return now.Time
}

// Restart ends the host. Another one begins.
func (w *World) Restart() {
	w.t.Helper()
	w.ask("restart", struct{}{}, nil)
}

// Has returns whether an object exists.
func (w *World) Has(object string) bool {
	w.t.Helper()
	return w.find(object) != nil
}

// Find reads an object into a value. The test fails if it does not exist.
func (w *World) Find(object string, into any) {
	w.t.Helper()
	text := w.find(object)
	if text == nil {
		w.t.Fatalf("there is no %s", object)
	}
	if err := json.Unmarshal(text, into); err != nil {
		w.t.Fatalf("%s is no %T: %v", object, into, err)
	}
}

func (w *World) find(object string) []byte {
	w.t.Helper()
	var found struct{ Object json.RawMessage }
	w.ask("find", map[string]any{"object": object}, &found)
	if string(found.Object) == "null" {
		return nil
	}
	return found.Object
}

// Put stores an object unchanged, with its UID and status.
func (w *World) Put(object any) {
	w.t.Helper()
	w.ask("put", map[string]any{"object": withKind(object)}, nil)
}

// Edit changes an object as `kubectl edit`: its fields as encoding/json has them.
func (w *World) Edit(object string, change func(fields map[string]any)) {
	w.t.Helper()
	var fields map[string]any
	w.Find(object, &fields)
	change(fields)
	w.ask("replace", map[string]any{"object": fields}, nil)
}

// SetStatus sets a status as the controller of its kind.
func (w *World) SetStatus(object string, status any) {
	w.t.Helper()
	w.ask("setStatus", map[string]any{"object": object, "status": status}, nil)
}

// Delete deletes an object as `kubectl delete --wait=false`.
func (w *World) Delete(object string) {
	w.t.Helper()
	w.ask("delete", map[string]any{"object": object}, nil)
}

// FinishJob lets a Job succeed.
func (w *World) FinishJob(job string) { w.t.Helper(); w.endJob(job, "succeeds") }

// FailJob lets a Job fail.
func (w *World) FailJob(job string) { w.t.Helper(); w.endJob(job, "fails") }

func (w *World) endJob(job, end string) {
	w.t.Helper()
	w.ask("endJob", map[string]any{"object": job, "end": end}, nil)
}

// Run is what has happened in a World.
type Run struct {
	world *World
	// Plan is what the host did, in order.
	Plan []Action `json:"plan"`
	// Children are the children as last written, in JSON.
	Children []json.RawMessage `json:"children"`
	// Parents are the parents at the end, in JSON.
	Parents []json.RawMessage `json:"parents"`
	// Reads are what all calls have read, e.g. "get ConfigMap.v1 settings".
	Reads []string `json:"reads"`
	// Log has the log lines of the plugin.
	Log []LogLine `json:"log"`
	// Summary is the content of the expected.yaml of `gyre test`, in JSON.
	Summary json.RawMessage `json:"summary"`
}

// LogLine is a line in the log of the plugin.
type LogLine struct {
	Level   string `json:"level"`
	Message string `json:"message"`
	// Fields are the keys and values, in JSON.
	Fields json.RawMessage `json:"fields"`
}

// Action is something that the host did.
type Action struct {
	Text string `json:"text"`
	Verb string `json:"verb"`
	// Refusal is the error of the API server, or empty.
	Refusal string `json:"refusal"`
}

// AssertPlan asserts what the host did, as in "create Job default/hello". Spaces do not matter.
func (r *Run) AssertPlan(actions ...string) {
	r.world.t.Helper()
	var actual, expected strings.Builder
	for _, action := range r.Plan {
		fmt.Fprintln(&actual, strings.Join(strings.Fields(action.Text), " "))
	}
	for _, action := range actions {
		fmt.Fprintln(&expected, strings.Join(strings.Fields(action), " "))
	}
	r.world.assertNoDifference("compare", map[string]any{
		"actual":   actual.String(),
		"expected": map[string]any{"value": expected.String()},
		"how":      "lines",
		"what":     "the plan is not as expected",
	})
}

// AssertNothingDone asserts that the host did nothing.
func (r *Run) AssertNothingDone() { r.world.t.Helper(); r.AssertPlan() }

// AssertGolden compares the summary with a YAML file, which GYRE_BLESS=1 writes.
func (r *Run) AssertGolden(path string) {
	r.world.t.Helper()
	fields := map[string]any{"actual": r.Summary, "path": r.world.absolute(path), "write": isBlessing()}
	r.world.assertNoDifference("golden", fields)
}

// Condition returns the status and reason of a condition of a parent, as in "True JobCreated". The parent
// is named as in a plan, or by its name alone. The test fails if there is none.
func (r *Run) Condition(parent, conditionType string) string {
	r.world.t.Helper()
	name := parent[strings.LastIndexAny(parent, " /")+1:]
	for _, text := range r.Parents {
		var object struct {
			Metadata gyre.ObjectMeta
			Status   struct {
				Conditions []struct{ Type, Status, Reason string }
			}
		}
		if err := json.Unmarshal(text, &object); err != nil || object.Metadata.Name != name {
			continue
		}
		for _, condition := range object.Status.Conditions {
			if condition.Type == conditionType {
				return condition.Status + " " + condition.Reason
			}
		}
	}
	r.world.t.Fatalf("no parent %s has the condition %s", parent, conditionType)
	return ""
}
