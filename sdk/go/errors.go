package gyre

import (
	"errors"
	"fmt"
	"time"
)

// The errors of reads. Reconcile may return them, perhaps wrapped: they are not tried again until an
// input changes, such as the object that was not found, except that ErrNotServed is.
var (
	// ErrNotFound is an object that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrNotDeclared is a kind that the manifest does not name.
	ErrNotDeclared = errors.New("the manifest does not declare this kind")
	// ErrNotGranted is a kind or namespace that the mount may not read.
	ErrNotGranted = errors.New("the mount may not read this kind in this namespace")
	// ErrNotServed is a kind that the API server does not serve.
	ErrNotServed = errors.New("the API server does not serve this kind")
	// ErrInvalidSelector is a label selector that does not parse.
	ErrInvalidSelector = errors.New("invalid label selector")
)

// Failure is an error that says when to try again. Reconcile returns one, perhaps wrapped; any other
// error is tried again with back-off.
type Failure struct {
	// Delay is the time after which the host tries again. Zero is back-off.
	Delay time.Duration
	// Terminal failures are not tried again until an input changes.
	Terminal bool
	Err      error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Terminal returns an error that is not tried again until an input changes. Wrap a cause with %w.
func Terminal(format string, arguments ...any) error {
	return &Failure{Terminal: true, Err: fmt.Errorf(format, arguments...)}
}

// RetryAfter returns an error that is tried again after this time.
func RetryAfter(delay time.Duration, format string, arguments ...any) error {
	return &Failure{Delay: max(delay, time.Millisecond), Err: fmt.Errorf(format, arguments...)}
}
