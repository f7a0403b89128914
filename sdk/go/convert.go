package gyre

import (
	"errors"
	"slices"
	"time"

	"gyre.dev/gyre/internal/wit"
)

func lowerKind(kind GroupVersionKind) []any { return []any{kind.Group, kind.Version, kind.Kind} }

func optionalText(text string) wit.Case {
	if text == "" {
		return wit.None
	}
	return wit.Some(text)
}

func optionalStrategy(strategy *Strategy) wit.Case {
	if strategy == nil {
		return wit.None
	}
	return wit.Some(byte(*strategy))
}

func truth(value bool) byte {
	if value {
		return 1
	}
	return 0
}

func each[T any](values []T, lower func(T) any) []any {
	lowered := make([]any, len(values))
	for index, value := range values {
		lowered[index] = lower(value)
	}
	return lowered
}

func lowerManifest(p *program) any {
	m := p.manifest
	children := each(m.Children, func(c ChildKind) any {
		return []any{lowerKind(c.Kind), byte(c.Strategy), optionalStrategy(c.Strongest), byte(c.Propagation), truth(c.OutlivesParent)}
	})
	reads := each(m.Reads, func(r ReadKind) any {
		return []any{lowerKind(r.Kind), optionalText(r.Namespace), optionalText(r.LabelSelector), truth(r.MetadataOnly)}
	})
	crds := each(m.CRDs, func(crd []byte) any { return crd })
	return []any{
		m.Name, m.Version, m.Description, lowerKind(m.Parent), lowerGrouping(m), children, reads,
		each(m.ParentFields, func(pointer string) any { return pointer }), truth(m.DeletesParent), truth(p.finalizes), optionalText(string(p.schema)), crds,
	}
}

func lowerGrouping(m Manifest) wit.Case {
	switch {
	case m.GroupBy != "":
		return wit.Case{Index: 2, Payload: m.GroupBy}
	case m.Grouped:
		return wit.Case{Index: 1}
	default:
		return wit.Case{Index: 0}
	}
}

func lowerPlan(plan Plan) []any {
	children := wit.None
	if plan.ListsChildren {
		children = wit.Some(each(plan.Children, lowerChild))
	}
	status := wit.None
	if plan.Status != nil {
		status = wit.Some(plan.Status)
	}
	conditions := each(plan.Conditions, lowerCondition)
	events := each(plan.Events, func(e Event) any { return []any{byte(e.Severity), e.Reason, e.Message} })
	requeue, parent, deletion := wit.None, wit.None, wit.None
	if plan.RequeueAfter > 0 {
		requeue = wit.Some(milliseconds(plan.RequeueAfter))
	}
	if plan.ParentFields != nil {
		parent = wit.Some(plan.ParentFields)
	}
	if d := plan.ParentDeletion; d != nil {
		deletion = wit.Some([]any{milliseconds(d.After), byte(d.Propagation)})
	}
	members := each(plan.Members, func(m Member) any {
		status := wit.None
		if m.Status != nil {
			status = wit.Some(m.Status)
		}
		return []any{optionalText(m.Namespace), m.Name, status, each(m.Conditions, lowerCondition)}
	})
	return []any{children, status, conditions, events, requeue, parent, deletion, members}
}

func lowerCondition(c Condition) any { return []any{c.Type, byte(c.Status), c.Reason, c.Message} }

func lowerChild(child Child) any {
	if child.Object == nil {
		return wit.Case{Index: 1, Payload: []any{lowerKind(child.Kept.Kind), optionalText(child.Kept.Namespace), child.Kept.Name}}
	}
	return wit.Case{Index: 0, Payload: []any{child.Object, optionalStrategy(child.Strategy)}}
}

// milliseconds rounds up, so that no call comes too early.
func milliseconds(duration time.Duration) uint64 {
	return uint64((max(duration, 0) + time.Millisecond - 1) / time.Millisecond)
}

// settled are the errors of reads that stay the same until an input changes. A kind that is not served
// is not among them, because its CRD may be installed at any time.
var settled = []error{ErrNotFound, ErrNotDeclared, ErrNotGranted, ErrInvalidSelector}

func isSettled(err error) bool {
	return slices.ContainsFunc(settled, func(read error) bool { return errors.Is(err, read) })
}

func lowerFailure(err error) wit.Case {
	switch failure := FailureOf(err); {
	case failure.Terminal:
		return wit.Case{Index: 2, Payload: err.Error()}
	case failure.Delay > 0:
		return wit.Case{Index: 1, Payload: []any{milliseconds(failure.Delay), err.Error()}}
	default:
		return wit.Case{Index: 0, Payload: err.Error()}
	}
}

// lowerResult returns a result: a mistake in a plan is a terminal failure.
func lowerResult(plan Plan, err error, ok func([]any) any) wit.Case {
	plan, err = withMistakes(plan, err)
	if err != nil {
		return wit.Case{Index: 1, Payload: lowerFailure(err)}
	}
	return wit.Case{Index: 0, Payload: ok(lowerPlan(plan))}
}
