package main

import (
	"fmt"
	"slices"
	"time"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// jobs are the Jobs of a CronJob.
type jobs struct {
	active []*k8s.Job
	// finished are those that have ended, within the history limits.
	finished    []*k8s.Job
	failures    int
	lastRun     *time.Time
	isSuspended bool
}

func jobsOf(cronJob *CronJob, all []*k8s.Job) *jobs {
	var succeeded, failed []*k8s.Job
	jobs := &jobs{lastRun: cronJob.Status.LastScheduleTime, isSuspended: cronJob.Spec.Suspend}
	for _, job := range all {
		switch {
		case job.IsFailed():
			failed = append(failed, job)
		case job.IsComplete():
			succeeded = append(succeeded, job)
		default:
			jobs.active = append(jobs.active, job)
		}
		// The Jobs may be gone, and the status may not be written yet: the later of both counts.
		if run := runOf(job); run != nil && (jobs.lastRun == nil || run.After(*jobs.lastRun)) {
			jobs.lastRun = run
		}
	}
	jobs.failures = len(failed)
	jobs.finished = slices.Concat(
		latest(succeeded, cronJob.Spec.SuccessfulJobsHistoryLimit),
		latest(failed, cronJob.Spec.FailedJobsHistoryLimit),
	)
	return jobs
}

// runOf returns the time for which a Job was scheduled, or nil.
func runOf(job *k8s.Job) *time.Time {
	run, err := time.Parse(time.RFC3339, job.Metadata.Annotations[scheduledAt])
	if err != nil {
		return nil
	}
	return &run
}

// latest returns the Jobs that started last.
func latest(jobs []*k8s.Job, limit int) []*k8s.Job {
	slices.SortStableFunc(jobs, func(a, b *k8s.Job) int { return startOf(b).Compare(startOf(a)) })
	return jobs[:min(limit, len(jobs))]
}

// startOf returns the start of a Job. One that has not started yet is the oldest.
func startOf(job *k8s.Job) time.Time {
	if job.Status.StartTime == nil {
		return time.Time{}
	}
	return *job.Status.StartTime
}

// keepAll returns a plan in which the active Jobs stay, and the finished ones within the limits.
func (j *jobs) keepAll() gyre.Plan { return keep(j.keepFinished(), j.active) }

// keepFinished returns a plan in which the active Jobs are deleted.
func (j *jobs) keepFinished() gyre.Plan { return keep(gyre.NoChildren(), j.finished) }

func keep(plan gyre.Plan, jobs []*k8s.Job) gyre.Plan {
	for _, job := range jobs {
		plan = plan.KeepChild(gyre.ObjectRef{Kind: job.GroupVersionKind(), Name: job.Metadata.Name})
	}
	return plan
}

// report adds the status and the conditions of the tutorial.
func (j *jobs) report(plan gyre.Plan, lastRun *time.Time) gyre.Plan {
	status := CronJobStatus{Active: []ActiveJob{}, LastScheduleTime: lastRun}
	for _, job := range j.active {
		status.Active = append(status.Active, ActiveJob{Name: job.Metadata.Name, UID: job.Metadata.UID})
	}
	return plan.WithStatus(status).WithCondition(j.available()).WithCondition(j.progressing()).WithCondition(j.degraded())
}

func (j *jobs) available() gyre.Condition {
	switch {
	case j.isSuspended:
		return gyre.Condition{Type: "Available", Status: gyre.False, Reason: "Suspended", Message: "the CronJob is suspended"}
	case j.failures > 0:
		return gyre.Condition{Type: "Available", Status: gyre.False, Reason: "JobsFailed", Message: j.failuresMessage()}
	case len(j.active) > 0:
		return gyre.Condition{Type: "Available", Status: gyre.True, Reason: "JobsActive", Message: j.activeMessage()}
	default:
		return gyre.Condition{Type: "Available", Status: gyre.True, Reason: "AllJobsCompleted", Message: "no Job is active"}
	}
}

func (j *jobs) progressing() gyre.Condition {
	if len(j.active) > 0 {
		return gyre.Condition{Type: "Progressing", Status: gyre.True, Reason: "JobsActive", Message: j.activeMessage()}
	}
	return gyre.Condition{Type: "Progressing", Status: gyre.False, Reason: "NoJobsActive", Message: "no Job is active"}
}

func (j *jobs) degraded() gyre.Condition {
	if j.failures > 0 {
		return gyre.Condition{Type: "Degraded", Status: gyre.True, Reason: "JobsFailed", Message: j.failuresMessage()}
	}
	return gyre.Condition{Type: "Degraded", Status: gyre.False, Reason: "NoJobsFailed", Message: "no Job has failed"}
}

func (j *jobs) activeMessage() string { return fmt.Sprintf("active Jobs: %d", len(j.active)) }

func (j *jobs) failuresMessage() string { return fmt.Sprintf("failed Jobs: %d", j.failures) }
