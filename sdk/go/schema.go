package gyre

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schemas builds JSON Schemas of types. A field is required unless it is a pointer, or has omitempty,
// omitzero or the tag default. These tags of a field become keywords: doc (the description), enum
// (values with commas between them), pattern, format, default, minimum, maximum, minLength, maxLength,
// minItems and maxItems. The tag schema is the whole schema of the field, in JSON.
type schemas struct {
	// closed refuses properties that a struct does not have.
	closed bool
	// around are the structs that contain the type at hand.
	around []reflect.Type
}

// openAPI is implemented by types of k8s.io/apimachinery, such as Time, Quantity and IntOrString.
type openAPI interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

func ofAnyType() map[string]any { return map[string]any{"x-kubernetes-preserve-unknown-fields": true} }

func (s *schemas) of(t reflect.Type) map[string]any {
	if schema := declared(t); schema != nil {
		return schema
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32:
		return map[string]any{"type": "integer", "format": "int32"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer", "format": "int64"}
	case reflect.Int8, reflect.Int16:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return s.ofList(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.ofStruct(t)
	default:
		return ofAnyType()
	}
}

// declared returns the schema of a type that has a form of its own in JSON, or nil.
func declared(t reflect.Type) map[string]any {
	value := reflect.New(t).Interface()
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	if declares, ok := value.(openAPI); ok {
		format := declares.OpenAPISchemaFormat()
		if format == "int-or-string" {
			return map[string]any{"x-kubernetes-int-or-string": true}
		}
		schema := map[string]any{"type": declares.OpenAPISchemaType()[0]}
		if format != "" {
			schema["format"] = format
		}
		return schema
	}
	if _, ok := value.(json.Marshaler); ok {
		return ofAnyType()
	}
	if _, ok := value.(encoding.TextMarshaler); ok {
		return map[string]any{"type": "string"}
	}
	return nil
}

func (s *schemas) ofList(t reflect.Type) map[string]any {
	isBytes := t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	if isBytes {
		return map[string]any{"type": "string", "format": "byte"}
	}
	return map[string]any{"type": "array", "items": s.of(t.Elem())}
}

func (s *schemas) ofStruct(t reflect.Type) map[string]any {
	if slices.Contains(s.around, t) {
		panic(fmt.Sprintf("%s contains itself: such a type has no schema", t))
	}
	s.around = append(s.around, t)
	defer func() { s.around = s.around[:len(s.around)-1] }()

	properties, required := map[string]any{}, []string{}
	s.addFields(t, properties, &required)
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	if s.closed {
		schema["additionalProperties"] = false
	}
	return schema
}

func (s *schemas) addFields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		isInlined := field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct
		if isInlined {
			s.addFields(field.Type, properties, required)
			continue
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		schema := s.ofField(field)
		addKeywords(schema, field)
		properties[name] = schema
		_, hasDefault := schema["default"]
		isOptional := hasDefault || field.Type.Kind() == reflect.Pointer || strings.Contains(options, "omit")
		if !isOptional {
			*required = append(*required, name)
		}
	}
}

func (s *schemas) ofField(field reflect.StructField) map[string]any {
	text, ok := field.Tag.Lookup("schema")
	if !ok {
		return s.of(field.Type)
	}
	var schema map[string]any
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		panic(fmt.Sprintf("the tag schema:%q of the field %s is no object in JSON: %v", text, field.Name, err))
	}
	return schema
}

// addKeywords adds the keywords in the tags of a field to its schema.
func addKeywords(schema map[string]any, field reflect.StructField) {
	for tag, keyword := range map[string]string{"doc": "description", "pattern": "pattern", "format": "format"} {
		if text, ok := field.Tag.Lookup(tag); ok {
			schema[keyword] = text
		}
	}
	for _, keyword := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if text, ok := field.Tag.Lookup(keyword); ok {
			schema[keyword] = keywordValue(field, keyword, text, "number")
		}
	}
	if text, ok := field.Tag.Lookup("default"); ok {
		schema["default"] = keywordValue(field, "default", text, schema["type"])
	}
	if text, ok := field.Tag.Lookup("enum"); ok {
		var values []any
		for _, value := range strings.Split(text, ",") {
			values = append(values, keywordValue(field, "enum", value, schema["type"]))
		}
		schema["enum"] = values
	}
}

// keywordValue returns the value of a tag: JSON, or the text itself where a string is expected.
func keywordValue(field reflect.StructField, tag, text string, expected any) any {
	if expected == "string" {
		return text
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		panic(fmt.Sprintf("the tag %s:%q of the field %s is not JSON: %v", tag, text, field.Name, err))
	}
	return value
}
