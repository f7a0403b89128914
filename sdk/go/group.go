package gyre

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Group is the parents of one call, if the manifest groups them: what the plugin returns exists
// because of all of them.
type Group[P any] struct {
	// Members are the parents, by namespace and name, also those that are being deleted.
	Members []P `json:"members"`
	Spec    struct {
		// Value is that of the field that the members have in common: Manifest.GroupBy. It is empty if
		// all parents are one group.
		Value string `json:"value"`
	} `json:"spec"`
	// Status is what Plan.WithStatus has written for the group, in JSON: see ReadStatus.
	Status json.RawMessage `json:"status"`
}

// ReadStatus reads the status that Plan.WithStatus has written for the group. A group without one
// leaves the value as it is.
func (g *Group[P]) ReadStatus(into any) error {
	if len(g.Status) == 0 {
		return nil
	}
	return json.Unmarshal(g.Status, into)
}

// GroupOf returns a group, for a test.
func GroupOf[P any](members ...P) *Group[P] { return &Group[P]{Members: members} }

// Member is the status of one member of a Group, for Plan.WithMember.
type Member struct {
	Namespace, Name string
	// Status is the plugin's whole status in JSON, without conditions. Nil leaves it as it is.
	Status     []byte
	Conditions []Condition
	err        error
}

// MemberOf returns what leaves the status of the object as it is.
func MemberOf(metadata ObjectMeta) Member {
	return Member{Namespace: metadata.Namespace, Name: metadata.Name}
}

// WithStatus sets the plugin's whole status.
func (m Member) WithStatus(status any) Member {
	text, err := json.Marshal(status)
	if err != nil {
		m.err = fmt.Errorf("cannot write the status of %s: %w", m.Name, err)
	}
	m.Status = text
	return m
}

// WithCondition adds a condition.
func (m Member) WithCondition(condition Condition) Member {
	m.Conditions = append(m.Conditions[:len(m.Conditions):len(m.Conditions)], condition)
	return m
}

// Ready sets the condition Ready to True.
func (m Member) Ready(reason, format string, arguments ...any) Member {
	return m.WithCondition(Condition{"Ready", True, reason, fmt.Sprintf(format, arguments...)})
}

// NotReady sets the condition Ready to False.
func (m Member) NotReady(reason, format string, arguments ...any) Member {
	return m.WithCondition(Condition{"Ready", False, reason, fmt.Sprintf(format, arguments...)})
}

// withMembers returns the parent of a call with the members of its group, if it is one.
func withMembers(parent []byte, members [][]byte) []byte {
	end := bytes.LastIndexByte(parent, '}')
	if len(members) == 0 || end < 0 {
		return parent
	}
	var text bytes.Buffer
	text.Write(parent[:end])
	text.WriteString(`,"members":[`)
	for index, member := range members {
		if index > 0 {
			text.WriteByte(',')
		}
		text.Write(member)
	}
	text.WriteString("]}")
	return text.Bytes()
}
