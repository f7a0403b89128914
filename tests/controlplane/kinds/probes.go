package main

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A place is a struct somewhere in a root object: the fields that lead to it, one after the other. Pointers on the way are
// set, lists on the way have one element, and everything else in the object is absent.
type place []field

func (p place) String() string {
	var path strings.Builder
	for _, step := range p {
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(step.name)
		if step.goType.Kind() == reflect.Slice {
			path.WriteString("[]")
		}
	}
	return path.String()
}

// places visits every place under a type, the root first. Types that hold themselves are entered once.
func places(goType reflect.Type, at place, inside []reflect.Type, visit func(place)) error {
	for _, outer := range inside {
		if outer == goType {
			return nil
		}
	}
	visit(at)
	inside = append(inside, goType)
	for _, field := range fieldsOf(goType) {
		element := field.goType
		switch element.Kind() {
		case reflect.Pointer, reflect.Slice:
			element = element.Elem()
		case reflect.Map:
			if isObject(element.Elem()) && !strings.HasSuffix(element.Elem().Name(), "JSONSchemaProps") {
				return fmt.Errorf("%s.%s: maps of structs are not probed", goType, field.name)
			}
		}
		// What a schema's own keywords hold is the user's.
		if !isObject(element) || element.Name() == "JSONSchemaProps" {
			continue
		}
		next := append(append(place{}, at...), field)
		if err := places(element, next, inside, visit); err != nil {
			return err
		}
	}
	return nil
}

// A setting is a value for one field of one of the structs on the way to a place, counted from the root.
type setting struct {
	depth int
	field field
	value reflect.Value
	// For people: the last part of the definition's name, and the field.
	label string
}

// build makes the object in which a place exists and nothing is set but this.
func build(root reflect.Type, at place, settings []setting) reflect.Value {
	object := reflect.New(root)
	here := object.Elem()
	for depth := 0; ; depth++ {
		for _, setting := range settings {
			if setting.depth == depth {
				here.FieldByIndex(setting.field.index).Set(copyOf(setting.value))
			}
		}
		if depth == len(at) {
			return object
		}
		here = enter(here.FieldByIndex(at[depth].index))
	}
}

func enter(value reflect.Value) reflect.Value {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		return value.Elem()
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		return value.Index(0)
	}
	return value
}

// copyOf copies the containers that settings are made of, so that no two objects share one.
func copyOf(value reflect.Value) reflect.Value {
	switch value.Kind() {
	case reflect.Pointer:
		copied := reflect.New(value.Type().Elem())
		copied.Elem().Set(value.Elem())
		return copied
	case reflect.Slice:
		copied := reflect.MakeSlice(value.Type(), value.Len(), value.Len())
		reflect.Copy(copied, value)
		return copied
	case reflect.Map:
		copied := reflect.MakeMap(value.Type())
		for _, key := range value.MapKeys() {
			copied.SetMapIndex(key, value.MapIndex(key))
		}
		return copied
	}
	return value
}

// settings lists, for every field of every struct on the way to a place, values that it may have. The fields of structs that
// are always there count as the outer one's.
func settings(root reflect.Type, at place, schemas map[string]openAPISchema) []setting {
	var all []setting
	structType := root
	for depth := 0; ; depth++ {
		var next string
		if depth < len(at) {
			next = at[depth].name
		}
		addSettings(structType, schemas, func(field field, values []reflect.Value, label string) {
			for _, value := range values {
				all = append(all, setting{depth, field, value, label})
			}
		}, next)
		if depth == len(at) {
			return all
		}
		structType = at[depth].goType
		if structType.Kind() == reflect.Pointer || structType.Kind() == reflect.Slice {
			structType = structType.Elem()
		}
	}
}

// addSettings lists the examples for every field of a struct but one.
func addSettings(
	structType reflect.Type, schemas map[string]openAPISchema, add func(field, []reflect.Value, string), but string,
) {
	definition := modelName(structType)
	for _, outer := range fieldsOf(structType) {
		if outer.name == but {
			continue
		}
		if isObject(outer.goType) {
			addSettings(outer.goType, schemas, func(inner field, values []reflect.Value, label string) {
				inner.index = append(append([]int{}, outer.index...), inner.index...)
				add(inner, values, label)
			}, "")
			continue
		}
		property := schemas[definition].Properties[outer.name]
		label := definition[strings.LastIndexByte(definition, '.')+1:] + "." + outer.name
		add(outer, examples(outer.goType, append(property.Enum, property.Items.Enum...)), label)
	}
}

// examples of a type that are not its zero value.
func examples(goType reflect.Type, enum []string) []reflect.Value {
	switch goType {
	case reflect.TypeFor[intstr.IntOrString]():
		return []reflect.Value{reflect.ValueOf(intstr.FromInt32(7)), reflect.ValueOf(intstr.FromString("x"))}
	case reflect.TypeFor[resource.Quantity]():
		return []reflect.Value{reflect.ValueOf(resource.MustParse("2"))}
	case reflect.TypeFor[metav1.Time]():
		return []reflect.Value{reflect.ValueOf(metav1.NewTime(time.Unix(1, 0)))}
	}
	var values []reflect.Value
	switch goType.Kind() {
	case reflect.String:
		if enum == nil {
			enum = exampleStrings
		}
		for _, text := range enum {
			if text != "" {
				values = append(values, reflect.ValueOf(text).Convert(goType))
			}
		}
	case reflect.Bool:
		values = append(values, reflect.ValueOf(true).Convert(goType))
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		values = append(values, reflect.ValueOf(7).Convert(goType))
	case reflect.Pointer:
		for _, element := range append(examples(goType.Elem(), enum), reflect.Zero(goType.Elem())) {
			pointer := reflect.New(goType.Elem())
			pointer.Elem().Set(element)
			values = append(values, pointer)
		}
	case reflect.Slice:
		if isObject(goType.Elem()) {
			return []reflect.Value{reflect.MakeSlice(goType, 1, 1)}
		}
		for _, element := range examples(goType.Elem(), enum) {
			values = append(values, reflect.Append(reflect.MakeSlice(goType, 0, 1), element))
		}
	case reflect.Map:
		for _, element := range examples(goType.Elem(), nil) {
			value := reflect.MakeMap(goType)
			value.SetMapIndex(reflect.ValueOf("x").Convert(goType.Key()), element)
			values = append(values, value)
		}
	}
	return values
}

// exampleStrings are examples of strings for which OpenAPI lists no values: any; images with a tag and a digest; and two that
// defaults ask for by name, of a LimitRangeItem's type and of a Subject's kind.
var exampleStrings = []string{"x", "x:1", "x@sha256:" + strings.Repeat("0", 64), "Container", "User"}

// draw picks settings of about every second field at random.
func draw(all []setting, random *rand.Rand) []setting {
	var drawn []setting
	for start := 0; start < len(all); {
		end := start
		for end < len(all) && all[end].depth == all[start].depth && reflect.DeepEqual(all[end].field.index, all[start].field.index) {
			end++
		}
		if random.Intn(2) == 0 {
			drawn = append(drawn, all[start+random.Intn(end-start)])
		}
		start = end
	}
	return drawn
}
