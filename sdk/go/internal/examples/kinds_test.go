package examples

import (
	"strings"
	"testing"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

func server(name string) (k8s.Service, k8s.Secret) {
	service := k8s.Service{Object: gyre.Named(name), Spec: k8s.ServiceSpec{
		Selector: map[string]string{"app": name},
		Ports:    []k8s.ServicePort{{Port: 80, TargetPort: k8s.FromString("http")}},
	}}
	login := k8s.Secret{Object: gyre.Named(name), Generated: map[string]k8s.Generated{
		"password": {Value: k8s.Password{Length: 24}},
		"url":      {Value: k8s.Text("postgres://app:{password}@" + name + "/app")},
	}}
	return service, login
}

func TestAServerHasAServiceAndALogin(t *testing.T) {
	service, login := server("db")
	plan := gyre.Children(service, login)
	if got := string(plan.Children[0].Object); !strings.Contains(got, `"ports":[{"port":80,"targetPort":"http"}]`) {
		t.Errorf("unexpected Service: %s", got)
	}
	if got := string(plan.Children[1].Object); !strings.Contains(got, `"password":{"generate":{"password":{"length":24}}}`) {
		t.Errorf("unexpected Secret: %s", got)
	}
}
