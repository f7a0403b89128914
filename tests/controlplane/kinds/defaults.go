package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// randomProbes is how often a place is probed with fields set at random, to find what depends on more than one of them.
const randomProbes = 40

// defaults are what the server sets where nothing was: all of it, whether OpenAPI tells it or not. A field's default applies
// wherever an object of its definition is present, those included that a default or a record's Always brought, and the field
// is absent or holds what Always renders for it: Go cannot tell these apart.
type defaults struct {
	// By definition and field, where it is the same wherever the definition is used.
	Definitions map[string]map[string]json.RawMessage `json:"definitions"`
	// By root kind and path of the field, where it is not.
	Paths map[string]map[string]json.RawMessage `json:"paths"`
	// By definition and field, what is set now and then, and is not above: somebody has to write it as code.
	Dependent map[string]map[string]dependent `json:"dependent"`
	// By definition and field, the root kinds in which a value that was there can be dropped or replaced by another.
	Changed map[string]map[string][]string `json:"changed"`
}

// dependent is what is known of a default that is no constant.
type dependent struct {
	// The root kinds in which it was seen.
	In []string `json:"in"`
	// The fields, each after the last part of its definition's name, that were seen to make a difference; none if it takes
	// several of them.
	On []string `json:"on,omitempty"`
}

// unset is the outcome for a field that stays absent.
const unset = ""

// spot is one field of one struct in one root kind.
type spot struct {
	root, path, definition, field string
}

// observation is what became of an absent field, and the fields that made a difference to it.
type observation struct {
	outcomes map[string]bool
	causes   map[string]bool
}

type learner struct {
	seen map[spot]*observation
	// Set fields that have another value afterwards, and these values.
	changed map[spot]map[string]bool
}

func learnDefaults(roots map[schema.GroupVersionKind]reflect.Type, schemas map[string]openAPISchema) (*defaults, error) {
	learner := learner{seen: map[spot]*observation{}, changed: map[spot]map[string]bool{}}
	byName := map[string]schema.GroupVersionKind{}
	for gvk := range roots {
		byName[strings.TrimPrefix(gvk.GroupVersion().String()+"/"+gvk.Kind, "/")] = gvk
	}
	for _, name := range sortedKeys(byName) {
		gvk := byName[name]
		probe := prober{&learner, name, gvk, roots[gvk], schemas}
		var failure error
		err := places(roots[gvk], nil, nil, func(at place) {
			if failure == nil {
				failure = probe.at(at)
			}
		})
		if err == nil {
			err = failure
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return learner.conclude(), nil
}

type prober struct {
	*learner
	name    string
	gvk     schema.GroupVersionKind
	goType  reflect.Type
	schemas map[string]openAPISchema
}

// at probes a place: alone, with each setting, and with settings at random.
func (p prober) at(at place) error {
	alone, err := p.outcomes(at, nil)
	if err != nil {
		return err
	}
	p.note(alone, nil, "")
	all := settings(p.goType, at, p.schemas)
	for _, one := range all {
		if outcomes, err := p.outcomes(at, []setting{one}); err == nil {
			p.note(outcomes, alone, one.label)
		}
	}
	random := rand.New(rand.NewSource(1))
	for range randomProbes {
		// Some combinations cannot be converted; the server rejects them.
		if outcomes, err := p.outcomes(at, draw(all, random)); err == nil {
			p.note(outcomes, nil, "")
		}
	}
	return nil
}

// outcomes says what becomes of the fields of all structs that are there before.
func (p prober) outcomes(at place, settings []setting) (map[spot]string, error) {
	before := build(p.goType, at, settings)
	after, err := p.decode(build(p.goType, at, settings).Interface().(runtime.Object))
	if err != nil {
		return nil, err
	}
	outcomes := map[spot]string{}
	p.compare(before.Elem(), reflect.ValueOf(after).Elem(), "", outcomes)
	return outcomes, nil
}

// decode does what the server's codec does once the bytes are read.
func (p prober) decode(object runtime.Object) (runtime.Object, error) {
	legacyscheme.Scheme.Default(object)
	internal, err := legacyscheme.Scheme.ConvertToVersion(object, schema.GroupVersion{Group: p.gvk.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return nil, err
	}
	return legacyscheme.Scheme.ConvertToVersion(internal, p.gvk.GroupVersion())
}

func (p prober) compare(before, after reflect.Value, path string, outcomes map[spot]string) {
	definition := modelName(before.Type())
	for _, field := range fieldsOf(before.Type()) {
		was, is := before.FieldByIndex(field.index), after.FieldByIndex(field.index)
		here := spot{p.name, strings.TrimPrefix(path+"."+field.name, "."), definition, field.name}
		if isObject(was.Type()) {
			p.compare(was, is, here.path, outcomes)
			continue
		}
		if field.isType && path == "" {
			// The codec sets these; it is not a default of the definition.
			outcomes[here] = unset
			continue
		}
		switch {
		case was.IsZero():
			outcomes[here] = render(is, field)
		case is.IsZero():
			p.change(here, unset)
		case was.Kind() == reflect.Pointer && isObject(was.Type().Elem()):
			p.compare(was.Elem(), is.Elem(), here.path, outcomes)
		case was.Kind() == reflect.Slice && isObject(was.Type().Elem()):
			for i := range min(was.Len(), is.Len()) {
				p.compare(was.Index(i), is.Index(i), here.path+"[]", outcomes)
			}
		case !reflect.DeepEqual(was.Interface(), is.Interface()):
			p.change(here, render(is, field))
		}
	}
}

// render is the value as JSON, or unset where it would be left out.
func render(value reflect.Value, field field) string {
	isContainer := value.Kind() == reflect.Slice || value.Kind() == reflect.Map
	if value.IsZero() || (isContainer && value.Len() == 0 && field.omitEmpty) {
		return unset
	}
	rendered, err := json.Marshal(value.Interface())
	if err != nil {
		// Every type here is one that the server renders.
		panic(err)
	}
	return string(rendered)
}

func (l *learner) change(spot spot, outcome string) {
	if l.changed[spot] == nil {
		l.changed[spot] = map[string]bool{}
	}
	l.changed[spot][outcome] = true
}

// note adds outcomes; where one is not what it was alone, the field that the label names is a cause.
func (l *learner) note(outcomes, alone map[spot]string, label string) {
	for spot, outcome := range outcomes {
		seen := l.seen[spot]
		if seen == nil {
			seen = &observation{map[string]bool{}, map[string]bool{}}
			l.seen[spot] = seen
		}
		seen.outcomes[outcome] = true
		if was, there := alone[spot]; there && was != outcome {
			seen.causes[label] = true
		}
	}
}

func (l *learner) conclude() *defaults {
	learnt := &defaults{
		Definitions: map[string]map[string]json.RawMessage{},
		Paths:       map[string]map[string]json.RawMessage{},
		Dependent:   map[string]map[string]dependent{},
		Changed:     map[string]map[string][]string{},
	}
	type member struct{ definition, field string }
	members := map[member][]spot{}
	for spot := range l.seen {
		member := member{spot.definition, spot.field}
		members[member] = append(members[member], spot)
	}
	for member, spots := range members {
		if value, same := l.constant(spots); same {
			if value != unset {
				put(learnt.Definitions, member.definition, member.field, json.RawMessage(value))
			}
			continue
		}
		for i, spot := range spots {
			if value, same := l.constant(spots[i : i+1]); !same {
				known := learnt.Dependent[spot.definition][spot.field]
				known.In = union(known.In, map[string]bool{spot.root: true})
				known.On = union(known.On, l.seen[spot].causes)
				put(learnt.Dependent, spot.definition, spot.field, known)
			} else if value != unset {
				put(learnt.Paths, spot.root, spot.path, json.RawMessage(value))
			}
		}
	}
	for spot := range l.changed {
		known := learnt.Changed[spot.definition][spot.field]
		put(learnt.Changed, spot.definition, spot.field, union(known, map[string]bool{spot.root: true}))
	}
	return learnt
}

// constant is the one outcome of all these spots, if there is only one. Where values that were there are replaced by others
// than that, it is none: there is code behind it that looks at more than whether the field is there.
func (l *learner) constant(spots []spot) (string, bool) {
	values := map[string]bool{}
	for _, spot := range spots {
		for value := range l.seen[spot].outcomes {
			values[value] = true
			for instead := range l.changed[spot] {
				if value != unset && value != instead {
					return unset, false
				}
			}
		}
	}
	for value := range values {
		return value, len(values) == 1
	}
	return unset, true
}

func put[T any](into map[string]map[string]T, first, second string, value T) {
	if into[first] == nil {
		into[first] = map[string]T{}
	}
	into[first][second] = value
}

func union(list []string, set map[string]bool) []string {
	all := map[string]bool{}
	for _, one := range list {
		all[one] = true
	}
	for one := range set {
		all[one] = true
	}
	joined := make([]string, 0, len(all))
	for one := range all {
		joined = append(joined, one)
	}
	sort.Strings(joined)
	return joined
}
