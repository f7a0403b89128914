package gyre

import (
	"encoding/json"
	"reflect"
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

// settingsSchema returns the JSON Schema of settings, or nil if there are none.
func settingsSchema[S any]() []byte {
	t := reflect.TypeFor[S]()
	if t == reflect.TypeFor[NoSettings]() {
		return nil
	}
	schema := (&schemas{closed: true}).of(t)
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
