package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gyre.dev/gyre"
	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

func secret(targets string) *k8s.Secret {
	return &k8s.Secret{
		Object: gyre.Object{Metadata: gyre.ObjectMeta{
			Name:        "registry",
			Namespace:   "shared",
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			Annotations: map[string]string{to: targets},
		}},
		Data: map[string][]byte{"token": []byte("t0ken")},
	}
}

func replicate(t *testing.T, secret *k8s.Secret) gyre.Plan {
	t.Helper()
	leaving := k8s.Namespace{Object: gyre.Named("team-z")}
	leaving.Metadata.DeletionTimestamp = &time.Time{}
	objects := []any{leaving}
	for _, name := range []string{"shared", "team-a", "team-b", "other"} {
		objects = append(objects, k8s.Namespace{Object: gyre.Named(name)})
	}
	plan, err := Replicator{}.Reconcile(gyretest.With(objects...).Context(), secret, gyre.NoSettings{})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// copies returns the namespaces of the copies.
func copies(t *testing.T, plan gyre.Plan) []string {
	t.Helper()
	namespaces := []string{}
	for _, child := range plan.Children {
		var head gyre.Object
		if err := json.Unmarshal(child.Object, &head); err != nil {
			t.Fatal(err)
		}
		namespaces = append(namespaces, head.Metadata.Namespace)
	}
	slices.Sort(namespaces)
	return namespaces
}

func TestCopiesAreWhereTheAnnotationSaysAndNowhereElse(t *testing.T) {
	for targets, want := range map[string][]string{
		"team-a":         {"team-a"},
		"team-a, other,": {"other", "team-a"},
		"team-*":         {"team-a", "team-b"},
		"*":              {"other", "team-a", "team-b"},
		"*-b, t*a":       {"team-a", "team-b"},
		"shared, team":   {},
		"":               {},
	} {
		if got := copies(t, replicate(t, secret(targets))); !slices.Equal(got, want) {
			t.Errorf("%q: %v instead of %v", targets, got, want)
		}
	}
	plain := secret("*")
	plain.Metadata.Annotations = nil
	plan := replicate(t, plain)
	if len(plan.Children) != 0 || !plan.ListsChildren {
		t.Errorf("a Secret without the annotation has the children %v", plan.Children)
	}
}

func TestACopyHasTheTypeAndTheDataAndNothingElse(t *testing.T) {
	typed := secret("team-a")
	typed.Type = "example.com/token"
	plan := replicate(t, typed)
	want := `{"apiVersion":"v1","kind":"Secret",` +
		`"metadata":{"name":"registry","namespace":"team-a"},"data":{"token":"dDBrZW4="},"type":"example.com/token"}`
	if got := string(plan.Children[0].Object); got != want {
		t.Errorf("%s instead of %s", got, want)
	}
}

func TestANamespaceThatDoesNotExistYetIsReported(t *testing.T) {
	plan := replicate(t, secret("team-c, team-a, team-d*"))
	if got := copies(t, plan); !slices.Equal(got, []string{"team-a"}) {
		t.Errorf("unexpected copies: %v", got)
	}
	event := plan.Events[0]
	if event.Reason != "NamespaceMissing" || !strings.Contains(event.Message, "no namespace team-c yet") {
		t.Errorf("unexpected event: %v", event)
	}
}

func TestATokenOfAServiceAccountIsNotCopied(t *testing.T) {
	token := secret("team-a")
	token.Type = serviceAccountToken
	plan := replicate(t, token)
	if len(plan.Children) != 0 || plan.Events[0].Reason != "NotReplicable" || plan.Events[0].Severity != gyre.Warning {
		t.Errorf("unexpected plan: %v", plan)
	}
}

func TestAPatternMatchesAnyCharacters(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"team-*", "team-", true},
		{"*", "", true},
		{"a*b*c", "a-b-c", true},
		{"a*b*c", "a-c", false},
		{"ab*ba", "aba", false},
		{"**x", "x", true},
		{"team", "team-a", false},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("%s and %q: %v", test.pattern, test.name, got)
		}
	}
}

func TestTheCasesAndSamplesAreThoseOfTheRustPlugin(t *testing.T) {
	for _, pattern := range []string{"cases/*/*.yaml", "samples/*.yaml"} {
		theirs, err := filepath.Glob(filepath.Join("../replicator", pattern))
		if err != nil || len(theirs) == 0 {
			t.Fatalf("the plugin replicator has no %s (%v)", pattern, err)
		}
		for _, path := range theirs {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			own := strings.TrimPrefix(path, "../replicator/")
			if got, err := os.ReadFile(own); err != nil || string(got) != string(want) {
				t.Errorf("%s differs from that of the plugin replicator: copy it (%v)", own, err)
			}
		}
	}
}
