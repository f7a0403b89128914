package wit

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

const pluginWIT = "../../../wit/v0.1.0/plugin.wit"

func TestTheTypesAreThoseOfTheContract(t *testing.T) {
	text, err := os.ReadFile(pluginWIT)
	if err != nil {
		t.Fatal(err)
	}
	contract := parse(t, string(text))
	for name, ours := range map[string]*Type{
		"group-version-kind":          GroupVersionKind,
		"object-ref":                  ObjectRef,
		"child-kind":                  ChildKind,
		"read-kind":                   ReadKind,
		"grouping":                    Grouping,
		"manifest":                    Manifest,
		"desired-child":               DesiredChild,
		"child":                       Child,
		"condition":                   Condition,
		"event":                       Event,
		"parent-deletion":             ParentDeletion,
		"member-status":               MemberStatus,
		"response":                    Response,
		"failure":                     Failure,
		"teardown":                    Teardown,
		"result of describe":          Manifests,
		"result of validate-settings": SettingsResult,
		"result of reconcile":         ReconcileResult,
		"result of finalize":          FinalizeResult,
	} {
		theirs, ok := contract.types[name]
		if !ok {
			t.Errorf("the contract has no %s", name)
			continue
		}
		if !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s is %s instead of %s", name, ours, theirs)
		}
	}
}

func TestARequestHasTheFieldsThatTheExportsTake(t *testing.T) {
	text, err := os.ReadFile(pluginWIT)
	if err != nil {
		t.Fatal(err)
	}
	// The flat parameters of reconcile and finalize in exports_wasip1.go: reconciler, parent, members
	// and settings, each an address and a length.
	want := Record(Text, Text, List(Text), Text)
	if got := parse(t, string(text)).types["request"]; !reflect.DeepEqual(got, want) {
		t.Errorf("a request is %s instead of %s", got, want)
	}
}

// String returns the structure of a type.
func (t *Type) String() string {
	if t == nil {
		return "_"
	}
	switch t.shape {
	case scalar:
		return fmt.Sprintf("u%d", 8*t.size)
	case text:
		return "text"
	}
	parts := make([]string, len(t.parts))
	for index, part := range t.parts {
		parts[index] = part.String()
	}
	name := map[shape]string{list: "list", record: "record", variant: "variant"}[t.shape]
	return name + "(" + strings.Join(parts, ", ") + ")"
}

// parser reads the part of WIT that the contract uses. Types are declared before they are used.
type parser struct {
	t      *testing.T
	tokens []string
	types  map[string]*Type
}

var (
	comments = regexp.MustCompile(`//[^\n]*`)
	tokens   = regexp.MustCompile(`->|[%a-z0-9_-]+|[{}()<>:;,=]`)
)

// parse returns the types of the interfaces, and the results of the functions as "result of NAME".
func parse(t *testing.T, source string) *parser {
	p := &parser{t: t, types: map[string]*Type{"json": Text}}
	p.tokens = tokens.FindAllString(comments.ReplaceAllString(source, ""), -1)
	for len(p.tokens) > 0 {
		switch keyword := p.next(); keyword {
		case "record":
			p.types[p.next()] = Record(p.members()...)
		case "variant":
			p.types[p.next()] = Variant(p.members()...)
		case "enum":
			p.types[p.next()] = U8
			p.members()
		default:
			p.function(keyword)
		}
	}
	return p
}

func (p *parser) next() string {
	if len(p.tokens) == 0 {
		p.t.Fatal("the contract ends within a type")
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

func (p *parser) accept(token string) bool {
	if len(p.tokens) == 0 || p.tokens[0] != token {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// members returns the types of the fields of a record, or of the payloads of a variant.
func (p *parser) members() []*Type {
	var members []*Type
	p.accept("{")
	for !p.accept("}") {
		p.next()
		switch {
		case p.accept(":"):
			members = append(members, p.typeOf())
		case p.accept("("):
			members = append(members, p.typeOf())
			p.accept(")")
		default:
			members = append(members, nil)
		}
		p.accept(",")
	}
	return members
}

// function reads the rest of `name: func(parameters) -> result;`, and ignores everything else.
func (p *parser) function(name string) {
	if len(p.tokens) < 2 || p.tokens[0] != ":" || p.tokens[1] != "func" {
		return
	}
	for token := p.next(); token != ")"; token = p.next() {
	}
	if p.accept("->") {
		p.types["result of "+name] = p.typeOf()
	}
}

func (p *parser) typeOf() *Type {
	switch name := p.next(); name {
	case "_":
		return nil
	case "string":
		return Text
	case "bool":
		return U8
	case "u64":
		return U64
	case "list":
		element := p.arguments()[0]
		return List(element)
	case "option":
		return Option(p.arguments()[0])
	case "tuple":
		return Record(p.arguments()...)
	case "result":
		return Variant(p.arguments()...)
	default:
		declared, ok := p.types[name]
		if !ok {
			p.t.Fatalf("the test does not know the type %s", name)
		}
		return declared
	}
}

func (p *parser) arguments() []*Type {
	var arguments []*Type
	p.accept("<")
	for !p.accept(">") {
		arguments = append(arguments, p.typeOf())
		p.accept(",")
	}
	return arguments
}
