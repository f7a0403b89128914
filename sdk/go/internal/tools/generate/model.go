package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Selection is the kinds to generate.
type Selection struct {
	// Groups are API groups with their version, as in apiVersion.
	Groups []string
	// Without are kinds of these groups that are left out, e.g. "v1 Binding".
	Without []string
}

var selection = Selection{
	Groups: []string{
		"v1",
		"apps/v1",
		"autoscaling/v2",
		"batch/v1",
		"coordination.k8s.io/v1",
		"discovery.k8s.io/v1",
		"events.k8s.io/v1",
		"networking.k8s.io/v1",
		"policy/v1",
		"rbac.authorization.k8s.io/v1",
		"scheduling.k8s.io/v1",
		"storage.k8s.io/v1",
	},
	// Subresources and kinds without a use of their own; Event and EndpointSlice of the new groups
	// replace Event and Endpoints. Secret has values that the host makes, and is written by hand.
	Without: []string{
		"v1 Binding",
		"v1 ComponentStatus",
		"v1 Endpoints",
		"v1 Event",
		"v1 PodTemplate",
		"v1 ReplicationController",
		"v1 Secret",
		"policy/v1 Eviction",
	},
}

// module is the types of a file.
type module struct {
	objects []*object
	choices []choice
}

// object is a struct.
type object struct {
	name, description string
	// apiVersion is that of a kind, and empty for other types.
	apiVersion string
	fields     []field
}

// field is a field of a struct.
type field struct {
	json, description string
	// goType is the type of the field, e.g. *int32.
	goType string
	// omit is the option by which encoding/json leaves out a field that is not set.
	omit string
}

// choice is a string type with its values.
type choice struct {
	name   string
	values []string
}

// handwritten are the types that are not generated, by the last label of their schemas.
var handwritten = map[string]string{
	"ObjectMeta":     "gyre.ObjectMeta",
	"OwnerReference": "gyre.OwnerReference",
	"IntOrString":    "IntOrString",
	"MicroTime":      "MicroTime",
}

// emptyMatters are the strings whose empty value differs from an absent one.
var emptyMatters = []string{
	"PersistentVolumeClaimSpec.storageClassName",
	"PersistentVolumeClaimSpec.volumeAttributesClassName",
	"PersistentVolumeSpec.volumeAttributesClassName",
}

// builder collects the types that the selected kinds need.
type builder struct {
	*source
	choiceNames map[choiceKey]string
	waiting     []string
	seen        map[string]bool
	modules     map[string]*module
}

// modulesOf returns the types of the selected kinds, by module: core, batch, and so on.
func modulesOf(source *source, selection Selection) map[string]*module {
	b := &builder{source: source, seen: map[string]bool{}, modules: map[string]*module{}}
	kinds := map[string]string{}
	for id, schema := range source.schemas {
		if apiVersion := selection.apiVersion(schema); apiVersion != "" {
			kinds[id] = apiVersion
		}
	}
	b.nameChoices(b.reachable(slices.Sorted(maps.Keys(kinds))))
	for id := range kinds {
		b.reach(id)
	}
	for len(b.waiting) > 0 {
		id := b.waiting[0]
		b.waiting = b.waiting[1:]
		module := b.module(moduleOf(id))
		module.objects = append(module.objects, b.object(id, kinds[id]))
	}
	for _, module := range b.modules {
		slices.SortFunc(module.objects, func(a, b *object) int {
			isKind := func(o *object) int {
				if o.apiVersion != "" {
					return 0
				}
				return 1
			}
			return cmp.Or(isKind(a)-isKind(b), strings.Compare(a.name, b.name))
		})
		slices.SortFunc(module.choices, func(a, b choice) int { return strings.Compare(a.name, b.name) })
	}
	return b.modules
}

// apiVersion returns that of a schema that is a selected kind of objects, or "".
func (s Selection) apiVersion(schema *schema) string {
	metadata := schema.Properties["metadata"]
	if len(schema.Kinds) != 1 || metadata == nil || last(metadata.target()) != "ObjectMeta" {
		return ""
	}
	kind := schema.Kinds[0]
	apiVersion := strings.TrimPrefix(kind.Group+"/"+kind.Version, "/")
	isSelected := slices.Contains(s.Groups, apiVersion) && !slices.Contains(s.Without, apiVersion+" "+kind.Kind)
	if !isSelected {
		return ""
	}
	return apiVersion
}

// last returns the last label of a schema's name.
func last(id string) string { return id[strings.LastIndexByte(id, '.')+1:] }

// moduleOf returns the module of a schema: io.k8s.api.batch.v1.Job is of batch, and
// io.k8s.apimachinery.pkg.apis.meta.v1.Condition is of meta.
func moduleOf(id string) string {
	labels := strings.Split(id, ".")
	return labels[len(labels)-3]
}

func (b *builder) module(name string) *module {
	if b.modules[name] == nil {
		b.modules[name] = &module{}
	}
	return b.modules[name]
}

func (b *builder) reach(id string) {
	if !b.seen[id] {
		b.seen[id] = true
		b.waiting = append(b.waiting, id)
	}
}

// reachable returns the schemas that become structs, sorted.
func (b *builder) reachable(kinds []string) []string {
	seen := map[string]bool{}
	waiting := slices.Clone(kinds)
	for len(waiting) > 0 {
		id := waiting[0]
		waiting = waiting[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		for _, property := range b.schemas[id].Properties {
			if inner := b.structOf(property); inner != "" {
				waiting = append(waiting, inner)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// structOf returns the name of the schema of the struct in a field, also if it is in a list or map,
// or "".
func (b *builder) structOf(property *schema) string {
	switch {
	case property.Items != nil:
		return b.structOf(property.Items)
	case property.AdditionalProperties != nil:
		return b.structOf(property.AdditionalProperties)
	}
	id := property.target()
	referred := b.schemas[id]
	if referred == nil || len(referred.Properties) == 0 || handwritten[last(id)] != "" {
		return ""
	}
	return id
}

func (b *builder) object(id, apiVersion string) *object {
	schema := b.schemas[id]
	object := &object{name: last(id), description: schema.Description, apiVersion: apiVersion}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		isOfObject := name == "apiVersion" || name == "kind" || name == "metadata"
		if apiVersion != "" && isOfObject {
			continue
		}
		object.fields = append(object.fields, b.field(id, name, schema.Properties[name]))
	}
	return object
}

func (b *builder) field(owner, name string, property *schema) field {
	field := field{json: name, description: property.Description, goType: b.typeOf(owner, name, property), omit: "omitempty"}
	zero, isAlways := b.encoding[owner].Always[name]
	isPlain := (isAlways && zero != nil) || slices.Contains(b.encoding[owner].OmitZero, name)
	isPointer := !isPlain
	switch field.goType {
	case "string":
		isPointer = slices.Contains(emptyMatters, last(owner)+"."+name)
	case "any":
		isPointer = false
	case "time.Time", "MicroTime":
		isPointer = true
	case "bool", "int32", "int64", "float64":
	default:
		isStruct := !b.isChoice(owner, name) && !strings.HasPrefix(field.goType, "[]") && !strings.HasPrefix(field.goType, "map[")
		isPointer = isPointer && isStruct
		if isStruct && !isPointer {
			field.omit = "omitzero"
		}
	}
	if isPointer {
		field.goType = "*" + field.goType
	}
	return field
}

// typeOf returns the type of a field, of the elements of a list, or of the values of a map.
func (b *builder) typeOf(owner, name string, property *schema) string {
	if id := property.target(); id != "" {
		return b.referred(id)
	}
	switch property.Type {
	case "string":
		return b.stringType(owner, name, property)
	case "boolean":
		return "bool"
	case "number":
		return "float64"
	case "integer":
		if property.Format == "int32" {
			return "int32"
		}
		return "int64"
	case "array":
		return "[]" + b.typeOf(owner, name, property.Items)
	case "object":
		if property.AdditionalProperties != nil {
			return "map[string]" + b.typeOf(owner, name, property.AdditionalProperties)
		}
	}
	return "any"
}

func (b *builder) stringType(owner, name string, property *schema) string {
	switch {
	case property.Format == "byte":
		return "[]byte"
	case b.isChoice(owner, name):
		return b.choiceNames[choiceKey{owner, name}]
	default:
		return "string"
	}
}

func (b *builder) referred(id string) string {
	name := last(id)
	if written, ok := handwritten[name]; ok {
		return written
	}
	switch name {
	case "Quantity":
		return "string"
	case "Time":
		return "time.Time"
	}
	if b.schemas[id] == nil || len(b.schemas[id].Properties) == 0 {
		return "any"
	}
	b.reach(id)
	return name
}
