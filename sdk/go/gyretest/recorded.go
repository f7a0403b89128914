package gyretest

import (
	"encoding/json"
	"strings"
	"time"

	"gyre.dev/gyre"
)

// The forms of manifests and answers in recordings, which `gyre worlds` takes.

type kindForm struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func kindFormOf(kind gyre.GroupVersionKind) kindForm {
	return kindForm{kind.Group, kind.Version, kind.Kind}
}

var (
	strategies   = map[gyre.Strategy]string{gyre.Apply: "apply", gyre.Recreate: "recreate", gyre.CreateOnly: "create-only"}
	propagations = map[gyre.Propagation]string{gyre.Background: "Background", gyre.Foreground: "Foreground", gyre.Orphan: "Orphan"}
	truths       = map[gyre.Truth]string{gyre.True: "True", gyre.False: "False", gyre.Unknown: "Unknown"}
	severities   = map[gyre.Severity]string{gyre.Normal: "Normal", gyre.Warning: "Warning"}
)

func strategyForm(strategy *gyre.Strategy) any {
	if strategy == nil {
		return nil
	}
	return strategies[*strategy]
}

// textOrNull returns null for an absent text.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// jsonOrNull returns null for an absent JSON text.
func jsonOrNull(text []byte) any {
	if text == nil {
		return nil
	}
	return json.RawMessage(text)
}

func manifestForm(reconciler gyre.Registered) map[string]any {
	m := reconciler.Manifest()
	children := []any{}
	for _, child := range m.Children {
		children = append(children, map[string]any{
			"kind":               kindFormOf(child.Kind),
			"strategy":           strategies[child.Strategy],
			"strongest_strategy": strategyForm(child.Strongest),
			"propagation":        propagations[child.Propagation],
			"outlives_parent":    child.OutlivesParent,
		})
	}
	reads := []any{}
	for _, read := range m.Reads {
		reads = append(reads, map[string]any{
			"kind":           kindFormOf(read.Kind),
			"namespace":      textOrNull(read.Namespace),
			"label_selector": textOrNull(read.LabelSelector),
			"metadata_only":  read.MetadataOnly,
		})
	}
	crds := []any{}
	for _, crd := range m.CRDs {
		crds = append(crds, json.RawMessage(crd))
	}
	return map[string]any{
		"name":            m.Name,
		"version":         m.Version,
		"description":     m.Description,
		"parent":          kindFormOf(m.Parent),
		"grouping":        groupingForm(m),
		"children":        children,
		"reads":           reads,
		"parent_fields":   append([]string{}, m.ParentFields...),
		"deletes_parent":  m.DeletesParent,
		"finalizes":       reconciler.Finalizes(),
		"settings_schema": jsonOrNull(reconciler.SettingsSchema()),
		"crds":            crds,
	}
}

func groupingForm(m gyre.Manifest) any {
	switch {
	case m.GroupBy != "":
		return map[string]string{"byField": m.GroupBy}
	case m.Grouped:
		return "all"
	default:
		return nil
	}
}

func responseForm(plan gyre.Plan) map[string]any {
	response := map[string]any{
		"children":       nil,
		"status":         jsonOrNull(plan.Status),
		"conditions":     conditionForms(plan.Conditions),
		"events":         []any{},
		"requeueAfterMs": nil,
		"parent":         jsonOrNull(plan.ParentFields),
		"deleteParent":   nil,
		"members":        []any{},
		"done":           plan.ReleasesParent,
	}
	if plan.ListsChildren {
		children := []any{}
		for _, child := range plan.Children {
			children = append(children, childForm(child))
		}
		response["children"] = children
	}
	events := []any{}
	for _, event := range plan.Events {
		events = append(events, map[string]any{"type": severities[event.Severity], "reason": event.Reason, "message": event.Message})
	}
	response["events"] = events
	if plan.RequeueAfter > 0 {
		response["requeueAfterMs"] = milliseconds(plan.RequeueAfter)
	}
	if deletion := plan.ParentDeletion; deletion != nil {
		response["deleteParent"] = map[string]any{
			"afterMs":     milliseconds(deletion.After),
			"propagation": propagations[deletion.Propagation],
		}
	}
	members := []any{}
	for _, member := range plan.Members {
		members = append(members, map[string]any{
			"namespace":  textOrNull(member.Namespace),
			"name":       member.Name,
			"status":     jsonOrNull(member.Status),
			"conditions": conditionForms(member.Conditions),
		})
	}
	response["members"] = members
	return response
}

func childForm(child gyre.Child) any {
	if child.Object != nil {
		return map[string]any{"apply": map[string]any{
			"object":   json.RawMessage(child.Object),
			"strategy": strategyForm(child.Strategy),
		}}
	}
	kept := child.Kept
	kind := strings.TrimSuffix(kept.Kind.Kind+"."+kept.Kind.Version+"."+kept.Kind.Group, ".")
	return map[string]any{"keep": map[string]any{"kind": kind, "namespace": textOrNull(kept.Namespace), "name": kept.Name}}
}

func conditionForms(conditions []gyre.Condition) []any {
	forms := []any{}
	for _, c := range conditions {
		forms = append(forms, map[string]string{"type": c.Type, "status": truths[c.Status], "reason": c.Reason, "message": c.Message})
	}
	return forms
}

func failureForm(err error) map[string]any {
	failure := gyre.FailureOf(err)
	form := map[string]any{"message": err.Error()}
	switch {
	case failure.Terminal:
		form["reason"] = "TerminalFailure"
	case failure.Delay > 0:
		form["reason"] = "RetryAfter"
		form["afterMs"] = milliseconds(failure.Delay)
	default:
		form["reason"] = "TransientFailure"
	}
	return form
}

// milliseconds rounds up.
func milliseconds(duration time.Duration) int64 {
	return int64((max(duration, 0) + time.Millisecond - 1) / time.Millisecond)
}
