package gyretest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"gyre.dev/gyre"
	"gyre.dev/gyre/internal/panics"
)

// native returns a plugin that calls a reconciler of this process.
func native(reconciler gyre.Registered) plugin {
	return func(call *call, lane *lane) (returned map[string]any) {
		defer func() {
			switch cause := recover().(type) {
			case nil:
			case stopped:
				returned = nil
			default:
				returned = map[string]any{"panic": fmt.Sprintf("%v (%s)", cause, panicPlace())}
				// The stack is for the person who reads the test.
				fmt.Fprintf(os.Stderr, "a plugin panicked: %v\n%s", cause, debug.Stack())
			}
		}()
		settings := plain(call.Settings)
		if call.Function == "validateSettings" {
			if err := reconciler.ValidateSettings(settings); err != nil {
				return map[string]any{"settings": err.Error()}
			}
			return map[string]any{"settings": nil}
		}
		plan, err := runCall(reconciler, call, lane, settings)
		if err != nil {
			return map[string]any{"failure": failureForm(err)}
		}
		return map[string]any{"response": responseForm(plan)}
	}
}

// panicPlace returns the file and line of the innermost call that led to a panic.
func panicPlace() string {
	calls := panics.Calls()
	if len(calls) == 0 {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(calls[0].File), calls[0].Line)
}

func runCall(reconciler gyre.Registered, call *call, lane *lane, settings []byte) (gyre.Plan, error) {
	c := gyre.Context{
		Cluster: reads{lane},
		Log:     gyre.NewLogger(&logs{lane: lane}),
		Clock: func() time.Time {
			var clock struct{ Time time.Time }
			lane.askWithinCall("clock", struct{}{}, &clock)
			return clock.Time.UTC()
		},
	}
	if call.Function == "finalize" {
		return reconciler.Finalize(c, plain(call.Parent), settings)
	}
	var members [][]byte
	for _, member := range call.Members {
		members = append(members, plain(member))
	}
	return reconciler.Reconcile(c, plain(call.Parent), members, settings)
}

// plain returns a JSON text, which may be within a string.
func plain(text json.RawMessage) []byte {
	var inner string
	if json.Unmarshal(text, &inner) == nil {
		return []byte(inner)
	}
	return text
}

// reads is the Cluster of a call, whose reads the program answers.
type reads struct{ lane *lane }

func (r reads) read(how string, fields map[string]any) ([][]byte, error) {
	var found struct {
		Found     []json.RawMessage
		ReadError string
		Message   string
	}
	r.lane.askWithinCall("read", map[string]any{how: fields}, &found)
	switch found.ReadError {
	case "":
	case "notDeclared":
		return nil, gyre.ErrNotDeclared
	case "notGranted":
		return nil, gyre.ErrNotGranted
	case "notServed":
		return nil, gyre.ErrNotServed
	default:
		return nil, fmt.Errorf("%w: %s", gyre.ErrInvalidSelector, found.Message)
	}
	var texts [][]byte
	for _, object := range found.Found {
		texts = append(texts, plain(object))
	}
	return texts, nil
}

func (r reads) Children(kind gyre.GroupVersionKind) ([][]byte, error) {
	return r.read("children", map[string]any{"kind": kindFormOf(kind)})
}

func (r reads) Get(kind gyre.GroupVersionKind, namespace, name string) ([]byte, error) {
	fields := map[string]any{"kind": kindFormOf(kind), "namespace": textOrNull(namespace), "name": name}
	found, err := r.read("get", fields)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, gyre.ErrNotFound
	}
	return found[0], nil
}

func (r reads) List(kind gyre.GroupVersionKind, namespace, labelSelector string) ([][]byte, error) {
	fields := map[string]any{
		"kind":          kindFormOf(kind),
		"namespace":     textOrNull(namespace),
		"labelSelector": textOrNull(labelSelector),
	}
	return r.read("list", fields)
}

// logs writes into the host's log.
type logs struct {
	lane   *lane
	prefix string
	fields [][2]string
}

func (*logs) Enabled(context.Context, slog.Level) bool { return true }

func (l *logs) Handle(_ context.Context, record slog.Record) error {
	fields := append([][2]string{}, l.fields...)
	record.Attrs(func(attribute slog.Attr) bool {
		fields = append(fields, [2]string{l.prefix + attribute.Key, attribute.Value.Resolve().String()})
		return true
	})
	level := "error"
	switch {
	case record.Level < slog.LevelDebug:
		level = "trace"
	case record.Level < slog.LevelInfo:
		level = "debug"
	case record.Level < slog.LevelWarn:
		level = "info"
	case record.Level < slog.LevelError:
		level = "warn"
	}
	l.lane.askWithinCall("log", map[string]any{"level": level, "message": record.Message, "fields": fields}, nil)
	return nil
}

func (l *logs) WithAttrs(attributes []slog.Attr) slog.Handler {
	fields := append([][2]string{}, l.fields...)
	for _, attribute := range attributes {
		fields = append(fields, [2]string{l.prefix + attribute.Key, attribute.Value.Resolve().String()})
	}
	return &logs{l.lane, l.prefix, fields}
}

func (l *logs) WithGroup(name string) slog.Handler {
	return &logs{l.lane, l.prefix + name + ".", l.fields}
}
