package main

import (
	"maps"
	"slices"
	"strings"
)

// choiceKey is a field with a set of values.
type choiceKey struct{ owner, field string }

// general are names that say nothing without the name of their type.
var general = []string{"Action", "Effect", "Kind", "Operator", "Phase", "PullPolicy", "Reason", "Scheme", "Status", "Type"}

func (b *builder) isChoice(owner, field string) bool {
	_, ok := b.choiceNames[choiceKey{owner, field}]
	return ok
}

// nameChoices names the types of fields with a set of values. Fields of the same name with the same
// values share a type, unless the name is general.
func (b *builder) nameChoices(ids []string) {
	b.choiceNames = map[choiceKey]string{}
	groups := map[string][]choiceKey{}
	values := map[string][]string{}
	valuesOfBase := map[string]map[string]bool{}
	for _, id := range ids {
		for _, field := range slices.Sorted(maps.Keys(b.schemas[id].Properties)) {
			texts := enumOf(b.schemas[id].Properties[field])
			if texts == nil {
				continue
			}
			base := exported(singular(field))
			all := strings.Join(texts, "|")
			group := base + " " + all
			if slices.Contains(general, base) {
				group += " " + last(id)
			}
			groups[group] = append(groups[group], choiceKey{id, field})
			values[group] = texts
			if valuesOfBase[base] == nil {
				valuesOfBase[base] = map[string]bool{}
			}
			valuesOfBase[base][all] = true
		}
	}
	for group, users := range groups {
		base, _, _ := strings.Cut(group, " ")
		isStruct := slices.ContainsFunc(ids, func(id string) bool { return last(id) == base })
		name := base
		if slices.Contains(general, base) || len(valuesOfBase[base]) > 1 || isStruct {
			owner := last(users[0].owner)
			name = strings.TrimSuffix(strings.TrimSuffix(owner, "Spec"), "Status") + base
		}
		for _, user := range users {
			b.choiceNames[user] = name
		}
		module := b.module(moduleOf(users[0].owner))
		module.choices = append(module.choices, choice{name, values[group]})
	}
}

// enumOf returns the values of a field or of the elements of a list, without the empty one, which
// stands for none.
func enumOf(property *schema) []string {
	if property.Items != nil {
		property = property.Items
	}
	if property.Type != "string" {
		return nil
	}
	var values []string
	for _, value := range property.Enum {
		if value != "" {
			values = append(values, value)
		}
	}
	return values
}

func singular(field string) string {
	if stem, ok := strings.CutSuffix(field, "ies"); ok {
		return stem + "y"
	}
	if stem, ok := strings.CutSuffix(field, "s"); ok && !strings.HasSuffix(stem, "s") {
		return stem
	}
	return field
}
