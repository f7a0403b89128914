package gyre

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// CustomResource describes a kind of one's own: see CRD.
type CustomResource struct {
	Kind GroupVersionKind
	// Description is what kubectl explain shows.
	Description string
	// Plural is the name in paths, in lower case. Empty forms it from the kind, as kubebuilder does.
	Plural string
	// ShortNames and Categories are further names for kubectl get.
	ShortNames, Categories []string
	// ClusterScoped objects are in no namespace.
	ClusterScoped bool
	// Columns are those of kubectl get, after the name.
	Columns []Column
	// Conditions describes the conditions in the status. Empty is a general description.
	Conditions string
}

// Column is a column of kubectl get. See ConditionColumn and AgeColumn.
type Column struct {
	Name string `json:"name"`
	// Type is string, integer, number, boolean or date.
	Type string `json:"type"`
	// JSONPath says where the value is, such as .spec.replicas.
	JSONPath string `json:"jsonPath"`
	// Priority above 0 shows the column with -o wide only.
	Priority int `json:"priority,omitempty"`
}

// AgeColumn shows the age of an object.
func AgeColumn() Column {
	return Column{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}
}

// ConditionColumn shows the status of a condition.
func ConditionColumn(conditionType string) Column {
	path := fmt.Sprintf(".status.conditions[?(@.type==%q)].status", conditionType)
	return Column{Name: conditionType, Type: "string", JSONPath: path}
}

// CRD returns the CustomResourceDefinition of a kind with this spec and status, in JSON. The schema
// follows the Go types and the tags of their fields:
//
//	type WebsiteSpec struct {
//		Image    string `json:"image" doc:"The image of the server." minLength:"1"`
//		Replicas int32  `json:"replicas,omitempty" default:"2" maximum:"9"`
//		Tier     string `json:"tier,omitempty" enum:"free,paid"`
//	}
//
// A field is required unless it is a pointer, or has omitempty, omitzero or a default. The tags are
// doc, enum, pattern, format, default, minimum, maximum, minLength, maxLength, minItems and maxItems,
// and schema, which is the schema of the field in JSON in place of that of its type.
// The conditions and observedGeneration, which the host writes, are added to the status.
func CRD[Spec, Status any](resource CustomResource) []byte {
	singular := strings.ToLower(resource.Kind.Kind)
	names := map[string]any{
		"kind":     resource.Kind.Kind,
		"listKind": resource.Kind.Kind + "List",
		"plural":   resource.Plural,
		"singular": singular,
	}
	if resource.Plural == "" {
		names["plural"] = plural(singular)
	}
	addList(names, "shortNames", resource.ShortNames)
	addList(names, "categories", resource.Categories)
	scope := "Namespaced"
	if resource.ClusterScoped {
		scope = "Cluster"
	}
	version := map[string]any{
		"name":         resource.Kind.Version,
		"served":       true,
		"storage":      true,
		"subresources": map[string]any{"status": map[string]any{}},
		"schema":       map[string]any{"openAPIV3Schema": schemaOfObjects[Spec, Status](resource)},
	}
	addList(version, "additionalPrinterColumns", resource.Columns)
	text, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": fmt.Sprintf("%s.%s", names["plural"], resource.Kind.Group)},
		"spec": map[string]any{
			"group":    resource.Kind.Group,
			"names":    names,
			"scope":    scope,
			"versions": []any{version},
		},
	})
	if err != nil {
		panic(err)
	}
	return text
}

func addList[T any](to map[string]any, name string, list []T) {
	if len(list) > 0 {
		to[name] = list
	}
}

func schemaOfObjects[Spec, Status any](resource CustomResource) map[string]any {
	if t := reflect.TypeFor[Status](); t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("the status %s is no struct", t))
	}
	status := (&schemas{}).of(reflect.TypeFor[Status]())
	// A status that the host has only begun has none of the plugin's fields.
	delete(status, "required")
	fields := status["properties"].(map[string]any)
	for name, schema := range statusOfTheHost(resource.Conditions) {
		fields[name] = schema
	}
	schema := map[string]any{
		"type":     "object",
		"required": []string{"spec"},
		"properties": map[string]any{
			"apiVersion": map[string]any{"type": "string"},
			"kind":       map[string]any{"type": "string"},
			"metadata":   map[string]any{"type": "object"},
			"spec":       (&schemas{}).of(reflect.TypeFor[Spec]()),
			"status":     status,
		},
	}
	if resource.Description != "" {
		schema["description"] = resource.Description
	}
	return schema
}

// hostCondition is a condition in a status, with the limits of the Kubernetes API.
type hostCondition struct {
	Type               string `json:"type" maxLength:"316"`
	Status             string `json:"status" enum:"True,False,Unknown"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty" minimum:"0"`
	LastTransitionTime string `json:"lastTransitionTime" format:"date-time"`
	Reason             string `json:"reason" minLength:"1" maxLength:"1024"`
	Message            string `json:"message" maxLength:"32768"`
}

// statusOfTheHost returns the schemas of the fields that the host writes.
func statusOfTheHost(conditions string) map[string]any {
	if conditions == "" {
		conditions = "The conditions of the object, one for each type."
	}
	return map[string]any{
		"observedGeneration": map[string]any{
			"type":        "integer",
			"format":      "int64",
			"description": "The generation of the spec that this status is about.",
		},
		"conditions": map[string]any{
			"type":                       "array",
			"description":                conditions,
			"x-kubernetes-list-type":     "map",
			"x-kubernetes-list-map-keys": []string{"type"},
			"items":                      (&schemas{}).of(reflect.TypeFor[hostCondition]()),
		},
	}
}

// plural returns the plural of a kind as kubebuilder forms it.
func plural(singular string) string {
	stem, endsInY := strings.CutSuffix(singular, "y")
	if endsInY && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeiou") {
		return stem + "ies"
	}
	for _, ending := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(singular, ending) {
			return singular + "es"
		}
	}
	return singular + "s"
}
