// Package panics reports panics of plugins, in components and in tests.
package panics

import (
	"fmt"
	"runtime"
	"strings"
)

// Report returns a panic as the host knows it: its place, the message in a line, and the calls that
// led to it. It is called by a deferred function, before that returns. The place is the innermost
// one in the plugin's module: what a package did there, the lines below say.
func Report(cause any, module string) string {
	calls := Calls()
	lines := make([]string, 0, len(calls)+2)
	message := strings.ReplaceAll(fmt.Sprint(cause), "\n", " ")
	lines = append(lines, fmt.Sprintf("thread 'go' panicked at %s:", placeOf(calls, module)), message)
	for _, call := range calls {
		lines = append(lines, fmt.Sprintf("    at %s:%d in %s", call.File, call.Line, call.Function))
	}
	return strings.Join(lines, "\n") + "\n"
}

// Calls returns the calls that led to a panic, the innermost first: without those of the runtime, and
// without those by which the SDK called the plugin. It is called by a deferred function, before that
// returns.
func Calls() []runtime.Frame {
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	var calls []runtime.Frame
	panicked := false
	for {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			calls = append(calls, frame)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			return withoutCallers(calls)
		}
	}
}

// withoutCallers leaves out how the SDK called the plugin, unless there is nothing else.
func withoutCallers(calls []runtime.Frame) []runtime.Frame {
	for count := len(calls); count > 0; count-- {
		if !isOfCallers(calls[count-1].Function) {
			return calls[:count]
		}
	}
	return calls
}

func isOfCallers(function string) bool {
	return strings.HasPrefix(function, "gyre.dev/gyre.") || strings.HasPrefix(function, "gyre:plugin/")
}

func placeOf(calls []runtime.Frame, module string) string {
	if len(calls) == 0 {
		return "an unknown place"
	}
	place := calls[0]
	for _, call := range calls {
		if strings.HasPrefix(call.File, module+"/") {
			place = call
			break
		}
	}
	return fmt.Sprintf("%s:%d", place.File, place.Line)
}
