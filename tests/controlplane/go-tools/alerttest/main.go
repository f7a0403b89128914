// Command alerttest runs unit tests of alerts with Prometheus' own parser and engine. A file of tests has the format of
// `promtool test rules`, which accepts it, too.
//
// promtool takes minutes to build, because it contains the database and the clients of service discovery. What alerttest lacks, it
// refuses: recording rules, templates, keep_firing_for, options of groups, native histograms, and tests of expressions.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// testFile is a file of tests.
type testFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []test         `yaml:"tests"`
}

// test is a list of series, and the alerts that are expected with them.
type test struct {
	Name        string         `yaml:"name"`
	Interval    model.Duration `yaml:"interval"`
	InputSeries []inputSeries  `yaml:"input_series"`
	Cases       []alertCase    `yaml:"alert_rule_test"`
}

type inputSeries struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

// alertCase has all the alerts of a name that fire at a time.
type alertCase struct {
	EvalTime  model.Duration `yaml:"eval_time"`
	AlertName string         `yaml:"alertname"`
	Expected  []expected     `yaml:"exp_alerts"`
}

type expected struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: alerttest FILE")
		os.Exit(2)
	}
	cases, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d cases\n", cases)
}

// run runs the tests of a file, and returns the number of their cases.
func run(path string) (int, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var file testFile
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if file.EvaluationInterval <= 0 {
		return 0, fmt.Errorf("%s: there is no evaluation_interval", path)
	}
	language := parser.NewParser(parser.Options{})
	var rules []rulefmt.Rule
	for _, name := range file.RuleFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		read, err := readRules(name, language)
		if err != nil {
			return 0, err
		}
		rules = append(rules, read...)
	}
	cases := 0
	var failures []error
	for _, test := range file.Tests {
		if err := test.run(rules, time.Duration(file.EvaluationInterval), language); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", test.Name, err))
		}
		cases += len(test.Cases)
	}
	return cases, errors.Join(failures...)
}

// readRules reads the alerts of a file, after checking it as Prometheus does.
func readRules(path string, language parser.Parser) ([]rulefmt.Rule, error) {
	file, errs := rulefmt.ParseFile(path, false, model.UTF8Validation, language, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var rules []rulefmt.Rule
	for _, group := range file.Groups {
		if group.Interval != 0 || group.QueryOffset != nil || group.Limit != 0 || len(group.Labels) > 0 {
			return nil, fmt.Errorf("%s: the group %s has options, which alerttest does not know", path, group.Name)
		}
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.KeepFiringFor != 0 || hasTemplate(rule.Labels) || hasTemplate(rule.Annotations) {
				const known = "alerttest knows neither recording rules nor keep_firing_for nor templates"
				return nil, fmt.Errorf("%s: %s%s: %s", path, rule.Record, rule.Alert, known)
			}
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

func hasTemplate(texts map[string]string) bool {
	for _, text := range texts {
		if strings.Contains(text, "{{") {
			return true
		}
	}
	return false
}

// run evaluates all rules at each interval, and compares the alerts that fire with those that are expected.
func (t *test) run(rules []rulefmt.Rule, interval time.Duration, language parser.Parser) error {
	step := time.Duration(t.Interval)
	if step <= 0 {
		step = interval
	}
	series, err := load(t.InputSeries, step, language)
	if err != nil {
		return err
	}
	// The options are those of Prometheus, except for the limits, which no test reaches.
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples:               1_000_000,
		Timeout:                  time.Minute,
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return interval.Milliseconds() },
		Parser:                   language,
	})
	defer engine.Close()
	var end time.Duration
	for _, one := range t.Cases {
		end = max(end, time.Duration(one.EvalTime))
	}
	alerts := make([]alert, len(rules))
	for at := range alerts {
		alerts[at].rule = rules[at]
	}
	var failures []error
	for now := time.Duration(0); now <= end; now += interval {
		for at := range alerts {
			vector, err := query(engine, series, rules[at].Expr, now)
			if err == nil {
				err = alerts[at].evaluate(vector, now)
			}
			if err != nil {
				return fmt.Errorf("%s at %s: %w", rules[at].Alert, now, err)
			}
		}
		for _, one := range t.Cases {
			// The last evaluation before a time decides.
			if time.Duration(one.EvalTime) >= now && time.Duration(one.EvalTime) < now+interval {
				failures = append(failures, one.compare(alerts))
			}
		}
	}
	return errors.Join(failures...)
}

func query(engine *promql.Engine, series memory, expression string, at time.Duration) (promql.Vector, error) {
	query, err := engine.NewInstantQuery(context.Background(), series, nil, expression, time.UnixMilli(at.Milliseconds()))
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(context.Background())
	if result.Err != nil {
		return nil, result.Err
	}
	switch value := result.Value.(type) {
	case promql.Vector:
		// Its memory is used for other queries once the query is closed.
		return slices.Clone(value), nil
	case promql.Scalar:
		return promql.Vector{{T: value.T, F: value.V}}, nil
	default:
		return nil, fmt.Errorf("it is a %s, and neither a vector nor a scalar", value.Type())
	}
}

// compare returns an error with the alerts that fire, unless they are those that are expected.
func (c *alertCase) compare(alerts []alert) error {
	var found, wanted []string
	isKnown := false
	for at := range alerts {
		if alerts[at].rule.Alert == c.AlertName {
			isKnown = true
			found = append(found, alerts[at].firing()...)
		}
	}
	if !isKnown {
		return fmt.Errorf("there is no alert %q", c.AlertName)
	}
	for _, one := range c.Expected {
		named := labels.NewBuilder(labels.FromMap(one.Labels)).Set(labels.AlertName, c.AlertName).Labels()
		wanted = append(wanted, shown(named, one.Annotations))
	}
	slices.Sort(found)
	slices.Sort(wanted)
	if slices.Equal(found, wanted) {
		return nil
	}
	list := func(alerts []string) string { return "\n    " + strings.Join(append(alerts, ""), "\n    ") }
	return fmt.Errorf("%s at %s:\n  expected:%s\n  found:%s", c.AlertName, c.EvalTime, list(wanted), list(found))
}
