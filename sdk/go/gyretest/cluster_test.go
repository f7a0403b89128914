package gyretest

import (
	"errors"
	"testing"

	"gyre.dev/gyre"
	"gyre.dev/gyre/k8s"
)

func labelled(namespace, name, app string) k8s.ConfigMap {
	return k8s.ConfigMap{Object: gyre.Object{Metadata: gyre.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{"app": app},
	}}}
}

func TestReadsFindWhatTheClusterHas(t *testing.T) {
	c := With(labelled("a", "one", "web"), labelled("b", "one", "db"), labelled("a", "two", "db")).Context()
	if found, err := gyre.GetIn[k8s.ConfigMap](c, "b", "one"); err != nil || found.Metadata.Labels["app"] != "db" {
		t.Errorf("unexpected object: %v, %v", found, err)
	}
	if _, err := gyre.Get[k8s.ConfigMap](c, "three"); !errors.Is(err, gyre.ErrNotFound) {
		t.Errorf("unexpected error: %v", err)
	}
	for selector, want := range map[string]int{
		"":                          3,
		"app":                       3,
		"!app":                      0,
		"!tier":                     3,
		"app=db":                    2,
		"app == db":                 2,
		"app!=db":                   1,
		"tier!=db,app=web":          1,
		"app in (web, db)":          3,
		"app notin (db),app":        1,
		"tier notin (a,b), app=web": 1,
		"tier in (a)":               0,
	} {
		if found, err := gyre.List[k8s.ConfigMap](c, selector); err != nil || len(found) != want {
			t.Errorf("%q selects %d objects instead of %d (%v)", selector, len(found), want, err)
		}
	}
	for _, selector := range []string{"app in", "a b", ",", "app=db,", "in (a)"} {
		if _, err := gyre.List[k8s.ConfigMap](c, selector); !errors.Is(err, gyre.ErrInvalidSelector) {
			t.Errorf("%q: %v", selector, err)
		}
	}
}

func TestReadsFailAsTheClusterSays(t *testing.T) {
	kind := k8s.ConfigMap{}.GroupVersionKind()
	for want, cluster := range map[error]*Cluster{gyre.ErrNotServed: With().NotServing(kind), gyre.ErrNotGranted: With().NotGranting(kind)} {
		if _, err := gyre.Get[k8s.ConfigMap](cluster.Context(), "it"); !errors.Is(err, want) {
			t.Errorf("%v instead of %v", err, want)
		}
		if _, err := gyre.List[k8s.ConfigMap](cluster.Context(), ""); !errors.Is(err, want) {
			t.Errorf("%v instead of %v", err, want)
		}
	}
}

func TestChildrenAreThoseOfTheParentAlone(t *testing.T) {
	c := With(labelled("a", "foreign", "web")).AndChildren(labelled("a", "own", "web")).Context()
	if children, err := gyre.ChildrenOf[k8s.ConfigMap](c); err != nil || len(children) != 1 || children[0].Metadata.Name != "own" {
		t.Errorf("unexpected children: %v, %v", children, err)
	}
	if child, err := gyre.ChildOf[k8s.ConfigMap](c, "own"); err != nil || child.Metadata.Name != "own" {
		t.Errorf("unexpected child: %v, %v", child, err)
	}
	if _, err := gyre.ChildOf[k8s.ConfigMap](c, "foreign"); !errors.Is(err, gyre.ErrNotFound) {
		t.Errorf("unexpected error: %v", err)
	}
}

func TestTheTimeIsFixed(t *testing.T) {
	c := With().At("2026-02-03T04:05:06Z").Context()
	if got := c.Now().String(); got != "2026-02-03 04:05:06 +0000 UTC" {
		t.Errorf("it is %s", got)
	}
}
