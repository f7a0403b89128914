package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// record says what decoding an object of one definition and encoding it again does to its fields. Everywhere null counts as
// absent, and fields that are not named are left as they are. Never named: apiVersion and kind.
type record struct {
	// Dropped when they hold "", 0, false, or a struct of which nothing is left.
	OmitZero []string `json:"omitZero,omitempty"`
	// Lists and maps that are dropped when they are empty.
	OmitEmpty []string `json:"omitEmpty,omitempty"`
	// What is rendered when the field is absent. A list or map for which that is null is rendered so when it is empty, too,
	// once it has been stored, since protobuf cannot tell the two apart.
	Always map[string]json.RawMessage `json:"always,omitempty"`
}

// A field as encoding/json sees it.
type field struct {
	name      string
	index     []int
	goType    reflect.Type
	omitEmpty bool
	omitZero  bool
	// It is apiVersion or kind.
	isType bool
}

// fieldsOf lists the fields that an object of the struct has in JSON, those of embedded structs included.
func fieldsOf(structType reflect.Type) []field {
	var fields []field
	for i := range structType.NumField() {
		goField := structType.Field(i)
		name, options, _ := strings.Cut(goField.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		if goField.Anonymous && name == "" {
			for _, inner := range fieldsOf(goField.Type) {
				inner.isType = inner.isType || goField.Type == reflect.TypeFor[metav1.TypeMeta]()
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
			continue
		}
		if !goField.IsExported() {
			continue
		}
		if name == "" {
			name = goField.Name
		}
		has := func(option string) bool {
			for _, one := range strings.Split(options, ",") {
				if one == option {
					return true
				}
			}
			return false
		}
		fields = append(fields, field{name, []int{i}, goField.Type, has("omitempty"), has("omitzero"), false})
	}
	return fields
}

// modelName is the name of a type's OpenAPI definition, if it has one.
func modelName(goType reflect.Type) string {
	if named, ok := reflect.Zero(goType).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return ""
}

// isObject says whether values of the type are JSON objects with the fields that the type has, not something that a method
// of its own makes of it (times, quantities, raw JSON).
func isObject(goType reflect.Type) bool {
	if goType.Kind() != reflect.Struct {
		return false
	}
	pointer := reflect.PointerTo(goType)
	return !pointer.Implements(reflect.TypeFor[json.Marshaler]()) && !pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// describeTypes describes every definition that the kinds of these versions reach. A definition without a type is an error.
func describeTypes(versions map[schema.GroupVersion]bool, schemas map[string]openAPISchema) (map[string]record, error) {
	reached := map[string]reflect.Type{}
	for gvk, goType := range legacyscheme.Scheme.AllKnownTypes() {
		if versions[gvk.GroupVersion()] {
			reach(goType, reached)
		}
	}
	records := map[string]record{}
	for _, name := range sortedKeys(schemas) {
		goType, found := reached[name]
		if !found {
			if len(schemas[name].Properties) == 0 {
				continue
			}
			return nil, fmt.Errorf("no Go type is known for the definition %s", name)
		}
		if !isObject(goType) {
			continue
		}
		described, err := describe(goType)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(described.OmitZero)+len(described.OmitEmpty)+len(described.Always) > 0 {
			records[name] = described
		}
	}
	return records, nil
}

// reach collects the types that values of a type can hold, by the names of their definitions.
func reach(goType reflect.Type, reached map[string]reflect.Type) {
	switch goType.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		reach(goType.Elem(), reached)
	case reflect.Struct:
		if name := modelName(goType); name != "" {
			if _, known := reached[name]; known {
				return
			}
			reached[name] = goType
		}
		for i := range goType.NumField() {
			if goType.Field(i).IsExported() {
				reach(goType.Field(i).Type, reached)
			}
		}
	}
}

func describe(structType reflect.Type) (record, error) {
	var described record
	for _, field := range fieldsOf(structType) {
		switch kind := field.goType.Kind(); {
		case field.isType:
		case field.omitZero:
			if kind == reflect.Slice || kind == reflect.Map {
				return described, fmt.Errorf("%s: omitzero of a list or map has no place in the format", field.name)
			}
			if kind != reflect.Pointer {
				described.OmitZero = append(described.OmitZero, field.name)
			}
		case field.omitEmpty && kind == reflect.Pointer:
		case field.omitEmpty && (kind == reflect.Slice || kind == reflect.Map):
			described.OmitEmpty = append(described.OmitEmpty, field.name)
		case field.omitEmpty && kind != reflect.Struct:
			described.OmitZero = append(described.OmitZero, field.name)
		default:
			rendered, err := json.Marshal(reflect.Zero(field.goType).Interface())
			if err != nil {
				return described, fmt.Errorf("%s: %w", field.name, err)
			}
			if described.Always == nil {
				described.Always = map[string]json.RawMessage{}
			}
			described.Always[field.name] = rendered
		}
	}
	sort.Strings(described.OmitZero)
	sort.Strings(described.OmitEmpty)
	return described, nil
}
