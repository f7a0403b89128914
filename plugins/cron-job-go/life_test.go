package main

import (
	"testing"
	"time"

	"gyre.dev/gyre/gyretest"
)

func TestRunsStartOnScheduleAndTheHistoryIsLimited(t *testing.T) {
	hourly := cronJob(func(c *CronJob) {
		c.APIVersion, c.Kind, c.Metadata.Namespace = "batch.tutorial.kubebuilder.io/v1", "CronJob", "default"
		c.Metadata.CreationTimestamp = nil
	})
	world := gyretest.Start(t, gyretest.Setup{Objects: []any{hourly}, Time: "2026-01-01T00:00:01Z"})
	world.Settle()
	for hour, run := range []string{"00:01", "01:01", "02:01", "03:01", "04:01"} {
		job := "Job " + name("2026-01-01T"+run+":00Z")
		world.Settle()
		if world.Has(job) {
			t.Fatalf("the run of %s starts too early", run)
		}
		// Each time that the host settles takes some seconds.
		world.Advance(time.Minute)
		world.Settle()
		if !world.Has(job) {
			t.Fatalf("the run of %s has not started: %d hours have passed", run, hour)
		}
		world.FinishJob(job)
		world.Settle()
		world.Advance(59 * time.Minute)
	}
	for run, isKept := range map[string]bool{"00:01": false, "01:01": false, "02:01": true, "03:01": true, "04:01": true} {
		if world.Has("Job "+name("2026-01-01T"+run+":00Z")) != isKept {
			t.Errorf("the Job of %s is kept: %v", run, !isKept)
		}
	}
	world.Restart()
	world.Settle().AssertNothingDone()
}

func TestTheCasesOfGyreTest(t *testing.T) { gyretest.AssertCases(t, "cron-job", "cases") }
