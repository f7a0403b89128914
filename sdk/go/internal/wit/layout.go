// Package wit lowers the values of a plugin as the canonical ABI of the component model has them.
//
// A value is described by a Type, and written from plain Go values: byte for u8, enum and bool,
// uint64 for u64, []byte or string for texts, []any for records and lists, and Case for variants.
// An absent option is nil. See contract.go for the types of plugin.wit.
package wit

import "encoding/binary"

type shape int

const (
	scalar shape = iota
	text
	list
	record
	variant
)

// Type is the layout of a value in memory.
type Type struct {
	shape       shape
	size, align int
	// The fields of a record, the cases of a variant (nil is a case without a payload), or the
	// element of a list.
	parts []*Type
}

// Case is a value of a variant: the index of the case, and its payload.
type Case struct {
	Index   byte
	Payload any
}

// The scalar types, and strings; a list of bytes has the layout of a string.
var (
	U8   = &Type{size: 1, align: 1}
	U64  = &Type{size: 8, align: 8}
	Text = &Type{shape: text, size: 8, align: 4}
)

// List returns the type of a list.
func List(element *Type) *Type {
	return &Type{shape: list, size: 8, align: 4, parts: []*Type{element}}
}

// Record returns the type of a record or tuple.
func Record(fields ...*Type) *Type {
	t := &Type{shape: record, align: 1, parts: fields}
	for _, field := range fields {
		t.align = max(t.align, field.align)
		t.size = alignUp(t.size, field.align) + field.size
	}
	t.size = alignUp(t.size, t.align)
	return t
}

// Variant returns the type of a variant with at most 256 cases.
func Variant(cases ...*Type) *Type {
	t := &Type{shape: variant, align: 1, parts: cases}
	for _, payload := range cases {
		if payload != nil {
			t.align, t.size = max(t.align, payload.align), max(t.size, payload.size)
		}
	}
	t.size = alignUp(alignUp(1, t.align)+t.size, t.align)
	return t
}

// Option returns the type of an option.
func Option(some *Type) *Type { return Variant(nil, some) }

// Some returns a present option.
func Some(value any) Case { return Case{1, value} }

// None is an absent option.
var None = Case{}

// Memory keeps what was lowered, until the caller of the export has read it, and gives addresses.
type Memory interface {
	// Hold keeps the bytes and returns their address.
	Hold(bytes []byte) uint32
}

// Lower writes a value and returns its address.
func Lower(memory Memory, t *Type, value any) uint32 {
	bytes := aligned(t.size)
	t.lower(memory, bytes, value)
	return memory.Hold(bytes)
}

func (t *Type) lower(memory Memory, at []byte, value any) {
	switch t.shape {
	case scalar:
		if t.size == 8 {
			binary.LittleEndian.PutUint64(at, value.(uint64))
		} else {
			at[0] = value.(byte)
		}
	case text:
		bytes, ok := value.([]byte)
		if !ok {
			bytes = []byte(value.(string))
		}
		putSlice(memory, at, bytes, len(bytes))
	case list:
		elements, element := value.([]any), t.parts[0]
		bytes := aligned(element.size * len(elements))
		for index, value := range elements {
			element.lower(memory, bytes[index*element.size:], value)
		}
		putSlice(memory, at, bytes, len(elements))
	case record:
		values, offset := value.([]any), 0
		if len(values) != len(t.parts) {
			panic("the value of a record has another number of fields than its type")
		}
		for index, field := range t.parts {
			offset = alignUp(offset, field.align)
			field.lower(memory, at[offset:], values[index])
			offset += field.size
		}
	case variant:
		value := value.(Case)
		at[0] = value.Index
		if payload := t.parts[value.Index]; payload != nil {
			payload.lower(memory, at[alignUp(1, t.align):], value.Payload)
		}
	}
}

func putSlice(memory Memory, at, bytes []byte, length int) {
	address := uint32(8)
	if len(bytes) > 0 {
		address = memory.Hold(bytes)
	}
	binary.LittleEndian.PutUint32(at, address)
	binary.LittleEndian.PutUint32(at[4:], uint32(length))
}

func alignUp(offset, align int) int { return (offset + align - 1) / align * align }
