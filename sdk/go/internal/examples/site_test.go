// Package examples has the code of the guide docs/go.md, which is compiled and run here.
package examples

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"gyre.dev/gyre"
	"gyre.dev/gyre/gyretest"
	"gyre.dev/gyre/k8s"
)

// SiteSpec is the desired state of a Site.
type SiteSpec struct {
	Image     string `json:"image" doc:"The image of the web server." minLength:"1"`
	ConfigMap string `json:"configMap" doc:"The ConfigMap with the settings."`
	Replicas  int32  `json:"replicas" default:"1" minimum:"0"`
}

// Site runs a web server.
type Site struct {
	gyre.Object
	Spec SiteSpec `json:"spec"`
}

// SiteReconciler is the plugin.
type SiteReconciler struct{}

// Reconcile returns the Deployment of a Site.
func (SiteReconciler) Reconcile(c gyre.Context, site *Site, _ gyre.NoSettings) (gyre.Plan, error) {
	config, err := gyre.Get[k8s.ConfigMap](c, site.Spec.ConfigMap)
	if errors.Is(err, gyre.ErrNotFound) {
		return gyre.Wait("ConfigMapMissing", "there is no ConfigMap %s", site.Spec.ConfigMap), nil
	}
	if err != nil {
		return gyre.Plan{}, err
	}
	settings, err := json.Marshal(config.Data) // sorted by key
	if err != nil {
		return gyre.Plan{}, err
	}

	labels := map[string]string{"app": site.Metadata.Name}
	deployment := k8s.Deployment{Object: gyre.Named(site.Metadata.Name), Spec: k8s.DeploymentSpec{
		Replicas: &site.Spec.Replicas,
		Selector: k8s.Matching(labels),
		Template: k8s.PodTemplateSpec{
			Metadata: gyre.ObjectMeta{
				Labels:      labels,
				Annotations: map[string]string{"example.com/settings": gyre.Fingerprint(string(settings))},
			},
			Spec: k8s.PodSpec{Containers: []k8s.Container{{
				Name:    "web",
				Image:   site.Spec.Image,
				EnvFrom: []k8s.EnvFromSource{{ConfigMapRef: &k8s.ConfigMapEnvSource{Name: site.Spec.ConfigMap}}},
			}}},
		},
	}}

	ready := gyre.Condition{Type: "Ready", Status: gyre.True, Reason: "Available"}
	available, err := availableReplicas(c, site)
	if available < site.Spec.Replicas {
		ready.Status, ready.Reason = gyre.False, "WaitingForReplicas"
	}
	ready.Message = fmt.Sprintf("%d of %d replicas are available", available, site.Spec.Replicas)
	return gyre.Children(deployment).WithCondition(ready), err
}

func availableReplicas(c gyre.Context, site *Site) (int32, error) {
	deployment, err := gyre.ChildOf[k8s.Deployment](c, site.Metadata.Name)
	if errors.Is(err, gyre.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return deployment.Status.AvailableReplicas, nil
}

func init() {
	resource := gyre.CustomResource{Kind: gyre.Kind("example.com/v1", "Site")}
	gyre.Register(gyre.Manifest{
		Name:        "site",
		Version:     "0.1.0",
		Description: "Runs web servers.",
		Parent:      resource.Kind,
		Children:    []gyre.ChildKind{gyre.Owns[k8s.Deployment]()},
		Reads:       []gyre.ReadKind{gyre.Reads[k8s.ConfigMap]()},
		CRDs:        [][]byte{gyre.CRD[SiteSpec, struct{}](resource)},
	}, SiteReconciler{})
}

func TestASiteWaitsForItsSettings(t *testing.T) {
	site := &Site{Object: gyre.Named("docs"), Spec: SiteSpec{Image: "registry.example.com/docs:1", ConfigMap: "docs-settings", Replicas: 2}}
	plan, err := SiteReconciler{}.Reconcile(gyretest.With().Context(), site, gyre.NoSettings{})
	if err != nil || gyretest.Condition(t, plan, "Ready").Reason != "ConfigMapMissing" {
		t.Errorf("unexpected plan: %v, %v", plan, err)
	}

	config := k8s.ConfigMap{Object: gyre.Named("docs-settings"), Data: map[string]string{"THEME": "dark"}}
	plan, err = SiteReconciler{}.Reconcile(gyretest.With(config).Context(), site, gyre.NoSettings{})
	if err != nil || *gyretest.Applied[k8s.Deployment](t, plan, "docs").Spec.Replicas != 2 {
		t.Errorf("unexpected plan: %v, %v", plan, err)
	}
}

func TestASiteIsReadyWhenItsReplicasAreAvailable(t *testing.T) {
	site := &Site{Object: gyre.Named("docs"), Spec: SiteSpec{ConfigMap: "docs-settings", Replicas: 2}}
	config := k8s.ConfigMap{Object: gyre.Named("docs-settings")}
	for available, want := range map[int32]string{1: "WaitingForReplicas", 2: "Available"} {
		deployment := k8s.Deployment{Object: gyre.Named("docs"), Status: k8s.DeploymentStatus{AvailableReplicas: available}}
		plan, err := SiteReconciler{}.Reconcile(gyretest.With(config).AndChildren(deployment).Context(), site, gyre.NoSettings{})
		if err != nil || gyretest.Condition(t, plan, "Ready").Reason != want {
			t.Errorf("with %d replicas: %v, %v", available, plan.Conditions, err)
		}
	}
}
