package gyre

import "errors"

// Registered is a reconciler that Register has added, without its types. Test kits call it; tests of a
// plugin call the method Reconcile of its own type, or gyretest.Start.
type Registered struct{ program *program }

// RegisteredReconcilers returns the reconcilers that Register has added.
func RegisteredReconcilers() []Registered {
	var all []Registered
	for _, p := range programs {
		all = append(all, Registered{p})
	}
	return all
}

// Manifest returns the manifest.
func (r Registered) Manifest() Manifest { return r.program.manifest }

// SettingsSchema returns the JSON Schema of the settings, or nil if there are none.
func (r Registered) SettingsSchema() []byte { return r.program.schema }

// Finalizes returns whether it has a method Finalize.
func (r Registered) Finalizes() bool { return r.program.finalizes }

// ValidateSettings checks settings beyond their schema.
func (r Registered) ValidateSettings(settings []byte) error { return r.program.validate(settings) }

// Reconcile calls the method Reconcile with objects in JSON. Members are those of a Group. A mistake in
// the plan is an error.
func (r Registered) Reconcile(c Context, parent []byte, members [][]byte, settings []byte) (Plan, error) {
	return withMistakes(r.program.reconcile(c, withMembers(parent, members), settings))
}

// Finalize calls the method Finalize with objects in JSON. A mistake in the plan is an error.
func (r Registered) Finalize(c Context, parent, settings []byte) (Plan, error) {
	if r.program.finalize == nil {
		return Plan{}, Terminal("the reconciler %s does not finalize", r.program.manifest.Name)
	}
	return withMistakes(r.program.finalize(c, parent, settings))
}

// withMistakes returns a mistake in a plan as a terminal failure.
func withMistakes(plan Plan, err error) (Plan, error) {
	if err == nil && plan.err != nil {
		err = Terminal("%w", plan.err)
	}
	return plan, err
}

// FailureOf returns an error of a reconciler as the host takes it: the Failure in it, with the message
// of the error itself, or one that is tried again with back-off.
func FailureOf(err error) Failure {
	said := &Failure{}
	if errors.As(err, &said) {
		return Failure{Delay: said.Delay, Terminal: said.Terminal, Err: err}
	}
	return Failure{Terminal: isSettled(err), Err: err}
}
