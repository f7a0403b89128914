package wit

import "testing"

func TestLayoutsAreThoseOfTheCanonicalABI(t *testing.T) {
	for name, test := range map[string]struct {
		layout      *Type
		size, align int
	}{
		"option<u8>":       {Option(U8), 2, 1},
		"option<u64>":      {Option(U64), 16, 8},
		"record{u8,text}":  {Record(U8, Text), 12, 4},
		"read-kind":        {ReadKind, 52, 4},
		"child-kind":       {ChildKind, 32, 4},
		"grouping":         {Grouping, 12, 4},
		"manifest":         {Manifest, 108, 4},
		"child":            {Child, 48, 4},
		"parent-deletion":  {ParentDeletion, 16, 8},
		"member-status":    {MemberStatus, 40, 4},
		"response":         {Response, 104, 8},
		"reconcile result": {ReconcileResult, 112, 8},
		"finalize result":  {FinalizeResult, 120, 8},
	} {
		if test.layout.size != test.size || test.layout.align != test.align {
			t.Errorf("%s has %d bytes at %d instead of %d at %d", name, test.layout.size, test.layout.align, test.size, test.align)
		}
	}
}

type fake [][]byte

func (f *fake) Hold(bytes []byte) uint32 {
	*f = append(*f, bytes)
	return uint32(len(*f))
}

func TestAListOfRecordsIsLowered(t *testing.T) {
	var memory fake
	Lower(&memory, List(Record(U8, Option(Text))), []any{[]any{byte(7), Some("it")}, []any{byte(9), None}})
	elements := memory[1]
	if string(memory[0]) != "it" || elements[0] != 7 || elements[4] != 1 || elements[8] != 1 || elements[12] != 2 || elements[16] != 9 || elements[20] != 0 {
		t.Errorf("unexpected bytes: %v", memory)
	}
}
