package main

import (
	"time"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// CronJob runs Jobs on a schedule.
type CronJob struct {
	gyre.Object
	Spec   CronJobSpec   `json:"spec"`
	Status CronJobStatus `json:"status"`
}

// CronJobSpec is the desired state of a CronJob. The defaults are those of the API server; a CronJob
// in a test sets them itself.
type CronJobSpec struct {
	Schedule                   string              `json:"schedule" minLength:"1" doc:"The schedule, in the syntax of cron."`
	TimeZone                   string              `json:"timeZone" default:"UTC" doc:"The time zone of the schedule, by its name in the IANA database."`
	StartingDeadlineSeconds    *int64              `json:"startingDeadlineSeconds,omitempty" minimum:"0" doc:"A run that has not started after this time is left out."`
	ConcurrencyPolicy          ConcurrencyPolicy   `json:"concurrencyPolicy" enum:"Allow,Forbid,Replace" default:"Allow" doc:"The treatment of a run that is due while earlier ones are still active."`
	Suspend                    bool                `json:"suspend,omitempty" doc:"Whether to start no more runs. Active ones go on."`
	JobTemplate                k8s.JobTemplateSpec `json:"jobTemplate" schema:"{\"type\": \"object\", \"x-kubernetes-preserve-unknown-fields\": true}" doc:"The Job of each run."`
	SuccessfulJobsHistoryLimit int                 `json:"successfulJobsHistoryLimit" minimum:"0" default:"3" doc:"The number of Jobs to keep that have succeeded."`
	FailedJobsHistoryLimit     int                 `json:"failedJobsHistoryLimit" minimum:"0" default:"1" doc:"The number of Jobs to keep that have failed."`
}

// ConcurrencyPolicy is the treatment of a run that is due while earlier ones are still active.
type ConcurrencyPolicy string

const (
	// Allow runs both.
	Allow ConcurrencyPolicy = "Allow"
	// Forbid lets the new run wait. It is left out if it misses its deadline or the next one is due.
	Forbid ConcurrencyPolicy = "Forbid"
	// Replace deletes the earlier runs before the new one starts.
	Replace ConcurrencyPolicy = "Replace"
)

// CronJobStatus is the status of a CronJob, without the conditions.
type CronJobStatus struct {
	Active           []ActiveJob `json:"active" doc:"The Jobs that are running."`
	LastScheduleTime *time.Time  `json:"lastScheduleTime,omitempty" doc:"The time for which the last Job was scheduled."`
}

// ActiveJob is a Job that is running.
type ActiveJob struct {
	Name string `json:"name,omitempty" doc:"The name of the Job."`
	UID  string `json:"uid,omitempty" doc:"The UID of the Job."`
}

var resource = gyre.CustomResource{
	Kind:        gyre.Kind("batch.tutorial.kubebuilder.io/v1", "CronJob"),
	Description: "Runs Jobs on a schedule.",
	Columns: []gyre.Column{
		{Name: "Schedule", Type: "string", JSONPath: ".spec.schedule"},
		{Name: "Suspend", Type: "boolean", JSONPath: ".spec.suspend"},
		{Name: "Last Schedule", Type: "date", JSONPath: ".status.lastScheduleTime"},
		gyre.ConditionColumn("Ready"),
		gyre.AgeColumn(),
	},
}
