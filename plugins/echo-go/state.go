package main

import (
	"fmt"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// state is the state of an Echo.
type state int

const (
	// The Job has not finished, or does not exist yet.
	unfinished state = iota
	// The Job is for an earlier message. Whether it has finished does not matter.
	outdated
	// The Job has finished. It may have been deleted since.
	complete
	failed
)

// stateOf returns the state by the Job, which may be nil, and the record in the status:
//
//	the Job                   no record of this generation        recorded
//	does not exist            unfinished: it is created           complete or failed
//	is for this message       unfinished until it has finished    complete or failed
//	is for an earlier one     outdated                            complete or failed
//
// Outdated ends when people delete the Job, whose log they may still need, or give the Echo the
// message of the Job again. A Job that is deleted before its result is recorded is created again.
func stateOf(echo *Echo, job *k8s.Job) state {
	if run := recordedRun(echo); run != nil && run.Generation == echo.Metadata.Generation {
		return finished(run.Result)
	}
	switch {
	case job == nil:
		return unfinished
	case messageOf(job) != echo.Spec.Message:
		return outdated
	case job.IsComplete():
		return complete
	case job.IsFailed():
		return failed
	default:
		return unfinished
	}
}

func finished(result RunResult) state {
	if result == RunComplete {
		return complete
	}
	return failed
}

// ready returns the condition Ready, and the severity of its event. It is the same before and after
// the Job is created, which saves a write.
func (s state) ready(job string) (gyre.Condition, gyre.Severity) {
	switch s {
	case outdated:
		message := fmt.Sprintf("Job %s is for an earlier message; delete it to run the present one", job)
		return gyre.Condition{Type: "Ready", Status: gyre.False, Reason: "JobOutdated", Message: message}, gyre.Normal
	case complete:
		message := fmt.Sprintf("Job %s ran the message", job)
		return gyre.Condition{Type: "Ready", Status: gyre.True, Reason: "JobComplete", Message: message}, gyre.Normal
	case failed:
		message := fmt.Sprintf("Job %s failed", job)
		return gyre.Condition{Type: "Ready", Status: gyre.False, Reason: "JobFailed", Message: message}, gyre.Warning
	default:
		message := fmt.Sprintf("Job %s runs the message", job)
		return gyre.Condition{Type: "Ready", Status: gyre.True, Reason: "JobCreated", Message: message}, gyre.Normal
	}
}

// complete returns the condition Complete, for scripts that wait until the message is written.
func (s state) complete(ready gyre.Condition) gyre.Condition {
	condition := gyre.Condition{Type: "Complete", Status: gyre.False, Reason: ready.Reason, Message: ready.Message}
	switch s {
	case complete:
		condition.Status = gyre.True
	case unfinished:
		condition.Reason = "JobNotFinished"
	}
	return condition
}

// lastRun returns the run for the status. That of an earlier message stays until there is another one.
func (s state) lastRun(echo *Echo) *Run {
	run := &Run{UID: echo.Metadata.UID, Generation: echo.Metadata.Generation}
	switch s {
	case complete:
		run.Result = RunComplete
	case failed:
		run.Result = RunFailed
	default:
		return recordedRun(echo)
	}
	return run
}

// recordedRun returns the run in the status, of this generation or an earlier one, or nil.
func recordedRun(echo *Echo) *Run {
	run := echo.Status.Finished
	if run == nil || run.UID != echo.Metadata.UID {
		return nil
	}
	return run
}

// messageOf returns the message of a Job, whose container has the same name. Admission webhooks may
// have added other containers.
func messageOf(job *k8s.Job) string {
	for _, container := range job.Spec.Template.Spec.Containers {
		if container.Name == job.Metadata.Name && len(container.Command) == 2 {
			return container.Command[1]
		}
	}
	return ""
}

// hasController returns whether the owner reference of a Job says `controller: true`. The host never
// sets it for Jobs, but echoperator did, the operator before this plugin, and its Jobs are taken over.
func hasController(job *k8s.Job) bool {
	for _, owner := range job.Metadata.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			return true
		}
	}
	return false
}

// mayBeDeleted warns of a running Job with a controller. The CronJob controller of Kubernetes knows its
// Jobs by the name of their controller alone, so it takes this Job for one of its own if there is a
// CronJob with the name of the Echo.
func mayBeDeleted(job, echo string) gyre.Condition {
	message := fmt.Sprintf("Job %s is running; if there is a CronJob %s, Kubernetes takes the Job for one of its Jobs and may delete "+
		"it before its result is recorded: remove `controller: true` from the Job's owner reference", job, echo)
	return gyre.Condition{Type: "Ready", Status: gyre.True, Reason: "JobMayBeDeleted", Message: message}
}
