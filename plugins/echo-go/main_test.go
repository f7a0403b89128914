package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gyre.dev/gyre"
	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

const uid = "5d3f0b5e-0000-4000-8000-000000000001"

var defaults = Settings{Image: "busybox:1.33.1"}

func echoOf(generation int64, message string, finished *Run) *Echo {
	return &Echo{
		Object: gyre.Object{Metadata: gyre.ObjectMeta{Name: "hello", Namespace: "default", UID: uid, Generation: generation}},
		Spec:   EchoSpec{Message: message},
		Status: EchoStatus{Job: "hello", Finished: finished},
	}
}

// jobFor returns a Job as the API server completes it, with these conditions.
func jobFor(message string, conditions ...k8s.JobCondition) k8s.Job {
	job := k8s.Job{Object: gyre.Named("hello")}
	job.Metadata.OwnerReferences = []gyre.OwnerReference{{Kind: "Echo", Name: "hello", UID: uid}}
	job.Spec.Template.Spec.Containers = []k8s.Container{
		{Name: "injected-proxy", Command: []string{"proxy"}},
		{Name: "hello", Image: "busybox:1.33.1", Command: []string{"echo", message}},
	}
	job.Status = k8s.JobStatus{Active: 1, Conditions: conditions}
	return job
}

func isTrue(conditionType string) k8s.JobCondition {
	return k8s.JobCondition{Type: conditionType, Status: "True"}
}

func recorded(generation int64, result RunResult) *Run {
	return &Run{UID: uid, Generation: generation, Result: result}
}

func reconcile(t *testing.T, echo *Echo, settings Settings, children ...any) gyre.Plan {
	t.Helper()
	plan, err := EchoReconciler{}.Reconcile(gyretest.With().AndChildren(children...).Context(), echo, settings)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// expected is a plan.
type expected struct {
	runs            bool
	finished        *Run
	ready, complete gyre.Condition
	severity        gyre.Severity
}

func created(finished *Run) expected {
	const message = "Job hello runs the message"
	return expected{
		runs:     true,
		finished: finished,
		ready:    gyre.Condition{Type: "Ready", Status: gyre.True, Reason: "JobCreated", Message: message},
		complete: gyre.Condition{Type: "Complete", Status: gyre.False, Reason: "JobNotFinished", Message: message},
	}
}

func ended(finished *Run) expected {
	const message = "Job hello ran the message"
	return expected{
		finished: finished,
		ready:    gyre.Condition{Type: "Ready", Status: gyre.True, Reason: "JobComplete", Message: message},
		complete: gyre.Condition{Type: "Complete", Status: gyre.True, Reason: "JobComplete", Message: message},
	}
}

func gaveUp(finished *Run) expected {
	const message = "Job hello failed"
	return expected{
		finished: finished,
		ready:    gyre.Condition{Type: "Ready", Status: gyre.False, Reason: "JobFailed", Message: message},
		complete: gyre.Condition{Type: "Complete", Status: gyre.False, Reason: "JobFailed", Message: message},
		severity: gyre.Warning,
	}
}

func isForAnEarlierMessage(finished *Run) expected {
	const message = "Job hello is for an earlier message; delete it to run the present one"
	return expected{
		finished: finished,
		ready:    gyre.Condition{Type: "Ready", Status: gyre.False, Reason: "JobOutdated", Message: message},
		complete: gyre.Condition{Type: "Complete", Status: gyre.False, Reason: "JobOutdated", Message: message},
	}
}

func check(t *testing.T, plan gyre.Plan, want expected) {
	t.Helper()
	if len(plan.Children) != 1 || want.runs != (plan.Children[0].Object != nil) {
		t.Errorf("unexpected children: %v", plan.Children)
	}
	if want.runs {
		gyretest.Applied[k8s.Job](t, plan, "hello")
	} else if !gyretest.Keeps[k8s.Job](plan, "hello") {
		t.Errorf("the Job is not kept: %v", plan.Children)
	}
	status := gyretest.Status[EchoStatus](t, plan)
	if wanted := (EchoStatus{Job: "hello", Finished: want.finished}); !reflect.DeepEqual(status, wanted) {
		t.Errorf("unexpected status: %s", plan.Status)
	}
	if conditions := []gyre.Condition{want.ready, want.complete}; !reflect.DeepEqual(plan.Conditions, conditions) {
		t.Errorf("unexpected conditions: %v", plan.Conditions)
	}
	events := []gyre.Event{{Severity: want.severity, Reason: want.ready.Reason, Message: want.ready.Message}}
	if !reflect.DeepEqual(plan.Events, events) {
		t.Errorf("unexpected events: %v", plan.Events)
	}
}

func TestTheStateDecides(t *testing.T) {
	done, gone := recorded(1, RunComplete), recorded(1, RunFailed)
	foreign := &Run{UID: "another", Generation: 1, Result: RunComplete}
	day := jobFor("Good day.")
	dayComplete := jobFor("Good day.", isTrue("SuccessCriteriaMet"), isTrue("Complete"))
	dayFailed := jobFor("Good day.", isTrue("FailureTarget"), isTrue("Failed"))
	notYet := jobFor("Good day.", k8s.JobCondition{Type: "Complete", Status: "False"}, k8s.JobCondition{Type: "Failed", Status: "Unknown"})
	for name, test := range map[string]struct {
		echo *Echo
		jobs []any
		want expected
	}{
		"a new Echo gets a Job":                       {echoOf(1, "Good day.", nil), nil, created(nil)},
		"a Job without a status is not finished":      {echoOf(1, "Good day.", nil), []any{day}, created(nil)},
		"a suspended Job is not finished":             {echoOf(1, "Good day.", nil), []any{jobFor("Good day.", isTrue("Suspended"))}, created(nil)},
		"a Job with a failure target is not failed":   {echoOf(1, "Good day.", nil), []any{jobFor("Good day.", isTrue("FailureTarget"))}, created(nil)},
		"a condition that is not true does not count": {echoOf(1, "Good day.", nil), []any{notYet}, created(nil)},
		"a complete Job is recorded":                  {echoOf(3, "Good day.", nil), []any{dayComplete}, ended(recorded(3, RunComplete))},
		"a failed Job is recorded":                    {echoOf(3, "Good day.", nil), []any{dayFailed}, gaveUp(recorded(3, RunFailed))},
		"a deleted Job that was recorded stays gone":  {echoOf(1, "Good day.", done), nil, ended(done)},
		"a deleted Job that failed stays gone":        {echoOf(1, "Good day.", gone), nil, gaveUp(gone)},
		"a status of another object is ignored":       {echoOf(1, "Good day.", foreign), nil, created(nil)},
		"a change of the message leaves the Job":      {echoOf(2, "Good night.", nil), []any{day}, isForAnEarlierMessage(nil)},
		"also when the Job has finished":              {echoOf(2, "Good night.", nil), []any{dayComplete}, isForAnEarlierMessage(nil)},
		"also when that is recorded":                  {echoOf(2, "Good night.", done), []any{dayComplete}, isForAnEarlierMessage(done)},
		"a recorded run counts, whatever Job exists":  {echoOf(1, "Good day.", done), []any{jobFor("Good night.", isTrue("Failed"))}, ended(done)},
		"without the earlier Job, the message runs":   {echoOf(2, "Good night.", done), nil, created(done)},
		"a message that is changed back was run":      {echoOf(3, "Good day.", done), []any{dayComplete}, ended(recorded(3, RunComplete))},
	} {
		t.Run(name, func(t *testing.T) { check(t, reconcile(t, test.echo, defaults, test.jobs...), test.want) })
	}
}

func TestAJobThatTheCronJobControllerMayDeleteIsReportedUntilItFinishes(t *testing.T) {
	controlled := func(conditions ...k8s.JobCondition) k8s.Job {
		job := jobFor("Good day.", conditions...)
		job.Metadata.OwnerReferences[0].Controller = k8s.Ptr(true)
		return job
	}
	plan := reconcile(t, echoOf(1, "Good day.", nil), defaults, controlled())
	ready := gyretest.Condition(t, plan, "Ready")
	if ready.Status != gyre.True || ready.Reason != "JobMayBeDeleted" || plan.Events[0].Severity != gyre.Warning {
		t.Errorf("unexpected condition and events: %v, %v", ready, plan.Events)
	}
	plan = reconcile(t, echoOf(1, "Good day.", nil), defaults, controlled(isTrue("Complete")))
	check(t, plan, ended(recorded(1, RunComplete)))
}

func TestTheJobIsThatOfEchoperator(t *testing.T) {
	plan := reconcile(t, echoOf(1, "Good day.", nil), defaults)
	pod, err := os.ReadFile("../echo-pod/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "hello"}, "spec": {"template": {"spec": ` + string(pod) + `}}}`
	checkJSON(t, plan.Children[0].Object, []byte(want))
}

func TestLongAndDottedNamesAreShortenedAlikeForJobAndContainer(t *testing.T) {
	for _, name := range []string{"hello.world", strings.Repeat("long", 60)} {
		echo := echoOf(1, "Good day.", nil)
		echo.Metadata.Name = name
		job := gyretest.Applied[k8s.Job](t, reconcile(t, echo, defaults), gyre.DNSLabel(name))
		if container := job.Spec.Template.Spec.Containers[0].Name; container != job.Metadata.Name || len(container) > 63 {
			t.Errorf("the container of %s is called %s", job.Metadata.Name, container)
		}
	}
}

func TestSettingsReachThePod(t *testing.T) {
	plan := reconcile(t, echoOf(1, "Good day.", nil), Settings{Restricted: true, Image: "registry.example.com/busybox:1"})
	pod := gyretest.Applied[k8s.Job](t, plan, "hello").Spec.Template.Spec
	security := pod.SecurityContext
	if !*security.RunAsNonRoot || *security.RunAsUser != notRoot || pod.Containers[0].Image != "registry.example.com/busybox:1" {
		t.Errorf("unexpected pod: %v", pod)
	}
}

func TestTheDefinitionIsThatOfTheRustPlugin(t *testing.T) {
	want, err := os.ReadFile("../echo/crd.json")
	if err != nil {
		t.Fatal(err)
	}
	checkJSON(t, gyre.CRD[EchoSpec, EchoStatus](resource), want)
}

func TestTheCasesAreThoseOfTheRustPlugin(t *testing.T) {
	own, theirs := filesIn(t, "cases"), filesIn(t, "../echo/cases")
	if len(theirs) == 0 || !reflect.DeepEqual(own, theirs) {
		t.Error("the folder cases differs from that of the plugin echo: copy it")
	}
}

func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		relative, _ := filepath.Rel(folder, path)
		files[relative] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func checkJSON(t *testing.T, got, want []byte) {
	t.Helper()
	var gotValue, wantValue any
	if err := json.Unmarshal(got, &gotValue); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &wantValue); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotValue, wantValue) {
		t.Errorf("%s instead of %s", got, want)
	}
}
