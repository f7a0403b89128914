package gyre

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ObjectRef names an object. Without a namespace it is in that of the parent.
type ObjectRef struct {
	Kind            GroupVersionKind
	Namespace, Name string
}

// Child is the desired state of one child.
type Child struct {
	// Object is the object with the desired fields, in JSON. Nil if the child is kept.
	Object []byte
	// Strategy is that of this child. Nil is that of its kind.
	Strategy *Strategy
	// Kept is a child that stays if it exists, and is not created if it does not.
	Kept ObjectRef
}

// Truth is the status of a condition.
type Truth byte

const (
	True Truth = iota
	False
	Unknown
)

// Condition is a condition of the parent. The host fills in its generation and time.
type Condition struct {
	Type            string
	Status          Truth
	Reason, Message string
}

// Severity is the type of an event.
type Severity byte

const (
	Normal Severity = iota
	Warning
)

// Event is an Event about the parent. Return it whenever it applies; the host does not repeat it.
type Event struct {
	Severity        Severity
	Reason, Message string
}

// ParentDeletion is the deletion of the parent.
type ParentDeletion struct {
	After       time.Duration
	Propagation Propagation
}

// Plan is what should exist. Its methods return a changed copy; an error in their arguments is kept,
// and ends the call as a Terminal failure.
type Plan struct {
	// Children are all that should exist: others are deleted, if ListsChildren is set.
	Children      []Child
	ListsChildren bool
	// Status is the plugin's whole status in JSON, without conditions. Nil leaves it as it is.
	Status       []byte
	Conditions   []Condition
	Events       []Event
	RequeueAfter time.Duration
	// ParentFields are all fields of the parent that the plugin sets, in JSON. Nil is none, if the
	// plan lists the children; otherwise they stay as they are.
	ParentFields   []byte
	ParentDeletion *ParentDeletion
	// Members are the statuses of members of a Group.
	Members []Member
	// ReleasesParent lets a parent go that is being deleted: see Finalized.
	ReleasesParent bool
	err            error
}

var errLeavesChildren = errors.New("a child was added to a plan that leaves the children as they are (Wait or KeepChildren): " +
	"begin with Children or NoChildren, and list all children that should exist")

var errReleasesParent = Terminal("Reconcile returned a plan that releases the parent (Finalized or ReleaseParent), which is for Finalize")

// Children returns a plan in which these are all children that should exist: any structs or maps
// that are objects in JSON. Children that are not in the plan are deleted.
func Children(objects ...any) Plan {
	plan := NoChildren()
	for _, object := range objects {
		plan = plan.Apply(object)
	}
	return plan
}

// NoChildren returns a plan without children: all are deleted.
func NoChildren() Plan { return Plan{ListsChildren: true} }

// KeepChildren returns a plan that leaves the children and the status as they are. It is the zero
// value of a Plan.
func KeepChildren() Plan { return Plan{} }

// Finalized returns the last plan of Finalize: all children are deleted, and then the parent goes.
func Finalized() Plan { return NoChildren().ReleaseParent() }

// Wait returns a plan for a parent that waits, e.g. for an object that is missing: the children stay,
// Ready is False with this reason. The plugin is called again when something changes that it read.
func Wait(reason, format string, arguments ...any) Plan {
	return KeepChildren().report(False, Normal, reason, format, arguments)
}

// Apply adds a child that should exist with these fields.
func (p Plan) Apply(object any) Plan { return p.add(object, nil) }

// ApplyWith adds a child with another strategy than that of its kind.
func (p Plan) ApplyWith(strategy Strategy, object any) Plan { return p.add(object, &strategy) }

// KeepChild adds a child that stays if it exists, e.g. a finished Job; it is not created if it does not.
func (p Plan) KeepChild(child ObjectRef) Plan { return p.list(Child{Kept: child}) }

func (p Plan) add(object any, strategy *Strategy) Plan {
	bytes, err := encode(object)
	p.err = errors.Join(p.err, err)
	return p.list(Child{Object: bytes, Strategy: strategy})
}

func (p Plan) list(child Child) Plan {
	if !p.ListsChildren {
		p.err = errLeavesChildren
		return p
	}
	p.Children = append(p.Children[:len(p.Children):len(p.Children)], child)
	return p
}

// WithStatus sets the plugin's whole status. The host adds conditions and observedGeneration.
func (p Plan) WithStatus(status any) Plan {
	bytes, err := json.Marshal(status)
	if err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("cannot write the status: %w", err))
	}
	p.Status = bytes
	return p
}

// Ready sets the condition Ready to True, and adds a Normal event with the reason and message.
func (p Plan) Ready(reason, format string, arguments ...any) Plan {
	return p.report(True, Normal, reason, format, arguments)
}

// NotReady sets the condition Ready to False, and adds a Warning event.
func (p Plan) NotReady(reason, format string, arguments ...any) Plan {
	return p.report(False, Warning, reason, format, arguments)
}

func (p Plan) report(status Truth, severity Severity, reason, format string, arguments []any) Plan {
	return p.WithReport(Condition{"Ready", status, reason, fmt.Sprintf(format, arguments...)}, severity)
}

// WithReport adds a condition, and an event with the same reason and message.
func (p Plan) WithReport(condition Condition, severity Severity) Plan {
	return p.WithCondition(condition).WithEvent(Event{severity, condition.Reason, condition.Message})
}

// WithCondition adds a condition. Conditions of other types stay as they are.
func (p Plan) WithCondition(condition Condition) Plan {
	p.Conditions = append(p.Conditions[:len(p.Conditions):len(p.Conditions)], condition)
	return p
}

// WithEvent adds an event.
func (p Plan) WithEvent(event Event) Plan {
	p.Events = append(p.Events[:len(p.Events):len(p.Events)], event)
	return p
}

// Requeue asks for another call after this time, even if nothing changes.
func (p Plan) Requeue(after time.Duration) Plan {
	p.RequeueAfter = after
	return p
}

// WithParentFields sets fields of the parent, beside those that are set already: a part of the object,
// as a struct or a map that is an object in JSON. The manifest must declare them, and the operator must
// grant them. Fields that a later plan does not set are withdrawn.
func (p Plan) WithParentFields(fields any) Plan {
	var merged, added any
	if p.ParentFields != nil {
		if err := json.Unmarshal(p.ParentFields, &merged); err != nil {
			p.err = errors.Join(p.err, err)
		}
	}
	bytes, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(bytes, &added)
	}
	if err == nil {
		bytes, err = json.Marshal(merge(merged, added))
	}
	if err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("cannot write the fields of the parent: %w", err))
	}
	p.ParentFields = bytes
	return p
}

// merge returns a value with the fields of another one, which replace its own.
func merge(into, fields any) any {
	intoObject, isObject := into.(map[string]any)
	object, ok := fields.(map[string]any)
	if !isObject || !ok {
		return fields
	}
	for name, value := range object {
		intoObject[name] = merge(intoObject[name], value)
	}
	return intoObject
}

// WithParentLabel sets a label of the parent: see WithParentFields.
func (p Plan) WithParentLabel(key, value string) Plan {
	return p.WithParentFields(metadataWith("labels", key, value))
}

// WithParentAnnotation sets an annotation of the parent: see WithParentFields.
func (p Plan) WithParentAnnotation(key, value string) Plan {
	return p.WithParentFields(metadataWith("annotations", key, value))
}

func metadataWith(field, key, value string) any {
	return map[string]any{"metadata": map[string]any{field: map[string]string{key: value}}}
}

// DeleteParent deletes the parent after this time. The manifest must declare it.
func (p Plan) DeleteParent(after time.Duration, propagation Propagation) Plan {
	p.ParentDeletion = &ParentDeletion{after, propagation}
	return p
}

// WithMember sets the status of a member of the Group. Members without one stay as they are.
func (p Plan) WithMember(member Member) Plan {
	p.err = errors.Join(p.err, member.err)
	p.Members = append(p.Members[:len(p.Members):len(p.Members)], member)
	return p
}

// ReleaseParent lets a parent go that is being deleted, once the children are gone that this plan
// deletes. For Finalize alone.
func (p Plan) ReleaseParent() Plan {
	p.ReleasesParent = true
	return p
}
