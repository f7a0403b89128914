package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gyre.dev/gyre"
	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

const created = "2026-01-01T00:00:30Z"

func at(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// cronJob returns a CronJob that is due at the first minute of each hour, as in the tutorial's test.
func cronJob(changes ...func(*CronJob)) *CronJob {
	cronJob := &CronJob{
		Object: gyre.Named("test-cronjob"),
		Spec: CronJobSpec{
			Schedule:          "1 * * * *",
			ConcurrencyPolicy: Allow,
			JobTemplate: k8s.JobTemplateSpec{Spec: k8s.JobSpec{Template: k8s.PodTemplateSpec{Spec: k8s.PodSpec{
				Containers:    []k8s.Container{{Name: "test-container", Image: "test-image"}},
				RestartPolicy: k8s.RestartPolicyOnFailure,
			}}}},
			SuccessfulJobsHistoryLimit: 3,
			FailedJobsHistoryLimit:     1,
		},
	}
	cronJob.Metadata.CreationTimestamp = k8s.Ptr(at(created))
	for _, change := range changes {
		change(cronJob)
	}
	return cronJob
}

func with(policy ConcurrencyPolicy) func(*CronJob) {
	return func(c *CronJob) { c.Spec.ConcurrencyPolicy = policy }
}

func suspended(c *CronJob) { c.Spec.Suspend = true }

func lastRunAt(text string) func(*CronJob) {
	return func(c *CronJob) { c.Status.LastScheduleTime = k8s.Ptr(at(text)) }
}

func name(scheduled string) string { return fmt.Sprintf("test-cronjob-%d", at(scheduled).Unix()) }

func active(scheduled string) k8s.Job {
	job := jobOf(cronJob(), at(scheduled))
	job.Status = k8s.JobStatus{StartTime: k8s.Ptr(at(scheduled)), Active: 1}
	return job
}

// finish returns a Job as the Job controller completes it.
func finish(job k8s.Job, started, condition string) k8s.Job {
	before := map[string]string{k8s.JobComplete: "SuccessCriteriaMet", k8s.JobFailed: "FailureTarget"}[condition]
	job.Status = k8s.JobStatus{
		StartTime:  k8s.Ptr(at(started)),
		Conditions: []k8s.JobCondition{{Type: before, Status: "True"}, {Type: condition, Status: "True"}},
	}
	return job
}

func ended(scheduled, condition string) k8s.Job {
	return finish(active(scheduled), scheduled, condition)
}

func reconcile(t *testing.T, cronJob *CronJob, now string, jobs ...any) gyre.Plan {
	t.Helper()
	plan, err := CronJobReconciler{}.Reconcile(gyretest.With().At(now).AndChildren(jobs...).Context(), cronJob, gyre.NoSettings{})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// started returns the names of the Jobs that start, and kept those of the Jobs that stay.
func started(plan gyre.Plan) []string {
	names := []string{}
	for _, child := range plan.Children {
		var head gyre.Object
		if child.Object != nil && json.Unmarshal(child.Object, &head) == nil {
			names = append(names, head.Metadata.Name)
		}
	}
	return names
}

func kept(plan gyre.Plan) []string {
	names := []string{}
	for _, child := range plan.Children {
		if child.Object == nil {
			names = append(names, child.Kept.Name)
		}
	}
	return names
}

func check(t *testing.T, plan gyre.Plan, wantStarted, wantKept []string) {
	t.Helper()
	if got := started(plan); !reflect.DeepEqual(got, wantStarted) {
		t.Errorf("these start: %v instead of %v", got, wantStarted)
	}
	if got := kept(plan); !reflect.DeepEqual(got, wantKept) {
		t.Errorf("these stay: %v instead of %v", got, wantKept)
	}
}

var none = []string{}

// The tutorial's test of the controller, step by step.
func TestACustomResourceIsReconciledAsInTheTutorial(t *testing.T) {
	const now = "2026-01-01T00:00:40Z"
	plan := reconcile(t, cronJob(), now)
	if len(plan.Conditions) == 0 {
		t.Error("the conditions are not initialised")
	}
	if status := gyretest.Status[CronJobStatus](t, plan); len(status.Active) != 0 {
		t.Errorf("a new CronJob has active Jobs: %v", status.Active)
	}

	owned := k8s.Job{Object: gyre.Named("test-job"), Status: k8s.JobStatus{Active: 2}}
	plan = reconcile(t, cronJob(), now, owned)
	if status := gyretest.Status[CronJobStatus](t, plan); len(status.Active) != 1 || status.Active[0].Name != "test-job" {
		t.Errorf("unexpected active Jobs: %v", status.Active)
	}
	available := gyretest.Condition(t, plan, "Available")
	if available.Status != gyre.True || available.Reason != "JobsActive" {
		t.Errorf("unexpected condition: %v", available)
	}

	limited := func(c *CronJob) { c.Spec.SuccessfulJobsHistoryLimit, c.Spec.FailedJobsHistoryLimit = 1, 1 }
	const old, late = "2025-12-31T23:59:40Z", "2026-01-01T00:00:41Z"
	finished := func(name, started, condition string) k8s.Job {
		return finish(k8s.Job{Object: gyre.Named(name)}, started, condition)
	}
	plan = reconcile(t, cronJob(limited), now,
		owned,
		finished("test-failed-job-old", old, k8s.JobFailed),
		finished("test-failed-job-new", late, k8s.JobFailed),
		finished("test-successful-job-old", old, k8s.JobComplete),
		finished("test-successful-job-new", late, k8s.JobComplete))
	check(t, plan, none, []string{"test-successful-job-new", "test-failed-job-new", "test-job"})
	if degraded := gyretest.Condition(t, plan, "Degraded"); degraded.Status != gyre.True || degraded.Reason != "JobsFailed" {
		t.Errorf("unexpected condition: %v", degraded)
	}
}

// The tutorial's test of its webhook for defaults, which are in the schema here.
func TestFieldsThatAreNotSetHaveTheDefaultsOfTheTutorial(t *testing.T) {
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct {
							Spec struct {
								Properties map[string]struct{ Default any }
							}
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(gyre.CRD[CronJobSpec, CronJobStatus](resource), &definition); err != nil {
		t.Fatal(err)
	}
	fields := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties.Spec.Properties
	for field, want := range map[string]any{
		"concurrencyPolicy":          "Allow",
		"suspend":                    nil,
		"successfulJobsHistoryLimit": 3.0,
		"failedJobsHistoryLimit":     1.0,
	} {
		if got := fields[field].Default; got != want {
			t.Errorf("the default of %s is %v instead of %v", field, got, want)
		}
	}
}

// The tutorial's tests of its webhook for validation. A wrong schedule is a condition here, and a name
// that is too long is shortened.
func TestAScheduleOrZoneThatCannotBeReadIsATerminalFailureThatSaysSo(t *testing.T) {
	for schedule, want := range map[string]string{
		"invalid-cron-schedule":  "expected exactly 5 fields, found 1",
		"61 * * * *":             "the minute is 61",
		"TZ=UTC 1 * * * *":       "expected exactly 5 fields, found 6",
		"1 * * * * Mars/Olympus": "expected exactly 5 fields, found 6",
	} {
		invalid := cronJob(func(c *CronJob) { c.Spec.Schedule = schedule })
		_, err := CronJobReconciler{}.Reconcile(gyretest.With().Context(), invalid, gyre.NoSettings{})
		checkTerminal(t, err, want)
	}
	nowhere := cronJob(func(c *CronJob) { c.Spec.TimeZone = "Mars/Olympus" })
	_, err := CronJobReconciler{}.Reconcile(gyretest.With().Context(), nowhere, gyre.NoSettings{})
	checkTerminal(t, err, "time zone Mars/Olympus")
}

func checkTerminal(t *testing.T, err error, want string) {
	t.Helper()
	failure, ok := err.(*gyre.Failure)
	if !ok || !failure.Terminal || !strings.HasPrefix(err.Error(), "the schedule cannot be read: ") || !strings.Contains(err.Error(), want) {
		t.Errorf("unexpected error: %v", err)
	}
}

func TestANameThatIsTooLongIsShortened(t *testing.T) {
	long := cronJob(func(c *CronJob) { c.Metadata.Name = strings.Repeat("this-name-is-way-too-long-", 3) })
	names := started(reconcile(t, long, "2026-01-01T00:01:00Z"))
	if len(names) != 1 || len(names[0]) > 63 {
		t.Errorf("unexpected Jobs: %v", names)
	}
}

func TestARunStartsWhenItIsDueAndTheNextCallIsAtTheNextRun(t *testing.T) {
	plan := reconcile(t, cronJob(), "2026-01-01T00:00:59Z")
	check(t, plan, none, none)
	if plan.RequeueAfter != time.Second {
		t.Errorf("the next call is after %s", plan.RequeueAfter)
	}

	const due = "2026-01-01T00:01:00Z"
	plan = reconcile(t, cronJob(), due)
	check(t, plan, []string{name(due)}, none)
	job := gyretest.Applied[k8s.Job](t, plan, name(due))
	if !reflect.DeepEqual(job.Spec, cronJob().Spec.JobTemplate.Spec) || job.Metadata.Annotations[scheduledAt] != due {
		t.Errorf("unexpected Job: %v", job)
	}
	if status := gyretest.Status[CronJobStatus](t, plan); !status.LastScheduleTime.Equal(at(due)) {
		t.Errorf("unexpected status: %v", status)
	}
	if ready := gyretest.Condition(t, plan, "Ready"); plan.RequeueAfter != time.Hour || ready.Reason != "Scheduled" {
		t.Errorf("the next call is after %s, with %v", plan.RequeueAfter, ready)
	}
}

func TestARunThatHasStartedDoesNotStartAgain(t *testing.T) {
	const run = "2026-01-01T00:01:00Z"
	check(t, reconcile(t, cronJob(), "2026-01-01T00:01:30Z", active(run)), none, []string{name(run)})
	// Also when its Job is gone, e.g. by its TTL: the status remembers it.
	check(t, reconcile(t, cronJob(lastRunAt(run)), "2026-01-01T00:59:00Z"), none, none)
}

func TestOfMissedRunsTheLastOneIsMadeUpFor(t *testing.T) {
	check(t, reconcile(t, cronJob(), "2026-01-01T05:30:00Z"), []string{name("2026-01-01T05:01:00Z")}, none)
	// The tutorial gives up after 100 missed runs.
	check(t, reconcile(t, cronJob(), "2026-03-01T05:30:00Z"), []string{name("2026-03-01T05:01:00Z")}, none)
}

func TestARunThatMissedItsDeadlineIsLeftOut(t *testing.T) {
	deadline := func(c *CronJob) { c.Spec.StartingDeadlineSeconds = k8s.Ptr[int64](60) }
	check(t, reconcile(t, cronJob(deadline), "2026-01-01T00:02:01Z"), none, none)
	check(t, reconcile(t, cronJob(deadline), "2026-01-01T00:02:00Z"), []string{name("2026-01-01T00:01:00Z")}, none)
}

func TestAllowRunsBothAndForbidWaits(t *testing.T) {
	const earlier, later = "2026-01-01T00:01:00Z", "2026-01-01T01:01:00Z"
	both := reconcile(t, cronJob(), later, active(earlier))
	check(t, both, []string{name(later)}, []string{name(earlier)})

	check(t, reconcile(t, cronJob(with(Forbid)), later, active(earlier)), none, []string{name(earlier)})
	after := reconcile(t, cronJob(with(Forbid)), "2026-01-01T01:10:00Z", ended(earlier, k8s.JobComplete))
	check(t, after, []string{name(later)}, []string{name(earlier)})
}

func TestReplaceNeverRunsTwo(t *testing.T) {
	const earlier, later = "2026-01-01T00:01:00Z", "2026-01-01T01:01:00Z"
	plan := reconcile(t, cronJob(with(Replace)), later, active(earlier))
	check(t, plan, none, none)
	if status := gyretest.Status[CronJobStatus](t, plan); !status.LastScheduleTime.Equal(at(earlier)) || !plan.ListsChildren {
		t.Errorf("unexpected plan: %v", plan)
	}
	// The earlier one is gone.
	plan = reconcile(t, cronJob(with(Replace), lastRunAt(earlier)), "2026-01-01T01:01:05Z")
	check(t, plan, []string{name(later)}, none)
}

func TestASuspendedOneStartsNothingAndKeepsWhatRuns(t *testing.T) {
	const earlier = "2026-01-01T00:01:00Z"
	plan := reconcile(t, cronJob(suspended), "2026-01-01T05:00:00Z", active(earlier))
	check(t, plan, none, []string{name(earlier)})
	ready, available := gyretest.Condition(t, plan, "Ready"), gyretest.Condition(t, plan, "Available")
	if ready.Reason != "Suspended" || available.Reason != "Suspended" || plan.RequeueAfter != 0 {
		t.Errorf("unexpected plan: %v", plan)
	}
}

func TestJobsBeyondTheHistoryLimitsAreDeletedAndTheLatestStay(t *testing.T) {
	run := func(hour int) string { return fmt.Sprintf("2026-01-01T%02d:01:00Z", hour) }
	var jobs []any
	for hour := range 5 {
		jobs = append(jobs, ended(run(hour), k8s.JobComplete))
	}
	jobs = append(jobs, ended(run(5), k8s.JobFailed), ended(run(6), k8s.JobFailed))
	plan := reconcile(t, cronJob(), "2026-01-01T06:30:00Z", jobs...)
	check(t, plan, none, []string{name(run(4)), name(run(3)), name(run(2)), name(run(6))})
}

func TestAScheduleIsInItsTimeZoneAlsoWhenTheClocksChange(t *testing.T) {
	berlin := cronJob(func(c *CronJob) { c.Spec.Schedule, c.Spec.TimeZone = "30 2 * * *", "Europe/Berlin" })
	check(t, reconcile(t, berlin, "2026-01-02T02:00:00Z"), []string{name("2026-01-02T01:30:00Z")}, none)
	check(t, reconcile(t, berlin, "2026-07-02T02:00:00Z"), []string{name("2026-07-02T00:30:00Z")}, none)
}

func TestAScheduleThatIsNeverDueStartsNothing(t *testing.T) {
	never := cronJob(func(c *CronJob) { c.Spec.Schedule = "0 0 30 2 *" })
	plan := reconcile(t, never, "2026-01-01T05:30:00Z")
	check(t, plan, none, none)
	if plan.RequeueAfter != 0 {
		t.Errorf("the next call is after %s", plan.RequeueAfter)
	}
}

func TestTheDefinitionIsThatOfTheRustPlugin(t *testing.T) {
	text, err := os.ReadFile("../cron-job/crd.json")
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(gyre.CRD[CronJobSpec, CronJobStatus](resource), &got); err != nil {
		t.Fatal(err)
	}
	if withoutItemDescriptions(want); !reflect.DeepEqual(got, want) {
		t.Errorf("%v instead of %v", got, want)
	}
}

// withoutItemDescriptions removes the descriptions of types in lists, which Go does not know.
func withoutItemDescriptions(value any) {
	switch value := value.(type) {
	case map[string]any:
		if items, ok := value["items"].(map[string]any); ok {
			delete(items, "description")
		}
		for _, inner := range value {
			withoutItemDescriptions(inner)
		}
	case []any:
		for _, inner := range value {
			withoutItemDescriptions(inner)
		}
	}
}
