package main

import "gyre.dev/gyre/k8s"

// notRoot is the user nonroot of common base images.
const notRoot = 65532

// Settings are those of an operator.
type Settings struct {
	Restricted bool   `json:"restricted" doc:"If true, pods meet the restricted Pod Security Standard, which some namespaces require."`
	Image      string `json:"image" minLength:"1" doc:"The image of the pods. It needs an echo, and, if restricted, to run as any user."`
}

// SetDefaults sets the image of echoperator.
func (s *Settings) SetDefaults() { s.Image = "busybox:1.33.1" }

// podOf returns a pod that writes a message once, in a container with this name.
func podOf(name, message string, settings Settings) k8s.PodSpec {
	container := k8s.Container{
		Name:            name,
		Image:           settings.Image,
		ImagePullPolicy: k8s.ImagePullPolicyIfNotPresent,
		Command:         []string{"echo", message},
	}
	pod := k8s.PodSpec{Containers: []k8s.Container{container}, RestartPolicy: k8s.RestartPolicyNever}
	if settings.Restricted {
		// busybox runs as root by default.
		pod.SecurityContext = &k8s.PodSecurityContext{RunAsUser: k8s.Ptr[int64](notRoot)}
		pod = pod.Restricted()
	}
	return pod
}
