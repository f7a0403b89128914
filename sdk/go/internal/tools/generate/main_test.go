package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

const (
	documents = "../../../../../host/devcluster/src/builtin/dump"
	types     = "../../../k8s"
)

func TestTheTypesAreThoseOfTheDocuments(t *testing.T) {
	files, err := generate(documents)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 14 {
		t.Errorf("there are %d files instead of 14: one for each module, and one with all kinds", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(types, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date: `go generate ./k8s` writes it (%v)", name, err)
		}
	}
}

func TestNoTwoTypesHaveTheSameName(t *testing.T) {
	source, err := read(documents)
	if err != nil {
		t.Fatal(err)
	}
	homes := map[string]string{}
	declare := func(name, module string) {
		if home, ok := homes[name]; ok {
			t.Errorf("%s is in %s and in %s", name, home, module)
		}
		homes[name] = module
	}
	for name, module := range modulesOf(source, selection) {
		for _, object := range module.objects {
			declare(object.name, name)
		}
		for _, choice := range module.choices {
			declare(choice.name, name)
			for _, value := range choice.values {
				declare(choice.name+identifier(value), name)
			}
		}
	}
}

func TestNamesAreThoseOfGo(t *testing.T) {
	for json, want := range map[string]string{
		"clusterIP":      "ClusterIP",
		"externalIPs":    "ExternalIPs",
		"httpGet":        "HTTPGet",
		"seLinuxOptions": "SELinuxOptions",
		"seccompProfile": "SeccompProfile",
		"fsGroup":        "FSGroup",
		"ip":             "IP",
		"$ref":           "Ref",
	} {
		if got := exported(json); got != want {
			t.Errorf("%s is %s instead of %s", json, got, want)
		}
	}
}

func TestACommentIsTheFirstSentence(t *testing.T) {
	got := comment("What it is, e.g. this.\nSecond line. Another sentence.\n\nAnother paragraph.", "", "")
	if want := "// The it is, e.g. this.\n"; got != want {
		t.Errorf("%q instead of %q", got, want)
	}
}
