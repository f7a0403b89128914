package gyre

import (
	stdcontext "context"
	"log/slog"
	"time"
)

// Logger writes into a log. It has the methods of slog.Logger, with the same arguments. It does not
// read the clock for each line, as slog.Logger does: the host remembers the answers of calls that read
// no clock, and adds the time itself.
type Logger struct{ handler slog.Handler }

// NewLogger returns a logger that writes by this handler.
func NewLogger(handler slog.Handler) *Logger { return &Logger{handler} }

// Debug writes a line about details, with keys and values.
func (l *Logger) Debug(message string, arguments ...any) {
	l.Log(slog.LevelDebug, message, arguments...)
}

// Info writes a line, with keys and values: c.Log.Info("scaled", "replicas", 3).
func (l *Logger) Info(message string, arguments ...any) { l.Log(slog.LevelInfo, message, arguments...) }

// Warn writes a line about something that needs attention, with keys and values.
func (l *Logger) Warn(message string, arguments ...any) { l.Log(slog.LevelWarn, message, arguments...) }

// Error writes a line about an error, with keys and values.
func (l *Logger) Error(message string, arguments ...any) {
	l.Log(slog.LevelError, message, arguments...)
}

// Log writes a line of this level, with keys and values.
func (l *Logger) Log(level slog.Level, message string, arguments ...any) {
	background := stdcontext.Background()
	if l == nil || !l.handler.Enabled(background, level) {
		return
	}
	record := slog.NewRecord(time.Time{}, level, message, 0)
	record.Add(arguments...)
	// A log that cannot be written is no reason to fail.
	_ = l.handler.Handle(background, record)
}

// With returns a logger that adds these keys and values to each line.
func (l *Logger) With(arguments ...any) *Logger {
	if l == nil {
		return nil
	}
	var record slog.Record
	record.Add(arguments...)
	var attributes []slog.Attr
	record.Attrs(func(attribute slog.Attr) bool {
		attributes = append(attributes, attribute)
		return true
	})
	return &Logger{l.handler.WithAttrs(attributes)}
}

// WithGroup returns a logger that puts this name and a dot before the keys of each line.
func (l *Logger) WithGroup(name string) *Logger {
	if l == nil {
		return nil
	}
	return &Logger{l.handler.WithGroup(name)}
}

// Slog returns a logger for packages that take one of log/slog. It reads the clock for each line.
func (l *Logger) Slog() *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(l.handler)
}
