package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	guide = "../../../../docs/go.md"
	// foreign is the first line of code that is not for this SDK.
	foreign = "// With controller-runtime"
)

func TestTheCodeOfTheGuideIsThatOfTheExamples(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	sources := read(t, "*_test.go") + read(t, "../../../../plugins/greeter-go/main.go") + read(t, "../../../../plugins/echo-go/life_test.go")
	checked := 0
	for _, block := range strings.Split(string(text), "```go\n")[1:] {
		code, _, _ := strings.Cut(block, "```\n")
		if strings.HasPrefix(code, foreign) {
			continue
		}
		for _, paragraph := range strings.Split(strings.TrimSpace(code), "\n\n") {
			checked++
			if !strings.Contains(sources, paragraph+"\n") {
				t.Errorf("this is in no example:\n%s", paragraph)
			}
		}
	}
	if checked < 10 {
		t.Errorf("the guide has only %d paragraphs of code", checked)
	}
}

// read returns the texts of all files that match.
func read(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file matches %s (%v)", pattern, err)
	}
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
