// Package gyre is the SDK for plugins in Go.
//
// A plugin is a pure function from a parent, its settings and what it reads, to the children and the
// status that should exist. The host watches, compares, applies, prunes and retries.
//
//	func (Reconciler) Reconcile(c gyre.Context, greeting *Greeting, _ gyre.NoSettings) (gyre.Plan, error)
//
// What is absent: clients, caches, work queues and watches. The time is an input, and so is random.
package gyre

import (
	"encoding/json"
	"fmt"
)

// Reconciler reconciles parents of the type P, with settings of the type S.
type Reconciler[P, S any] interface {
	// Reconcile returns what should exist while the parent lives. It may be called at any time and
	// any number of times. Settings are those of the mount.
	Reconcile(c Context, parent *P, settings S) (Plan, error)
}

// Finalizer is a Reconciler with something to do before a parent goes. The host then holds a
// finalizer on each parent.
type Finalizer[P, S any] interface {
	// Finalize returns what should still exist while the parent is being deleted. The parent stays
	// until a plan lets it go: see Finalized.
	Finalize(c Context, parent *P, settings S) (Plan, error)
}

// Validator is implemented by settings that have checks beyond their schema.
type Validator interface{ Validate() error }

// NoSettings are the settings of a plugin that takes none.
type NoSettings struct{}

// program is a registered reconciler without its types.
type program struct {
	manifest  Manifest
	schema    []byte
	finalizes bool
	validate  func(settings []byte) error
	reconcile func(c Context, parent, settings []byte) (Plan, error)
	finalize  func(c Context, parent, settings []byte) (Plan, error)
}

var programs []*program

// Register adds a reconciler to the plugin. Call it from init.
func Register[P, S any](manifest Manifest, reconciler Reconciler[P, S]) {
	p := &program{manifest: manifest, schema: settingsSchema[S]()}
	p.validate = func(settings []byte) error {
		_, err := parseSettings[S](settings)
		return err
	}
	p.reconcile = func(c Context, parent, settings []byte) (Plan, error) {
		object, value, err := input[P, S](parent, settings)
		if err != nil {
			return Plan{}, err
		}
		plan, err := reconciler.Reconcile(c, object, value)
		if err == nil && plan.ReleasesParent {
			err = errReleasesParent
		}
		return plan, err
	}
	if finalizer, ok := reconciler.(Finalizer[P, S]); ok {
		p.finalizes = true
		p.finalize = func(c Context, parent, settings []byte) (Plan, error) {
			object, value, err := input[P, S](parent, settings)
			if err != nil {
				return Plan{}, err
			}
			return finalizer.Finalize(c, object, value)
		}
	}
	programs = append(programs, p)
}

func input[P, S any](parent, settings []byte) (*P, S, error) {
	value, err := parseSettings[S](settings)
	if err != nil {
		return nil, value, Terminal("the settings: %w", err)
	}
	object := new(P)
	if err := json.Unmarshal(parent, object); err != nil {
		return nil, value, Terminal("cannot read the parent: %w", err)
	}
	return object, value, nil
}

func find(name string) (*program, error) {
	for _, p := range programs {
		if p.manifest.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("the plugin has no reconciler %s", name)
}
