package main

import (
	"errors"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
)

// alert is a rule with the time since when each of its label sets is active: what Prometheus keeps in `rules.AlertingRule`.
type alert struct {
	rule   rulefmt.Rule
	active map[string]*instance
}

type instance struct {
	labels   labels.Labels
	since    time.Duration
	isFiring bool
}

// evaluate takes what the expression of the rule has at this time.
func (a *alert) evaluate(vector promql.Vector, now time.Duration) error {
	active := make(map[string]*instance, len(vector))
	for _, sample := range vector {
		builder := labels.NewBuilder(sample.Metric).Del(labels.MetricName)
		for name, value := range a.rule.Labels {
			builder.Set(name, value)
		}
		named := builder.Set(labels.AlertName, a.rule.Alert).Labels()
		key := named.String()
		if _, isThere := active[key]; isThere {
			return errors.New("two alerts have the same labels")
		}
		one, isKnown := a.active[key]
		if !isKnown {
			one = &instance{labels: named, since: now}
		}
		one.isFiring = now-one.since >= time.Duration(a.rule.For)
		active[key] = one
	}
	// Others are resolved.
	a.active = active
	return nil
}

// firing returns the alerts that fire, as texts that can be compared.
func (a *alert) firing() []string {
	var texts []string
	for _, one := range a.active {
		if one.isFiring {
			texts = append(texts, shown(one.labels, a.rule.Annotations))
		}
	}
	return texts
}

func shown(named labels.Labels, annotations map[string]string) string {
	return named.String() + " " + labels.FromMap(annotations).String()
}
