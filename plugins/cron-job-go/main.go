// Runs Jobs on a schedule, as the CronJob of kubebuilder's tutorial does: the plugin cron-job in Go.
//
//	the last run that is due ──▶ no others are active, or Allow ──▶ start it
//	                             others are active, Forbid ───────▶ wait until they have ended
//	                             others are active, Replace ──────▶ stop them, and then start it
//	none is due, or it has missed its deadline ───────────────────▶ wait for the next one
//
// Of several runs that were missed, the last one is made up for. The children are the Jobs that should
// exist, so what exceeds the history limits is left out, and the host deletes it.
package main

import (
	"fmt"
	"maps"
	"time"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// scheduledAt is the annotation of a Job with the time for which it was scheduled.
const scheduledAt = "batch.tutorial.kubebuilder.io/scheduled-at"

// nameLimit leaves 11 of the 63 characters of a Job's name for the time of its run.
const nameLimit = 52

// CronJobReconciler is the plugin.
type CronJobReconciler struct{}

// Reconcile returns the Jobs that should exist.
func (CronJobReconciler) Reconcile(c gyre.Context, cronJob *CronJob, _ gyre.NoSettings) (gyre.Plan, error) {
	schedule, err := parseSchedule(cronJob.Spec.Schedule, cronJob.Spec.TimeZone)
	if err != nil {
		return gyre.Plan{}, gyre.Terminal("the schedule cannot be read: %w", err)
	}
	all, err := gyre.ChildrenOf[k8s.Job](c)
	if err != nil {
		return gyre.Plan{}, err
	}
	jobs := jobsOf(cronJob, all)
	if cronJob.Spec.Suspend {
		return jobs.report(jobs.keepAll(), jobs.lastRun).Ready("Suspended", "no more runs are started"), nil
	}

	now := c.Now().Truncate(time.Second)
	run, isDue := dueRun(cronJob, schedule, jobs.lastRun, now)
	policy := cronJob.Spec.ConcurrencyPolicy
	var plan gyre.Plan
	switch {
	case isDue && len(jobs.active) > 0 && policy == Replace:
		// The next call starts the run.
		plan = jobs.report(jobs.keepFinished(), jobs.lastRun)
	case isDue && (len(jobs.active) == 0 || policy != Forbid):
		plan = jobs.report(jobs.keepAll().Apply(jobOf(cronJob, run)), &run)
	default:
		plan = jobs.report(jobs.keepAll(), jobs.lastRun)
	}
	plan = plan.Ready("Scheduled", "runs are started on schedule")
	if next, ok := schedule.after(now); ok {
		plan = plan.Requeue(next.Sub(now))
	}
	return plan, nil
}

// dueRun returns the last run that is due and has neither been started nor missed its deadline.
func dueRun(cronJob *CronJob, schedule *schedule, lastRun *time.Time, now time.Time) (time.Time, bool) {
	run, ok := schedule.before(now)
	if !ok {
		return run, false
	}
	earliest := cronJob.Metadata.CreationTimestamp
	if lastRun != nil {
		earliest = lastRun
	}
	if earliest != nil && !run.After(*earliest) {
		return run, false
	}
	deadline := cronJob.Spec.StartingDeadlineSeconds
	isInTime := deadline == nil || now.Sub(run) <= time.Duration(*deadline)*time.Second
	return run, isInTime
}

// jobOf returns the Job of a run. Its name is derived from the time, so the same run is never started
// twice.
func jobOf(cronJob *CronJob, run time.Time) k8s.Job {
	template := cronJob.Spec.JobTemplate
	name := fmt.Sprintf("%s-%d", gyre.DNSLabelWithin(cronJob.Metadata.Name, nameLimit), run.Unix())
	job := k8s.Job{Object: gyre.Named(name), Spec: template.Spec}
	job.Metadata.Labels = template.Metadata.Labels
	job.Metadata.Annotations = map[string]string{}
	maps.Copy(job.Metadata.Annotations, template.Metadata.Annotations)
	job.Metadata.Annotations[scheduledAt] = run.Format(time.RFC3339)
	return job
}

func init() {
	gyre.Register(gyre.Manifest{
		Name:        "cron-job",
		Version:     "0.1.0",
		Description: "Runs Jobs on a schedule: kubebuilder's CronJob tutorial as a plugin.",
		Parent:      resource.Kind,
		Children:    []gyre.ChildKind{gyre.Owns[k8s.Job]().With(gyre.CreateOnly)},
		CRDs:        [][]byte{gyre.CRD[CronJobSpec, CronJobStatus](resource)},
	}, CronJobReconciler{})
}

func main() {}
