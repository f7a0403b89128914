// An operator for Echos as one writes it with controller-runtime: typed objects, the manager's cached client, a Job that the Echo owns, the
// status in the subresource, and an Event.
package main

import (
	"context"
	"flag"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var groupVersion = schema.GroupVersion{Group: "mmontes.io", Version: "v1alpha1"}

// EchoSpec is what a user wants to be echoed.
type EchoSpec struct {
	Message string `json:"message"`
}

// EchoStatus says which Job echoes it.
type EchoStatus struct {
	Job        string             `json:"job,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Echo is a message and the Job that writes it.
type Echo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              EchoSpec   `json:"spec"`
	Status            EchoStatus `json:"status,omitempty"`
}

// EchoList is a list of Echos.
type EchoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Echo `json:"items"`
}

// DeepCopyObject copies it, as generated code does.
func (in *Echo) DeepCopyObject() runtime.Object {
	out := new(Echo)
	in.deepCopyInto(out)
	return out
}

func (in *Echo) deepCopyInto(out *Echo) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = make([]metav1.Condition, len(in.Status.Conditions))
	for i := range in.Status.Conditions {
		in.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
	}
}

// DeepCopyObject copies it, as generated code does.
func (in *EchoList) DeepCopyObject() runtime.Object {
	out := new(EchoList)
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Echo, len(in.Items))
	for i := range in.Items {
		in.Items[i].deepCopyInto(&out.Items[i])
	}
	return out
}

type reconciler struct {
	client.Client
	recorder events.EventRecorder
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var echo Echo
	if err := r.Get(ctx, request.NamespacedName, &echo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var job batchv1.Job
	if err := r.Get(ctx, request.NamespacedName, &job); apierrors.IsNotFound(err) {
		job = jobOf(&echo)
		if err := ctrl.SetControllerReference(&echo, &job, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, &job); err != nil {
			return ctrl.Result{}, err
		}
		r.recorder.Eventf(&echo, nil, corev1.EventTypeNormal, "JobCreated", "Reconcile", "Job %s runs the message", job.Name)
	} else if err != nil {
		return ctrl.Result{}, err
	}
	changed := meta.SetStatusCondition(&echo.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "JobCreated", Message: "Job " + job.Name + " runs the message",
		ObservedGeneration: echo.Generation,
	})
	if changed || echo.Status.Job != job.Name {
		echo.Status.Job = job.Name
		if err := r.Status().Update(ctx, &echo); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

func jobOf(echo *Echo) batchv1.Job {
	return batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: echo.Name, Namespace: echo.Namespace},
		Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{
						Name: echo.Name, Image: "busybox:1.33.1", ImagePullPolicy: corev1.PullIfNotPresent,
						Command: []string{"echo", echo.Spec.Message},
					}},
				},
			},
		},
	}
}

func run() error {
	// The flag --kubeconfig is controller-runtime's.
	workers := flag.Int("workers", 4, "number of objects that are reconciled concurrently")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	scheme.AddKnownTypes(groupVersion, &Echo{}, &EchoList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// No client-side rate limit: gyre has none either. It is the default, too.
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "127.0.0.1:0"},
		HealthProbeBindAddress: "127.0.0.1:0",
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorder("echo")}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Echo{}).
		Owns(&batchv1.Job{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: *workers}).
		Complete(r)
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the operator ended")
		os.Exit(1)
	}
}
