package gyre

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Defaulter is implemented by settings with defaults; all their properties may then be left out.
type Defaulter interface{ SetDefaults() }

func parseSettings[S any](text []byte) (S, error) {
	var settings S
	if reflect.TypeFor[S]() == reflect.TypeFor[NoSettings]() {
		return settings, nil
	}
	if defaulter, ok := any(&settings).(Defaulter); ok {
		defaulter.SetDefaults()
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return settings, err
	}
	if validator, ok := any(&settings).(Validator); ok {
		return settings, validator.Validate()
	}
	return settings, nil
}

// settingsSchema returns the JSON Schema of settings, or nil if there are none. A field is required
// unless it has omitempty or omitzero, or is a pointer; its tag doc is the description.
func settingsSchema[S any]() []byte {
	t := reflect.TypeFor[S]()
	if t == reflect.TypeFor[NoSettings]() {
		return nil
	}
	schema := schemaOf(t)
	if defaulter, ok := any(new(S)).(Defaulter); ok {
		defaulter.SetDefaults()
		addDefaults(schema, defaulter)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err)
	}
	return text
}

// addDefaults adds the values of settings as the defaults of their properties, which are then not
// required.
func addDefaults(schema map[string]any, settings any) {
	text, err := json.Marshal(settings)
	if err != nil {
		panic(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		panic(err)
	}
	delete(schema, "required")
	for name, property := range schema["properties"].(map[string]any) {
		if value, ok := values[name]; ok {
			property.(map[string]any)["default"] = value
		}
	}
}

func schemaOf(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	default:
		return map[string]any{}
	}
}

func structSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || field.Anonymous || name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		schema := schemaOf(field.Type)
		if doc := field.Tag.Get("doc"); doc != "" {
			schema["description"] = doc
		}
		properties[name] = schema
		if field.Type.Kind() != reflect.Pointer && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}
