// Runs a Job that writes the message of an Echo, once for each new message: the plugin echo in Go.
//
// An Echo has one Job, which is never changed. When the Job has finished, with success or not, the
// status records the result and the generation of the Echo, so that the message is not written again
// when the Job is deleted. A new message is a new generation, which has no record, also if it is the
// message before last. So the record and the Job decide: see stateOf.
//
// What is absent: retries. Kubernetes retries the Pods of a Job (backoffLimit), and a Job that has
// failed does not run again for the same message.
package main

import (
	"errors"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// Echo writes a message once, with a Job.
type Echo struct {
	gyre.Object
	Spec   EchoSpec   `json:"spec"`
	Status EchoStatus `json:"status"`
}

// EchoSpec is the desired state of an Echo.
type EchoSpec struct {
	Message string `json:"message" doc:"The message to write."`
}

// EchoStatus is the status of an Echo, without the conditions.
type EchoStatus struct {
	Job      string `json:"job" doc:"The name of the Job, for people and scripts."`
	Finished *Run   `json:"finished,omitempty" doc:"The last run that has finished. It is not repeated when its Job is deleted."`
}

// Run is a run of a Job that has finished.
type Run struct {
	UID        string    `json:"uid" doc:"The UID of this Echo. A status that was copied from another one does not count."`
	Generation int64     `json:"generation" doc:"The generation of this Echo with the message of the Job."`
	Result     RunResult `json:"result" doc:"The result of the Job." enum:"Complete,Failed"`
}

// RunResult is the result of a Job.
type RunResult string

// The values of RunResult.
const (
	RunComplete RunResult = "Complete"
	RunFailed   RunResult = "Failed"
)

var resource = gyre.CustomResource{
	Kind:        gyre.Kind("mmontes.io/v1alpha1", "Echo"),
	Description: "Writes a message once, with a Job.",
	ShortNames:  []string{"ec"},
	Columns: []gyre.Column{
		{Name: "Message", Type: "string", JSONPath: ".spec.message"},
		gyre.ConditionColumn("Ready"),
		gyre.ConditionColumn("Complete"),
		{Name: "Job", Type: "string", JSONPath: ".status.job"},
		gyre.AgeColumn(),
	},
	Conditions: "Ready: False if the Job has failed, even if it has been deleted since, or if it is for an earlier message and has to be " +
		"deleted; otherwise True, also before the Job exists. Complete: True once the Job has written the message.",
}

// EchoReconciler is the plugin.
type EchoReconciler struct{}

// Reconcile returns the Job that should exist, and what the status says of it.
func (EchoReconciler) Reconcile(c gyre.Context, echo *Echo, settings Settings) (gyre.Plan, error) {
	name := gyre.DNSLabel(echo.Metadata.Name)
	// A Job of somebody else with this name is no child, so it is not found here. The host leaves it
	// alone, and sets Ready to False with the reason ForeignObject.
	job, err := gyre.ChildOf[k8s.Job](c, name)
	if err != nil && !errors.Is(err, gyre.ErrNotFound) {
		return gyre.Plan{}, err
	}
	state := stateOf(echo, job)

	plan := gyre.NoChildren()
	if state == unfinished {
		// The Job is created. One that exists is not touched: the strategy is CreateOnly.
		plan = plan.Apply(jobOf(echo, name, settings))
	} else {
		// The Job stays if it exists, and is not created if it does not.
		plan = plan.KeepChild(gyre.ObjectRef{Kind: k8s.Job{}.GroupVersionKind(), Name: name})
	}
	ready, severity := state.ready(name)
	if state == unfinished && job != nil && hasController(job) {
		ready, severity = mayBeDeleted(name, echo.Metadata.Name), gyre.Warning
	}
	return plan.
		WithReport(ready, severity).
		WithCondition(state.complete(ready)).
		WithStatus(EchoStatus{Job: name, Finished: state.lastRun(echo)}), nil
}

func jobOf(echo *Echo, name string, settings Settings) k8s.Job {
	template := k8s.PodTemplateSpec{Spec: podOf(name, echo.Spec.Message, settings)}
	return k8s.Job{Object: gyre.Named(name), Spec: k8s.JobSpec{Template: template}}
}

func init() {
	gyre.Register(gyre.Manifest{
		Name:        "echo",
		Version:     "0.1.0",
		Description: "An Echo writes its message once: a Job does.",
		Parent:      resource.Kind,
		Children:    []gyre.ChildKind{gyre.Owns[k8s.Job]().With(gyre.CreateOnly)},
		CRDs:        [][]byte{gyre.CRD[EchoSpec, EchoStatus](resource)},
	}, EchoReconciler{})
}

func main() {}
