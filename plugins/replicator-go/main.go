// Copies a Secret to the namespaces that its annotation names: the plugin replicator in Go.
//
//	Secret shared/registry                         Namespaces team-a, team-b, other
//	  replicator.gyre.dev/to: "team-*" ──────────▶ Secrets team-a/registry, team-b/registry
//
// A copy has the type and the data of the Secret, and follows both. It goes when the Secret no longer
// names its namespace, and with the Secret. A Secret that somebody else made is not overwritten. Where
// copies may be written, the operator decides: grants.writeNamespaces. The mount is for all
// namespaces, because it reads Namespaces; a selector restricts its Secrets.
//
// What is absent: copies of copies. A copy does not get the labels and annotations of the Secret,
// because Argo CD and Helm would then manage the copy.
package main

import (
	"fmt"
	"strings"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

// to is the annotation with the namespaces of the copies: names separated by commas, in which *
// stands for any characters.
const to = "replicator.gyre.dev/to"

// serviceAccountToken is the type of Secrets that belong to one ServiceAccount of their namespace.
const serviceAccountToken = "kubernetes.io/service-account-token"

// Replicator is the plugin.
type Replicator struct{}

// Reconcile returns the copies of a Secret.
func (Replicator) Reconcile(c gyre.Context, secret *k8s.Secret, _ gyre.NoSettings) (gyre.Plan, error) {
	targets, isReplicated := secret.Metadata.Annotations[to]
	if !isReplicated {
		return gyre.NoChildren(), nil
	}
	if secret.Type == serviceAccountToken {
		message := fmt.Sprintf("a Secret of the type %s belongs to a ServiceAccount of its namespace", serviceAccountToken)
		return gyre.NoChildren().WithEvent(gyre.Event{Severity: gyre.Warning, Reason: "NotReplicable", Message: message}), nil
	}
	namespaces, err := gyre.List[k8s.Namespace](c, "")
	if err != nil {
		return gyre.Plan{}, err
	}
	patterns := split(targets)
	plan := gyre.NoChildren()
	for _, namespace := range namespaces {
		if isTarget(namespace, secret, patterns) {
			plan = plan.Apply(copyOf(secret, namespace.Metadata.Name))
		}
	}
	if missing := missingOf(patterns, namespaces); len(missing) > 0 {
		message := fmt.Sprintf("there is no namespace %s yet: the copy is made once there is", strings.Join(missing, ", "))
		plan = plan.WithEvent(gyre.Event{Severity: gyre.Normal, Reason: "NamespaceMissing", Message: message})
	}
	return plan, nil
}

// split returns the patterns in an annotation.
func split(targets string) []string {
	var patterns []string
	for _, pattern := range strings.Split(targets, ",") {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

func isTarget(namespace *k8s.Namespace, secret *k8s.Secret, patterns []string) bool {
	isLeaving := namespace.Metadata.DeletionTimestamp != nil
	isOwn := namespace.Metadata.Name == secret.Metadata.Namespace
	if isLeaving || isOwn {
		return false
	}
	for _, pattern := range patterns {
		if matches(pattern, namespace.Metadata.Name) {
			return true
		}
	}
	return false
}

// missingOf returns the names among the patterns of which there is no namespace.
func missingOf(patterns []string, namespaces []*k8s.Namespace) []string {
	exists := map[string]bool{}
	for _, namespace := range namespaces {
		exists[namespace.Metadata.Name] = true
	}
	var missing []string
	for _, pattern := range patterns {
		if !strings.Contains(pattern, "*") && !exists[pattern] {
			missing = append(missing, pattern)
		}
	}
	return missing
}

func copyOf(secret *k8s.Secret, namespace string) k8s.Secret {
	replica := k8s.Secret{Object: gyre.Named(secret.Metadata.Name), Type: secret.Type, Data: secret.Data}
	replica.Metadata.Namespace = namespace
	if replica.Type == "" {
		replica.Type = "Opaque"
	}
	return replica
}

// matches returns whether a name fits a pattern, in which * stands for any characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	rest, ok = strings.CutSuffix(rest, parts[len(parts)-1])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return true
}

func init() {
	gyre.Register(gyre.Manifest{
		Name:        "replicator",
		Version:     "0.1.0",
		Description: "Copies Secrets to the namespaces that an annotation names.",
		Parent:      k8s.Secret{}.GroupVersionKind(),
		Children:    []gyre.ChildKind{gyre.Owns[k8s.Secret]()},
		Reads:       []gyre.ReadKind{gyre.Reads[k8s.Namespace]().OnlyMetadata()},
	}, Replicator{})
}

func main() {}
