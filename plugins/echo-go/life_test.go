package main

import (
	"testing"

	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

func TestAMessageIsWrittenOnceAndAnotherOneWhenTheOldJobIsGone(t *testing.T) {
	world := gyretest.Start(t, gyretest.Setup{Files: []string{"samples"}})
	created := world.Settle()
	created.AssertPlan(
		"create Job default/hello",
		"status Echo default/hello",
		"event Echo default/hello: Normal JobCreated: Job hello runs the message")
	if ready, complete := created.Condition("hello", "Ready"), created.Condition("hello", "Complete"); ready != "True JobCreated" || complete != "False JobNotFinished" {
		t.Errorf("unexpected conditions: %s, %s", ready, complete)
	}

	world.FinishJob("Job hello")
	finished := world.Settle()
	if ready, complete := finished.Condition("hello", "Ready"), finished.Condition("hello", "Complete"); ready != "True JobComplete" || complete != "True JobComplete" {
		t.Errorf("unexpected conditions: %s, %s", ready, complete)
	}

	world.Edit("Echo hello", func(echo map[string]any) { echo["spec"] = map[string]any{"message": "Good-bye!"} })
	outdated := world.Settle()
	if complete := outdated.Condition("hello", "Complete"); complete != "False JobOutdated" || len(outdated.Children) != 0 {
		t.Errorf("the Job that exists is touched: %s, %s", complete, outdated.Children)
	}

	world.Delete("Job hello")
	world.Settle()
	var job k8s.Job
	world.Find("Job hello", &job)
	if command := job.Spec.Template.Spec.Containers[0].Command; command[1] != "Good-bye!" {
		t.Errorf("unexpected command: %v", command)
	}

	world.FinishJob("Job hello")
	world.Settle()
	world.Delete("Echo hello")
	world.Settle().AssertNothingDone()
	if world.Has("Echo hello") || world.Has("Job hello") {
		t.Error("the Echo or its Job still exists")
	}
}

func TestTheCasesOfGyreTest(t *testing.T) { gyretest.AssertCases(t, "echo", "cases") }
