package k8s

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gyre.dev/gyre"
)

// samples has an object of each kind, with a value in each field.
const samples = "../../../host/devcluster/src/builtin/dump/wireSamples.json.gz"

type sample struct {
	APIVersion, Kind string
	JSON             map[string]any
}

func readSamples(t *testing.T) map[gyre.GroupVersionKind]map[string]any {
	t.Helper()
	file, err := os.Open(samples)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := json.NewDecoder(plain).Decode(&all); err != nil {
		t.Fatal(err)
	}
	byKind := map[gyre.GroupVersionKind]map[string]any{}
	for _, sample := range all {
		byKind[gyre.Kind(sample.APIVersion, sample.Kind)] = sample.JSON
	}
	return byKind
}

// withoutZeros returns a value without fields that are null, false, 0, "" or empty: Kubernetes writes
// some of them, and these types write none.
func withoutZeros(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, inner := range value {
			inner = withoutZeros(inner)
			isEmpty := inner == nil || reflect.ValueOf(inner).IsZero()
			if list, ok := inner.([]any); ok {
				isEmpty = len(list) == 0
			}
			if fields, ok := inner.(map[string]any); ok {
				isEmpty = len(fields) == 0
			}
			if !isEmpty {
				kept[name] = inner
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for index, inner := range value {
			kept[index] = withoutZeros(inner)
		}
		return kept
	default:
		return value
	}
}

func TestEveryFieldOfEveryKindIsReadAndWritten(t *testing.T) {
	samples := readSamples(t)
	for _, object := range append(kinds, new(Secret)) {
		kind := object.GroupVersionKind()
		sample, ok := samples[kind]
		if !ok {
			t.Errorf("there is no sample of %s", kind)
			continue
		}
		// The fields that gyre.ObjectMeta has are tested by the package gyre.
		delete(sample, "metadata")
		text, err := json.Marshal(sample)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, object); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		written, err := json.Marshal(object)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		var got map[string]any
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		delete(got, "metadata")
		compare(t, kind.Kind, withoutZeros(got), withoutZeros(sample))
	}
}

// compare reports each field in which two values differ. Metadata within objects are those of
// gyre.ObjectMeta.
func compare(t *testing.T, path string, got, want any) {
	t.Helper()
	gotFields, isObject := got.(map[string]any)
	wantFields, ok := want.(map[string]any)
	if isObject && ok {
		for name := range wantFields {
			if name != "metadata" {
				compare(t, path+"."+name, gotFields[name], wantFields[name])
			}
		}
		return
	}
	gotList, isList := got.([]any)
	wantList, ok := want.([]any)
	if isList && ok && len(gotList) == len(wantList) {
		for index := range wantList {
			compare(t, path+"[]", gotList[index], wantList[index])
		}
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %v instead of %v", path, got, want)
	}
}

func checkJSON(t *testing.T, value any, want string) {
	t.Helper()
	got, err := json.Marshal(value)
	if err != nil || string(got) != want {
		t.Errorf("%s instead of %s (%v)", got, want, err)
	}
}

func TestAFieldThatIsNotSetIsLeftOut(t *testing.T) {
	for _, object := range kinds {
		zero := reflect.New(reflect.TypeOf(object).Elem()).Interface()
		checkJSON(t, zero, `{"metadata":{}}`)
	}
}

func TestZeroDiffersFromAbsent(t *testing.T) {
	checkJSON(t, DeploymentSpec{Replicas: Ptr[int32](0)}, `{"replicas":0}`)
	checkJSON(t, SecurityContext{RunAsNonRoot: Ptr(false)}, `{"runAsNonRoot":false}`)
	checkJSON(t, Volume{Name: "tmp", EmptyDir: &EmptyDirVolumeSource{}}, `{"emptyDir":{},"name":"tmp"}`)
	checkJSON(t, PersistentVolumeClaimSpec{StorageClassName: Ptr("")}, `{"storageClassName":""}`)
	checkJSON(t, NetworkPolicyPeer{NamespaceSelector: &LabelSelector{}}, `{"namespaceSelector":{}}`)
}

func TestValuesThatTheHostMakesAreRequestsAmongTheData(t *testing.T) {
	secret := Secret{
		Object: gyre.Named("db"),
		Type:   "Opaque",
		Data:   map[string][]byte{"user": []byte("app")},
		Generated: map[string]Generated{
			"password": {Value: Password{Length: 24}, Epoch: 1},
			"url":      {Value: Text("postgres://{user}:{password}@db/app")},
			"tls.crt":  {Value: Certificate{PrivateKey: "tls.key", Issuer: SignedBy("ca.crt"), DNSNames: []string{"db"}}},
		},
	}
	checkJSON(t, secret, `{"metadata":{"name":"db"},"type":"Opaque","data":{`+
		`"password":{"epoch":1,"generate":{"password":{"length":24}}},`+
		`"tls.crt":{"generate":{"certificate":{"privateKey":"tls.key","issuer":{"key":"ca.crt"},"dnsNames":["db"],"lifetimeSeconds":7776000}}},`+
		`"url":{"generate":{"text":"postgres://{user}:{password}@db/app"}},`+
		`"user":"YXBw"}}`)
}

func TestTheDigestOfAValueIsReadFromItsPlaceholder(t *testing.T) {
	var secret Secret
	// The texts are gyre-generated:4f2a, and app.
	if err := json.Unmarshal([]byte(`{"data":{"password":"Z3lyZS1nZW5lcmF0ZWQ6NGYyYQ==","user":"YXBw"}}`), &secret); err != nil {
		t.Fatal(err)
	}
	if got := secret.GeneratedDigest("password") + secret.GeneratedDigest("user") + secret.GeneratedDigest("absent"); got != "4f2a" {
		t.Errorf("unexpected digests: %s", got)
	}
}

func TestAPortIsANumberOrAText(t *testing.T) {
	checkJSON(t, ServicePort{Port: 80, TargetPort: FromInt(8080)}, `{"port":80,"targetPort":8080}`)
	checkJSON(t, ServicePort{Port: 80, TargetPort: FromString("http")}, `{"port":80,"targetPort":"http"}`)
	checkJSON(t, ServicePort{Port: 80}, `{"port":80}`)
	var port ServicePort
	for text, want := range map[string]string{`{"targetPort":8080}`: "8080", `{"targetPort":"http"}`: "http"} {
		if err := json.Unmarshal([]byte(text), &port); err != nil || port.TargetPort.String() != want {
			t.Errorf("%s is read as %s (%v)", text, port.TargetPort, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"targetPort":true}`), &port); err == nil {
		t.Error("a boolean is read as a port")
	}
}

func TestAMicroTimeHasSixDigits(t *testing.T) {
	eventTime := MicroTime{time.Date(2026, 1, 1, 1, 0, 0, 0, time.FixedZone("CET", 3600))}
	checkJSON(t, Event{EventTime: &eventTime, Object: gyre.Named("it")}, `{"metadata":{"name":"it"},"eventTime":"2026-01-01T00:00:00.000000Z"}`)
}

func TestEveryContainerOfARestrictedPodIsRestricted(t *testing.T) {
	pod := PodSpec{
		SecurityContext: &PodSecurityContext{RunAsUser: Ptr[int64](1)},
		Containers:      []Container{{Name: "one"}, {Name: "two"}},
		InitContainers:  []Container{{Name: "zero", SecurityContext: &SecurityContext{Privileged: Ptr(false)}}},
	}
	restricted := pod.Restricted()
	for _, container := range append(restricted.Containers, restricted.InitContainers...) {
		security := container.SecurityContext
		if *security.AllowPrivilegeEscalation || strings.Join(security.Capabilities.Drop, ",") != "ALL" {
			t.Errorf("%s is not restricted: %v", container.Name, security)
		}
	}
	if !*restricted.SecurityContext.RunAsNonRoot || *restricted.SecurityContext.RunAsUser != 1 {
		t.Errorf("unexpected pod: %v", restricted.SecurityContext)
	}
	if pod.Containers[0].SecurityContext != nil || pod.SecurityContext.RunAsNonRoot != nil {
		t.Error("the pod itself is changed")
	}
}

func TestAConditionCountsIfItIsTrue(t *testing.T) {
	for status, want := range map[string]bool{"True": true, "False": false, "Unknown": false} {
		job := Job{Status: JobStatus{Conditions: []JobCondition{{Type: "Suspended", Status: "True"}, {Type: JobComplete, Status: status}}}}
		pod := Pod{Status: PodStatus{Conditions: []PodCondition{{Type: "Ready", Status: status}}}}
		if job.IsComplete() != want || job.IsFailed() || pod.IsReady() != want {
			t.Errorf("unexpected results for a condition that is %s", status)
		}
	}
}
