package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory is the storage of a test: its series, by their labels.
type memory []storage.Series

// load makes the series of a test, which have a value at each interval.
func load(inputs []inputSeries, interval time.Duration, language parser.Parser) (memory, error) {
	var all memory
	for _, input := range inputs {
		named, values, err := language.ParseSeriesDesc(input.Series + " " + input.Values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", input.Series, err)
		}
		var samples []chunks.Sample
		for at, value := range values {
			if value.Histogram != nil {
				return nil, fmt.Errorf("%s: alerttest does not know native histograms", input.Series)
			}
			if !value.Omitted {
				samples = append(samples, sample{time: (time.Duration(at) * interval).Milliseconds(), value: value.Value})
			}
		}
		all = append(all, storage.NewListSeries(named, samples))
	}
	byLabels := func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) }
	slices.SortFunc(all, byLabels)
	for at := 1; at < len(all); at++ {
		if byLabels(all[at-1], all[at]) == 0 {
			return nil, fmt.Errorf("the series %s is there twice", all[at].Labels())
		}
	}
	return all, nil
}

// Querier ignores the time range and returns all series: tests have few.
func (m memory) Querier(int64, int64) (storage.Querier, error) {
	found := func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		set := &seriesSet{at: -1}
		for _, series := range m {
			if matches(series.Labels(), matchers) {
				set.series = append(set.series, series)
			}
		}
		return set
	}
	return &storage.MockQuerier{SelectMockFunction: found}, nil
}

func matches(named labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(matcher *labels.Matcher) bool { return !matcher.Matches(named.Get(matcher.Name)) })
}

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool {
	s.at++
	return s.at < len(s.series)
}

func (s *seriesSet) At() storage.Series { return s.series[s.at] }

func (*seriesSet) Err() error { return nil }

func (*seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a float at a time in milliseconds.
type sample struct {
	time  int64
	value float64
}

func (s sample) T() int64 { return s.time }

func (sample) ST() int64 { return 0 }

func (s sample) F() float64 { return s.value }

func (sample) H() *histogram.Histogram { return nil }

func (sample) FH() *histogram.FloatHistogram { return nil }

func (sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }

func (s sample) Copy() chunks.Sample { return s }

var _ storage.Queryable = memory(nil)
