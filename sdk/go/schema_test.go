package gyre

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

type quantity struct{}

func (quantity) OpenAPISchemaType() []string  { return []string{"string"} }
func (quantity) OpenAPISchemaFormat() string  { return "int-or-string" }
func (quantity) MarshalJSON() ([]byte, error) { return []byte(`"1"`), nil }

type inlined struct {
	Both *bool `json:"both"`
}

type all struct {
	inlined
	Text     string            `json:"text" doc:"Any text." minLength:"1" pattern:"^a"`
	Tier     string            `json:"tier" enum:"free,paid" default:"free"`
	Count    int32             `json:"count" default:"2" minimum:"0" maximum:"9"`
	Sizes    []uint8           `json:"sizes,omitempty"`
	Numbers  []int64           `json:"numbers,omitempty" maxItems:"3"`
	Labels   map[string]string `json:"labels,omitzero"`
	Since    time.Time         `json:"since"`
	Limit    quantity          `json:"limit"`
	Any      any               `json:"any" doc:"Anything."`
	Raw      json.RawMessage   `json:"raw"`
	Template map[string]any    `json:"template" schema:"{\"type\":\"object\"}" doc:"A template."`
	Hidden   string            `json:"-"`
	internal string
	Named    struct{ It bool } `json:"named,omitempty"`
}

func TestASchemaFollowsTheTypesAndTheirTags(t *testing.T) {
	const want = `{"properties":{
		"any":{"description":"Anything.","x-kubernetes-preserve-unknown-fields":true},
		"both":{"type":"boolean"},
		"count":{"default":2,"format":"int32","maximum":9,"minimum":0,"type":"integer"},
		"labels":{"additionalProperties":{"type":"string"},"type":"object"},
		"limit":{"x-kubernetes-int-or-string":true},
		"named":{"properties":{"It":{"type":"boolean"}},"required":["It"],"type":"object"},
		"numbers":{"items":{"format":"int64","type":"integer"},"maxItems":3,"type":"array"},
		"raw":{"x-kubernetes-preserve-unknown-fields":true},
		"since":{"format":"date-time","type":"string"},
		"sizes":{"format":"byte","type":"string"},
		"template":{"description":"A template.","type":"object"},
		"text":{"description":"Any text.","minLength":1,"pattern":"^a","type":"string"},
		"tier":{"default":"free","enum":["free","paid"],"type":"string"}
	},"required":["text","since","limit","any","raw","template"],"type":"object"}`
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]json.RawMessage
					}
				}
			}
		}
	}
	text := CRD[all, struct{}](CustomResource{Kind: Kind("example.com/v1", "Policy")})
	if err := json.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	got := string(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	if got != strings.NewReplacer("\n", "", "\t", "").Replace(want) {
		t.Errorf("unexpected schema: %s", got)
	}
	if !strings.Contains(string(text), `"metadata":{"name":"policies.example.com"}`) {
		t.Errorf("unexpected name: %s", text)
	}
}

type recursive struct {
	Children []recursive `json:"children"`
}

func TestWhatHasNoSchemaIsRefusedByName(t *testing.T) {
	for _, test := range []struct {
		want string
		make func()
	}{
		{"gyre.recursive contains itself", func() { CRD[recursive, struct{}](CustomResource{}) }},
		{"the status string is no struct", func() { CRD[struct{}, string](CustomResource{}) }},
		{`the tag minimum:"x" of the field It is not JSON`, func() {
			CRD[struct {
				It int `minimum:"x"`
			}, struct{}](CustomResource{})
		}},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, test.want) {
					t.Errorf("%q instead of %q", got, test.want)
				}
			}()
			test.make()
		}()
	}
}

func TestPluralsAreFormedAsKubebuilderFormsThem(t *testing.T) {
	for singular, want := range map[string]string{"echo": "echos", "policy": "policies", "gateway": "gateways", "mesh": "meshes", "box": "boxes"} {
		if got := plural(singular); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}
