package gyre

import (
	stdcontext "context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"unsafe"

	"gyre.dev/gyre/internal/wit"
)

//go:wasmimport gyre:plugin/cluster@0.1.0 children
func hostChildren(group, groupLen, version, versionLen, kind, kindLen, result uint32)

//go:wasmimport gyre:plugin/cluster@0.1.0 get
func hostGet(group, groupLen, version, versionLen, kind, kindLen, hasNamespace, namespace, namespaceLen, name, nameLen, result uint32)

//go:wasmimport gyre:plugin/cluster@0.1.0 list
func hostList(group, groupLen, version, versionLen, kind, kindLen, hasNamespace, namespace, namespaceLen, hasSelector, selector, selectorLen, result uint32)

//go:wasmimport gyre:plugin/log@0.1.0 log
func hostLog(level, message, messageLen, fields, fieldsLen uint32)

// result is where the host writes the result of a read: a global, because stacks of Go move.
var result [8]uint32

func resultAddress() uint32 { return uint32(uintptr(unsafe.Pointer(&result))) }

// host is the Cluster of a running plugin.
type host struct{}

// hold returns the address and length of a text that does not move.
func hold(text string) (uint32, uint32) {
	if text == "" {
		return 1, 0
	}
	return held.Hold([]byte(text)), uint32(len(text))
}

func holdOption(text string) (has, address, length uint32) {
	address, length = hold(text)
	if text != "" {
		has = 1
	}
	return has, address, length
}

// read calls the host. The collector is off, because the host calls cabi_realloc.
func read(call func()) {
	debug.SetGCPercent(-1)
	call()
	debug.SetGCPercent(collect)
}

func (host) Children(kind GroupVersionKind) ([][]byte, error) {
	group, groupLen := hold(kind.Group)
	version, versionLen := hold(kind.Version)
	name, nameLen := hold(kind.Kind)
	read(func() { hostChildren(group, groupLen, version, versionLen, name, nameLen, resultAddress()) })
	return list()
}

func (host) Get(kind GroupVersionKind, namespace, object string) ([]byte, error) {
	group, groupLen := hold(kind.Group)
	version, versionLen := hold(kind.Version)
	name, nameLen := hold(kind.Kind)
	hasNamespace, in, inLen := holdOption(namespace)
	of, ofLen := hold(object)
	read(func() {
		hostGet(group, groupLen, version, versionLen, name, nameLen, hasNamespace, in, inLen, of, ofLen, resultAddress())
	})
	if err := readError(); err != nil {
		return nil, err
	}
	if byte(result[1]) == 0 {
		return nil, ErrNotFound
	}
	return view(result[2], result[3]), nil
}

func (host) List(kind GroupVersionKind, namespace, labelSelector string) ([][]byte, error) {
	group, groupLen := hold(kind.Group)
	version, versionLen := hold(kind.Version)
	name, nameLen := hold(kind.Kind)
	hasNamespace, in, inLen := holdOption(namespace)
	hasSelector, selector, selectorLen := holdOption(labelSelector)
	read(func() {
		hostList(group, groupLen, version, versionLen, name, nameLen, hasNamespace, in, inLen, hasSelector, selector, selectorLen, resultAddress())
	})
	return list()
}

// list returns the list of texts in result.
func list() ([][]byte, error) {
	if err := readError(); err != nil {
		return nil, err
	}
	address, length := result[1], result[2]
	if length == 0 {
		return nil, nil
	}
	return views(address, length), nil
}

func readError() error {
	if byte(result[0]) == 0 {
		return nil
	}
	switch byte(result[1]) {
	case 0:
		return ErrNotDeclared
	case 1:
		return ErrNotGranted
	case 2:
		return ErrNotServed
	default:
		return fmt.Errorf("%w: %s", ErrInvalidSelector, view(result[2], result[3]))
	}
}

// handler writes records of slog into the host's log.
type handler struct {
	fields []any
	prefix string
}

func (*handler) Enabled(stdcontext.Context, slog.Level) bool { return true }

func (h *handler) Handle(_ stdcontext.Context, record slog.Record) error {
	fields := h.fields[:len(h.fields):len(h.fields)]
	record.Attrs(func(attribute slog.Attr) bool {
		fields = appendField(fields, h.prefix, attribute)
		return true
	})
	level := uint32(4)
	switch {
	case record.Level < slog.LevelDebug:
		level = 0
	case record.Level < slog.LevelInfo:
		level = 1
	case record.Level < slog.LevelWarn:
		level = 2
	case record.Level < slog.LevelError:
		level = 3
	}
	message, messageLen := hold(record.Message)
	address := wit.Lower(&held, wit.LogFields, fields)
	pair := (*[2]uint32)(pointer(address))
	hostLog(level, message, messageLen, pair[0], pair[1])
	return nil
}

func appendField(fields []any, prefix string, attribute slog.Attr) []any {
	value := attribute.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		return append(fields, []any{prefix + attribute.Key, value.String()})
	}
	if attribute.Key != "" {
		prefix += attribute.Key + "."
	}
	for _, inner := range value.Group() {
		fields = appendField(fields, prefix, inner)
	}
	return fields
}

func (h *handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	fields := h.fields[:len(h.fields):len(h.fields)]
	for _, attribute := range attributes {
		fields = appendField(fields, h.prefix, attribute)
	}
	return &handler{fields, h.prefix}
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{h.fields, h.prefix + name + "."}
}
