package gyre

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"gyre.dev/gyre/internal/wit"
)

type thing struct {
	Object
	Spec map[string]int `json:"spec,omitempty"`
}

func (thing) GroupVersionKind() GroupVersionKind { return Kind("example.com/v1", "Thing") }

// bare is an object without metadata, whose kind may be set alone.
type bare struct {
	Kind string `json:"kind,omitempty"`
}

func (bare) GroupVersionKind() GroupVersionKind { return Kind("example.com/v1", "Bare") }

func TestAChildGetsTheKindOfItsType(t *testing.T) {
	for _, child := range []any{thing{Object: Named("it")}, &thing{Object: Named("it")}} {
		plan := Children(child)
		var head Object
		if err := json.Unmarshal(plan.Children[0].Object, &head); err != nil || plan.err != nil {
			t.Fatal(err, plan.err)
		}
		if head.APIVersion != "example.com/v1" || head.Kind != "Thing" || head.Metadata.Name != "it" {
			t.Errorf("unexpected child: %s", plan.Children[0].Object)
		}
	}
	for child, want := range map[any]string{
		&thing{}:            `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{}}`,
		bare{}:              `{"apiVersion":"example.com/v1","kind":"Bare"}`,
		bare{Kind: "Other"}: `{"apiVersion":"example.com/v1","kind":"Bare"}`,
	} {
		if plan := Children(child); string(plan.Children[0].Object) != want {
			t.Errorf("%s instead of %s", plan.Children[0].Object, want)
		}
	}
	if plan := Children(struct{ Name string }{"it"}); plan.err == nil {
		t.Error("a child without a kind is accepted")
	}
}

func TestAPlanThatLeavesTheChildrenListsNone(t *testing.T) {
	plan := Wait("Missing", "there is no %s", "Secret").Apply(thing{})
	result := lowerResult(plan, nil, func(response []any) any { return response })
	failure := result.Payload.(wit.Case)
	if result.Index != 1 || failure.Index != 2 || plan.ListsChildren {
		t.Errorf("unexpected result: %v", result)
	}
}

func TestFailuresAreFoundInWrappedErrors(t *testing.T) {
	cause := errors.New("cause")
	for _, test := range []struct {
		err  error
		want byte
	}{
		{cause, 0},
		{fmt.Errorf("wrapped: %w", RetryAfter(time.Second, "later: %w", cause)), 1},
		{fmt.Errorf("wrapped: %w", Terminal("never: %w", cause)), 2},
		{fmt.Errorf("%w: %w", ErrNotServed, cause), 0},
		{fmt.Errorf("%w: %w", ErrNotFound, cause), 2},
		{fmt.Errorf("%w: %w", ErrNotDeclared, cause), 2},
		{RetryAfter(time.Second, "%w: %w", ErrNotFound, cause), 1},
	} {
		if got := lowerFailure(test.err); got.Index != test.want || !errors.Is(test.err, cause) {
			t.Errorf("%v is case %d instead of %d", test.err, got.Index, test.want)
		}
	}
}

func TestAPlanIsNotChangedByPlansThatAreMadeOfIt(t *testing.T) {
	base := Children(thing{Object: Named("a")}).Apply(thing{Object: Named("b")})
	one, other := base.Apply(thing{Object: Named("one")}), base.Apply(thing{Object: Named("other")})
	if len(base.Children) != 2 || string(one.Children[2].Object) == string(other.Children[2].Object) {
		t.Error("two plans share a child")
	}
}

func TestFieldsOfTheParentAreAddedToEachOther(t *testing.T) {
	base := NoChildren().WithParentFields(map[string]any{"spec": map[string]any{"replicas": 0, "paused": true}}).WithParentLabel("a", "1")
	plan := base.WithParentAnnotation("b", "2").WithParentLabel("c", "3").WithParentFields(map[string]any{"spec": map[string]int{"replicas": 1}})
	want := `{"metadata":{"annotations":{"b":"2"},"labels":{"a":"1","c":"3"}},"spec":{"paused":true,"replicas":1}}`
	if got := string(plan.ParentFields); got != want || plan.err != nil {
		t.Errorf("%s instead of %s (%v)", got, want, plan.err)
	}
	if got := string(base.ParentFields); got != `{"metadata":{"labels":{"a":"1"}},"spec":{"paused":true,"replicas":0}}` {
		t.Errorf("the plan before is changed: %s", got)
	}
}

type settings struct {
	Count  int    `json:"count" doc:"How many."`
	Prefix string `json:"prefix,omitempty"`
}

type defaulted struct {
	settings
}

func (d *defaulted) SetDefaults() { d.Count = 3 }

func TestTheSchemaOfSettingsHasTheirDefaults(t *testing.T) {
	plain := `{"additionalProperties":false,"properties":{"count":{"description":"How many.","format":"int64","type":"integer"},"prefix":{"type":"string"}},"required":["count"],"type":"object"}`
	if got := string(settingsSchema[settings]()); got != plain {
		t.Errorf("got %s", got)
	}
	withDefaults := `{"additionalProperties":false,"properties":{"count":{"default":3,"description":"How many.","format":"int64","type":"integer"},"prefix":{"type":"string"}},"type":"object"}`
	if got := string(settingsSchema[defaulted]()); got != withDefaults {
		t.Errorf("got %s", got)
	}
	if got, err := parseSettings[defaulted]([]byte(`{}`)); err != nil || got.Count != 3 {
		t.Errorf("got %v, %v", got, err)
	}
}
