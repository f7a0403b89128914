package gyre

import (
	"strings"
	"testing"
)

func TestNamesAndFingerprintsAreThoseOfTheRustSDK(t *testing.T) {
	if got := Fingerprint("index.html", "Good day."); got != "7p6zycpx6db4p" {
		t.Errorf("unexpected fingerprint: %s", got)
	}
	if Fingerprint("ab", "c") == Fingerprint("a", "bc") {
		t.Error("the fingerprint does not depend on where a text ends")
	}
}

func TestALabelIsValidAndDiffersForEachName(t *testing.T) {
	names := []string{"hello", "hello.world", "Hello.World", "hello-", strings.Repeat("long", 50), strings.Repeat("long", 51), "3.1", "...", ""}
	for _, of := range []func(string) string{DNSLabel, ServiceLabel, func(name string) string { return DNSLabelWithin(name, 20) }} {
		seen := map[string]string{}
		for _, name := range names {
			label := of(name)
			if !isDNSLabel(label) || len(label) > labelLimit || of(name) != label {
				t.Errorf("the label of %q is %q", name, label)
			}
			if other, ok := seen[label]; ok {
				t.Errorf("%q and %q have the label %q", name, other, label)
			}
			seen[label] = name
		}
	}
	if got := DNSLabel("hello"); got != "hello" {
		t.Errorf("a valid name becomes %q", got)
	}
	if got := DNSLabel(strings.Repeat("long", 50)); len(got) != labelLimit {
		t.Errorf("a long name becomes %q", got)
	}
	if got := ServiceLabel("3-hellos"); !strings.HasPrefix(got, "hellos-") {
		t.Errorf("the label of a Service is %q", got)
	}
}
