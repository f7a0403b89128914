// Package tests builds components of plugins in Go.
package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = "broken/main.go"

// finding is one of `gyre fuzz`.
type finding struct {
	Finding string `json:"finding"`
	What    string `json:"what"`
}

// program returns the path of the program gyre. Without it, the test is skipped, except in CI.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("GYRE"); path != "" {
		return path
	}
	path, err := exec.LookPath("gyre")
	if err == nil {
		return path
	}
	problem := "there is no program gyre: name it in the environment variable GYRE"
	if os.Getenv("CI") != "" {
		t.Fatal(problem)
	}
	t.Skip(problem)
	return ""
}

// build builds the plugin in a project of its own, and returns the path of the component.
func build(t *testing.T, gyre string) string {
	t.Helper()
	project := t.TempDir()
	sdk, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module := fmt.Sprintf("module broken\n\ngo 1.24\n\nrequire gyre.dev/gyre v0.0.0\n\nreplace gyre.dev/gyre => %s\n", sdk)
	write(t, filepath.Join(project, "go.mod"), []byte(module))
	write(t, filepath.Join(project, "main.go"), []byte(sourceText(t)))
	component := filepath.Join(project, "broken.wasm")
	said, err := exec.Command(gyre, "build", project, "--to", component).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return component
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func sourceText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lineOf returns the number of the line that contains a text.
func lineOf(t *testing.T, text string) int {
	t.Helper()
	before, _, found := strings.Cut(sourceText(t), text)
	if !found {
		t.Fatalf("%s does not contain %s", source, text)
	}
	return strings.Count(before, "\n") + 1
}

// fuzz returns what `gyre fuzz` finds about a parent.
func fuzz(t *testing.T, gyre, component, does string) []finding {
	t.Helper()
	parent, err := json.Marshal(map[string]any{
		"apiVersion": "example.com/v1",
		"kind":       "Broken",
		"metadata":   map[string]string{"name": "it", "namespace": "default"},
		"spec":       map[string]string{"does": does},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "parent.json")
	write(t, file, parent)
	command := exec.Command(gyre, "fuzz", component, "-f", file, "--cases=0", "--call-deadline=500ms", "--output=json")
	said, err := command.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	var report struct{ Findings []finding }
	if err := json.Unmarshal(said, &report); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return report.Findings
}

func TestEveryCommandTellsWhatIsBroken(t *testing.T) {
	gyre := program(t)
	component := build(t, gyre)
	panicked := func(at, message string) string {
		return fmt.Sprintf("it panicked at broken/main.go:%d: %s.", lineOf(t, at), message)
	}
	tests := []struct {
		does     string
		findings []string
		message  string
	}{
		{"panics", []string{"trap"}, panicked(`absent["port"]`, "assignment to entry in nil map")},
		{"panics with an error", []string{"trap"}, panicked("errors.New", "the first line and the second")},
		{"panics in a package", []string{"trap"}, panicked("strings.Repeat", "strings: negative Repeat count")},
		{"panics elsewhere", []string{"trap"}, panicked(`panic("in a goroutine")`, "in a goroutine")},
		{"waits", []string{"trap"}, panicked("<-never", "all goroutines are asleep - deadlock!")},
		{"recurses", []string{"stack"}, "the plugin exhausted its call stack"},
		{"loops", []string{"deadline"}, "the plugin did not answer within 500ms"},
		{"allocates", []string{"memory"}, "the plugin exceeded its memory limit of 67108864 bytes"},
		{"reads the clock", []string{"restless", "does-not-converge", "spec-not-restored"}, "data.now: "},
		{"counts calls", []string{"nondeterministic"}, `+            calls: "2"`},
		{"draws", []string{"nondeterministic"}, "+            number: "},
		{"ranges over a map", []string{"nondeterministic"}, "+            names: "},
		{"has what an init function left", nil, ""},
	}
	for _, test := range tests {
		t.Run(test.does, func(t *testing.T) {
			found := fuzz(t, gyre, component, test.does)
			var kinds []string
			for _, finding := range found {
				kinds = append(kinds, finding.Finding)
			}
			if !slices.Equal(kinds, test.findings) {
				t.Fatalf("expected %v, found %v", test.findings, found)
			}
			if len(found) > 0 && !strings.Contains(found[0].What, test.message) {
				t.Errorf("expected %s in\n%s", test.message, found[0].What)
			}
		})
	}
}
