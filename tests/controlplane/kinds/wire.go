package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// wire says how objects are written in protobuf: which message a kind is, by apiVersion and kind, and what the fields of
// the messages are, by message and number.
type wire struct {
	Kinds    map[string]map[string]string       `json:"kinds"`
	Messages map[string]map[string]messageField `json:"messages"`
}

// messageField is a field of a message, beside what it is in JSON.
type messageField struct {
	// In JSON. Empty: the fields of the message are those of the one around.
	Name string `json:"name,omitempty"`
	// In Go, which errors name.
	Go string `json:"go"`
	// string, bytes, bool, int32, int64, double, a message, or one of specialTypes: what a list's items or a map's values
	// are, if it is one. Keys of maps are strings.
	Type string `json:"type"`
	Many string `json:"many,omitempty"`
	// Its zero value is not in JSON.
	OmitZero bool `json:"omitZero,omitempty"`
}

// specialTypes are the messages whose JSON is made by a method of the type.
var specialTypes = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                                  "time",
	reflect.TypeFor[metav1.MicroTime]():                             "microTime",
	reflect.TypeFor[resource.Quantity]():                            "quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "intOrString",
	reflect.TypeFor[runtime.RawExtension]():                         "json",
	reflect.TypeFor[metav1.FieldsV1]():                              "json",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "json",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "schemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "schemaOrSchemas",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "schemaOrStrings",
	reflect.TypeFor[authenticationv1.ExtraValue]():                  "texts",
	reflect.TypeFor[authorizationv1.ExtraValue]():                   "texts",
	reflect.TypeFor[certificatesv1.ExtraValue]():                    "texts",
}

// message is what objects of all kinds are to protobuf.
type message interface {
	runtime.Object
	runtime.ProtobufMarshaller
	Marshal() ([]byte, error)
}

// bodies lists those of the kinds that a request can have in its body, and the options that one can have there.
func bodies(roots map[schema.GroupVersionKind]reflect.Type) map[schema.GroupVersionKind]reflect.Type {
	kinds := map[schema.GroupVersionKind]reflect.Type{}
	for gvk, goType := range roots {
		if reflect.PointerTo(goType).Implements(reflect.TypeFor[message]()) && !strings.HasSuffix(gvk.Kind, "Options") {
			kinds[gvk] = goType
		}
		kinds[gvk.GroupVersion().WithKind("DeleteOptions")] = reflect.TypeFor[metav1.DeleteOptions]()
	}
	return kinds
}

func describeWire(kinds map[schema.GroupVersionKind]reflect.Type) (*wire, error) {
	described := wire{map[string]map[string]string{}, map[string]map[string]messageField{}}
	for gvk, goType := range kinds {
		name, err := described.add(goType)
		if err != nil {
			return nil, err
		}
		version := gvk.GroupVersion().String()
		if described.Kinds[version] == nil {
			described.Kinds[version] = map[string]string{}
		}
		described.Kinds[version][gvk.Kind] = name
	}
	return &described, nil
}

// add describes a message and those that it holds, and returns its name.
func (w *wire) add(structType reflect.Type) (string, error) {
	// Messages that OpenAPI does not know are those that are never alone: only the fields are seen in JSON.
	name := modelName(structType)
	if name == "" {
		name = strings.ReplaceAll(structType.PkgPath(), "/", ".") + "." + structType.Name()
	}
	if _, known := w.Messages[name]; known {
		return name, nil
	}
	fields := map[string]messageField{}
	w.Messages[name] = fields
	for i := range structType.NumField() {
		goField := structType.Field(i)
		tag := strings.Split(goField.Tag.Get("protobuf"), ",")
		if len(tag) < 3 {
			if goField.IsExported() && goField.Type != reflect.TypeFor[metav1.TypeMeta]() {
				return "", fmt.Errorf("%s.%s has no number", name, goField.Name)
			}
			continue
		}
		if _, err := strconv.Atoi(tag[1]); err != nil {
			return "", fmt.Errorf("%s.%s: %w", name, goField.Name, err)
		}
		described, err := w.field(goField)
		if err != nil {
			return "", fmt.Errorf("%s.%s: %w", name, goField.Name, err)
		}
		fields[tag[1]] = described
	}
	return name, nil
}

// field describes a field by its Go type: what the tag says of the encoding is not always true (ListMeta.remainingItemCount),
// and the generated code does not look at it.
func (w *wire) field(goField reflect.StructField) (messageField, error) {
	name, options, _ := strings.Cut(goField.Tag.Get("json"), ",")
	described := messageField{Name: name, Go: goField.Name}
	if name == "" && !goField.Anonymous {
		return described, fmt.Errorf("it has no name in JSON")
	}
	goType := goField.Type
	switch {
	case goType.Kind() == reflect.Map && goType.Key().Kind() == reflect.String:
		described.Many, goType = "map", goType.Elem()
	case goType.Kind() == reflect.Slice && goType.Elem().Kind() != reflect.Uint8:
		described.Many, goType = "list", goType.Elem()
	case goType.Kind() != reflect.Pointer && goType.Kind() != reflect.Struct:
		described.OmitZero = strings.Contains(options, "omit")
	}
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	var err error
	described.Type, err = w.typeName(goType)
	return described, err
}

func (w *wire) typeName(goType reflect.Type) (string, error) {
	if name, special := specialTypes[goType]; special {
		if !strings.HasPrefix(name, "schema") {
			return name, nil
		}
		_, err := w.add(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
		return name, err
	}
	switch goType.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return goType.Kind().String(), nil
	case reflect.Float64:
		return "double", nil
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "bytes", nil
		}
	case reflect.Struct:
		if isObject(goType) {
			return w.add(goType)
		}
	}
	return "", fmt.Errorf("%v has no place in the format", goType)
}

// sample is an object in both encodings.
type sample struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Protobuf   []byte          `json:"protobuf"`
	JSON       json.RawMessage `json:"json"`
}

// drawSamples makes an object of every kind. Together they have every field of every message, with a value that no other
// field around has.
func drawSamples(kinds map[schema.GroupVersionKind]reflect.Type) ([]sample, error) {
	names := map[string]schema.GroupVersionKind{}
	for gvk := range kinds {
		names[gvk.String()] = gvk
	}
	filler := filler{full: map[reflect.Type]bool{}}
	var samples []sample
	for _, name := range sortedKeys(names) {
		gvk := names[name]
		object := reflect.New(kinds[gvk])
		filler.fill(object.Elem())
		object.Interface().(runtime.Object).GetObjectKind().SetGroupVersionKind(gvk)
		encoded, err := object.Interface().(message).Marshal()
		if err != nil {
			return nil, fmt.Errorf("%v: %w", gvk, err)
		}
		rendered, err := json.Marshal(object.Interface())
		if err != nil {
			return nil, fmt.Errorf("%v: %w", gvk, err)
		}
		samples = append(samples, sample{gvk.GroupVersion().String(), gvk.Kind, encoded, rendered})
	}
	return samples, nil
}

// filler sets fields to values of their own.
type filler struct {
	count int64
	// The structs that some sample has in full.
	full map[reflect.Type]bool
}

func (f *filler) fill(value reflect.Value) {
	f.count++
	text := fmt.Sprintf("v%d", f.count)
	switch at := value.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return
	case *metav1.Time:
		*at = metav1.Unix(f.count*86_399, 0)
		return
	case *metav1.MicroTime:
		*at = metav1.NewMicroTime(time.Unix(-f.count, f.count*1000))
		return
	case *resource.Quantity:
		*at = *resource.NewMilliQuantity(f.count, resource.DecimalSI)
		return
	case *intstr.IntOrString:
		*at = intstr.FromString(text)
		if f.count%2 == 0 {
			*at = intstr.FromInt32(-int32(f.count))
		}
		return
	case *runtime.RawExtension:
		at.Raw = []byte(`{"raw":"` + text + `"}`)
		return
	case *metav1.FieldsV1:
		at.SetRawString(`{"f:` + text + `":{}}`)
		return
	case *apiextensionsv1.JSON:
		at.Raw = []byte(`["` + text + `",1.5,null]`)
		return
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		at.Allows, at.Schema = true, &apiextensionsv1.JSONSchemaProps{ID: text}
		if f.count%2 == 0 {
			at.Schema = nil
		}
		return
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		at.Schema = &apiextensionsv1.JSONSchemaProps{ID: text}
		return
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		at.Property = []string{text}
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(text)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(f.count * (1 - 2*(f.count%2)))
	case reflect.Float64:
		value.SetFloat(float64(f.count) / 4)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		f.fill(value.Elem())
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte(text))
			return
		}
		value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		f.fill(value.Index(0))
		f.fill(value.Index(1))
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		element := reflect.New(value.Type().Elem()).Elem()
		f.fill(element)
		value.SetMapIndex(reflect.ValueOf("key"+text).Convert(value.Type().Key()), element)
	case reflect.Struct:
		if f.full[value.Type()] {
			return
		}
		f.full[value.Type()] = true
		for i := range value.NumField() {
			f.fill(value.Field(i))
		}
	}
}
