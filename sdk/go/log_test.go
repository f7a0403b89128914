package gyre

import (
	"bytes"
	"log/slog"
	"testing"
)

func TestALoggerWritesAsThatOfSlog(t *testing.T) {
	write := func(with func(*bytes.Buffer)) string {
		var text bytes.Buffer
		with(&text)
		return text.String()
	}
	options := &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, attribute slog.Attr) slog.Attr {
		if attribute.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attribute
	}}
	ours := write(func(to *bytes.Buffer) {
		log := NewLogger(slog.NewTextHandler(to, options))
		log.Debug("one")
		log.Info("two", "a", 1, slog.String("b", "c"))
		log.With("d", 2).WithGroup("e").Warn("three", "f", 3)
		log.Slog().Error("four", "g", 4)
	})
	theirs := write(func(to *bytes.Buffer) {
		log := slog.New(slog.NewTextHandler(to, options))
		log.Debug("one")
		log.Info("two", "a", 1, slog.String("b", "c"))
		log.With("d", 2).WithGroup("e").Warn("three", "f", 3)
		log.Error("four", "g", 4)
	})
	if ours != theirs {
		t.Errorf("%s instead of %s", ours, theirs)
	}
}

func TestALoggerThatIsNilWritesNothing(t *testing.T) {
	var c Context
	c.Log.With("a", 1).WithGroup("b").Info("nothing")
}
