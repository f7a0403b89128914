package main

import (
	"strings"
	"testing"
	"time"
)

func TestTheNextRunOfASchedule(t *testing.T) {
	const thursday = "2026-01-01T00:00:30Z"
	for _, test := range []struct{ schedule, zone, now, want string }{
		{"* * * * *", "", thursday, "2026-01-01T00:01:00Z"},
		{"*/15 * * * *", "", "2026-01-01T00:45:00Z", "2026-01-01T01:00:00Z"},
		{"5-7,50 3 * * *", "", "2026-01-01T03:07:00Z", "2026-01-01T03:50:00Z"},
		{"20/20 * * * *", "", thursday, "2026-01-01T00:20:00Z"},
		{"0 0 1 feb ?", "", thursday, "2026-02-01T00:00:00Z"},
		{"0 0 31 * *", "", "2026-02-01T00:00:00Z", "2026-03-31T00:00:00Z"},
		{"0 0 29 2 *", "", thursday, "2028-02-29T00:00:00Z"},
		{"0 0 * * 7", "", thursday, "2026-01-04T00:00:00Z"},
		{"0 9 * * Mon-Fri", "", "2026-01-02T09:00:00Z", "2026-01-05T09:00:00Z"},
		{"0 0 13 * fri", "", "2026-01-03T00:00:00Z", "2026-01-09T00:00:00Z"},
		{"0 0 */10 * fri", "", thursday, "2026-05-01T00:00:00Z"},
		{"@daily", "Europe/Berlin", thursday, "2026-01-01T23:00:00Z"},
		{"30 5 * * *", "Asia/Kolkata", thursday, "2026-01-02T00:00:00Z"},
		// The clocks in Berlin leave out 02:30 on the 29th of March.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
	} {
		parsed, err := parseSchedule(test.schedule, test.zone)
		if err != nil {
			t.Errorf("%s: %v", test.schedule, err)
			continue
		}
		if next, ok := parsed.after(at(test.now)); !ok || next.Format(time.RFC3339) != test.want {
			t.Errorf("%s after %s is %s instead of %s", test.schedule, test.now, next.Format(time.RFC3339), test.want)
		}
	}
}

func TestTheLastRunIsTheOneBeforeTheNext(t *testing.T) {
	for _, text := range []string{"* * * * *", "1 * * * *", "0 0 29 2 *", "0 9 * * 1-5", "17 3,15 */5 * *"} {
		parsed, err := parseSchedule(text, "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		next, _ := parsed.after(at("2026-06-15T12:34:56Z"))
		for range 20 {
			now := next
			if next, _ = parsed.after(now); next.IsZero() {
				break
			}
			if last, ok := parsed.before(next.Add(-time.Second)); !ok || !last.Equal(now) {
				t.Errorf("%s: the last run before %s is %s instead of %s", text, next, last, now)
			}
		}
	}
}

func TestAFieldThatCannotBeReadIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"61 * * * *":   "the minute is 61, and not from 0 to 59",
		"* -1 * * *":   "the hour is ",
		"* * 0 * *":    "the day of the month is 0",
		"* * * foo *":  "the month is foo",
		"* * * * 8":    "the day of the week is 8",
		"*/0 * * * *":  "the step of the minute in */0",
		"9-5 * * * *":  "ends before it begins: 9-5",
		"* * * *":      "expected exactly 5 fields, found 4",
		"":             "expected exactly 5 fields, found 0",
		"1,,2 * * * *": "the minute is ",
	} {
		if _, err := parseSchedule(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
