// Package k8s has lean types of the built-in kinds, with all their fields.
//
//	deployment := k8s.Deployment{
//		Object: gyre.Named("web"),
//		Spec: k8s.DeploymentSpec{
//			Replicas: k8s.Ptr[int32](3),
//			Selector: k8s.Matching(labels),
//			Template: k8s.PodTemplateSpec{
//				Metadata: gyre.ObjectMeta{Labels: labels},
//				Spec:     k8s.PodSpec{Containers: []k8s.Container{{Name: "web", Image: "nginx:1.29"}}},
//			},
//		},
//	}
//
// A field that is not set is left out, so that a plugin says only what it wants to decide: the host
// applies these fields, and leaves others to the defaults of the API server and to other writers. The
// fields are those of k8s.io/api, and are pointers where they are pointers there, because zero differs
// from absent. These are different:
//
//   - Metadata is a gyre.ObjectMeta.
//   - Structs are not embedded in others: a Volume has the field EmptyDir, and a Probe has HTTPGet.
//   - Strings are no pointers, except for names of classes, and quantities are strings.
//   - Times are *time.Time.
//
// The types are generated from the OpenAPI documents of the version of Kubernetes that the in-memory
// cluster of gyre imitates. Types that a plugin does not use are not in its component.
package k8s

//go:generate go run ../internal/tools/generate ../../../host/devcluster/src/builtin/dump .

// Ptr returns a pointer to a value, for fields of which zero differs from absent.
func Ptr[T any](value T) *T { return &value }
