package k8s

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// IntOrString is a number or a text, such as a port or a percentage. The zero value is left out.
type IntOrString struct {
	number int32
	text   string
	isText bool
}

// FromInt returns a number.
func FromInt(number int32) IntOrString { return IntOrString{number: number} }

// FromString returns a text, such as the name of a port, or 25%.
func FromString(text string) IntOrString { return IntOrString{text: text, isText: true} }

// Int returns the number, and whether it is one.
func (v IntOrString) Int() (int32, bool) { return v.number, !v.isText }

// String returns the text, or the number in digits.
func (v IntOrString) String() string {
	if v.isText {
		return v.text
	}
	return strconv.Itoa(int(v.number))
}

// MarshalJSON returns the number or the text in JSON.
func (v IntOrString) MarshalJSON() ([]byte, error) {
	if v.isText {
		return json.Marshal(v.text)
	}
	return json.Marshal(v.number)
}

// UnmarshalJSON reads a number or a text.
func (v *IntOrString) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*v = IntOrString{isText: true}
		return json.Unmarshal(text, &v.text)
	}
	*v = IntOrString{}
	return json.Unmarshal(text, &v.number)
}

// OpenAPISchemaType returns the type for the schema of a CRD.
func (IntOrString) OpenAPISchemaType() []string { return []string{"string"} }

// OpenAPISchemaFormat returns the format for the schema of a CRD.
func (IntOrString) OpenAPISchemaFormat() string { return "int-or-string" }

// microseconds is how the API server writes and reads a MicroTime.
const microseconds = "2006-01-02T15:04:05.000000Z07:00"

// MicroTime is a time with microseconds.
type MicroTime struct{ time.Time }

// MarshalJSON returns the time with six digits after the seconds.
func (t MicroTime) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%q", t.UTC().Format(microseconds)), nil
}

// OpenAPISchemaType returns the type for the schema of a CRD.
func (MicroTime) OpenAPISchemaType() []string { return []string{"string"} }

// OpenAPISchemaFormat returns the format for the schema of a CRD.
func (MicroTime) OpenAPISchemaFormat() string { return "date-time" }
