package wit

// The types of gyre:plugin@0.1.0 that a plugin returns, in the order of plugin.wit. A field that
// the contract gets is one entry here, and one in the function of convert.go that writes it.
var (
	GroupVersionKind = Record(Text, Text, Text)
	ObjectRef        = Record(GroupVersionKind, Option(Text), Text)
	ChildKind        = Record(GroupVersionKind, U8, Option(U8), U8, U8)
	ReadKind         = Record(GroupVersionKind, Option(Text), Option(Text), U8)
	Grouping         = Variant(nil, nil, Text)
	Manifest         = Record(
		Text, Text, Text, // name, version, description
		GroupVersionKind, Grouping, List(ChildKind), List(ReadKind), // parent, grouping, children, reads
		List(Text), U8, U8, // parent-fields, deletes-parent, finalizes
		Option(Text), List(Text)) // settings-schema, crds

	DesiredChild   = Record(Text, Option(U8))
	Child          = Variant(DesiredChild, ObjectRef)
	Condition      = Record(Text, U8, Text, Text)
	Event          = Record(U8, Text, Text)
	ParentDeletion = Record(U64, U8)
	MemberStatus   = Record(Option(Text), Text, Option(Text), List(Condition))
	Response       = Record(
		Option(List(Child)), Option(Text), // children, status
		List(Condition), List(Event),
		Option(U64), Option(Text), Option(ParentDeletion), // requeue-after-ms, parent, delete-parent
		List(MemberStatus)) // members
	Failure  = Variant(Text, Record(U64, Text), Text)
	Teardown = Record(Response, U8)

	Manifests       = List(Manifest)
	ReconcileResult = Variant(Response, Failure)
	FinalizeResult  = Variant(Teardown, Failure)
	SettingsResult  = Variant(nil, Text)
	LogFields       = List(Record(Text, Text))
)
