package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	// A plugin has no files, so the time zones are in the component.
	_ "time/tzdata"
)

// longestGap contains a run of a schedule for the 29th of February, unless the year is the last of a
// century.
const longestGap = 8 * 366 * 24 * time.Hour

// schedule is a schedule in the syntax of cron, in a time zone.
type schedule struct {
	minutes, hours, days, months, weekdays set
	// anyDay and anyWeekday say whether the field is *. If neither is, one of both must fit.
	anyDay, anyWeekday bool
	zone               *time.Location
}

// set has the bits of the numbers in a field.
type set uint64

func (s set) has(number int) bool { return s&(1<<number) != 0 }

// field is what a field of a schedule may contain.
type field struct {
	name       string
	low, high  int
	names      []string
	firstNamed int
}

var (
	minuteField  = field{name: "minute", high: 59}
	hourField    = field{name: "hour", high: 23}
	dayField     = field{name: "day of the month", low: 1, high: 31}
	monthField   = field{name: "month", low: 1, high: 12, firstNamed: 1, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")}
	weekdayField = field{name: "day of the week", high: 7, names: strings.Fields("sun mon tue wed thu fri sat")}
)

// nicknames are schedules with names.
var nicknames = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

func parseSchedule(text, zone string) (*schedule, error) {
	if zone == "" {
		zone = "UTC"
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("time zone %s: %w", zone, err)
	}
	if nickname, ok := nicknames[text]; ok {
		text = nickname
	}
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return nil, fmt.Errorf("expected exactly 5 fields, found %d: %s", len(fields), text)
	}
	parsed := &schedule{zone: location, anyDay: isAny(fields[2]), anyWeekday: isAny(fields[4])}
	var problems [5]error
	parsed.minutes, problems[0] = minuteField.parse(fields[0])
	parsed.hours, problems[1] = hourField.parse(fields[1])
	parsed.days, problems[2] = dayField.parse(fields[2])
	parsed.months, problems[3] = monthField.parse(fields[3])
	parsed.weekdays, problems[4] = weekdayField.parse(fields[4])
	if parsed.weekdays.has(7) {
		parsed.weekdays |= 1 // Sunday
	}
	return parsed, errors.Join(problems[:]...)
}

func isAny(text string) bool { return strings.HasPrefix(text, "*") || strings.HasPrefix(text, "?") }

// parse reads a list of numbers, ranges and steps: 1,5-7,*/15.
func (f field) parse(text string) (set, error) {
	var numbers set
	for _, part := range strings.Split(text, ",") {
		span, stepText, hasStep := strings.Cut(part, "/")
		step := 1
		if hasStep {
			var err error
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, fmt.Errorf("the step of the %s in %s is no number from 1", f.name, part)
			}
		}
		low, high, err := f.span(span, hasStep)
		if err != nil {
			return 0, err
		}
		for number := low; number <= high; number += step {
			numbers |= 1 << number
		}
	}
	return numbers, nil
}

// span reads *, a number or a range. A number with a step is the beginning of a range.
func (f field) span(text string, hasStep bool) (low, high int, err error) {
	if text == "*" || text == "?" {
		return f.low, f.high, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if low, err = f.number(first); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
		high, err = f.number(last)
	case hasStep:
		high = f.high
	default:
		high = low
	}
	if err == nil && high < low {
		err = fmt.Errorf("the range of the %s ends before it begins: %s", f.name, text)
	}
	return low, high, err
}

func (f field) number(text string) (int, error) {
	for index, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.firstNamed + index, nil
		}
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < f.low || number > f.high {
		return 0, fmt.Errorf("the %s is %s, and not from %d to %d", f.name, text, f.low, f.high)
	}
	return number, nil
}

// after returns the first run after a time, and whether there is one. A time that the clocks leave out
// has no run.
func (s *schedule) after(now time.Time) (time.Time, bool) {
	run := now.In(s.zone).Truncate(time.Minute).Add(time.Minute)
	for run.Sub(now) <= longestGap {
		year, month, day := run.Date()
		switch {
		case !s.months.has(int(month)):
			run = time.Date(year, month+1, 1, 0, 0, 0, 0, s.zone)
		case !s.hasDay(run):
			run = time.Date(year, month, day+1, 0, 0, 0, 0, s.zone)
		case !s.hours.has(run.Hour()):
			run = run.Add(time.Duration(60-run.Minute()) * time.Minute)
		case !s.minutes.has(run.Minute()):
			run = run.Add(time.Minute)
		default:
			return run.UTC(), true
		}
	}
	return time.Time{}, false
}

func (s *schedule) hasDay(run time.Time) bool {
	hasDay, hasWeekday := s.days.has(run.Day()), s.weekdays.has(int(run.Weekday()))
	if s.anyDay || s.anyWeekday {
		return hasDay && hasWeekday
	}
	return hasDay || hasWeekday
}

// before returns the last run until a time, and whether there is one. It halves the span in which the
// run is.
func (s *schedule) before(now time.Time) (time.Time, bool) {
	early, late := now.Add(-longestGap), now
	var found time.Time
	for !early.After(late) {
		middle := early.Add(late.Sub(early) / 2).Truncate(time.Second)
		run, ok := s.after(middle.Add(-time.Second))
		if ok && !run.After(now) {
			found = run
			early = run.Add(time.Second)
		} else {
			late = middle.Add(-time.Second)
		}
	}
	return found, !found.IsZero()
}
