package gyre

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"gyre.dev/gyre/internal/wit"
)

// collect is the growth in per cent at which Go collects garbage while the plugin runs: at 16 MiB
// first, which most calls never reach, since the collector reads the clock.
const collect = 400

// held are the blocks whose addresses the host has. They live until the end of the call.
var held memory

type memory struct{ blocks [][]byte }

func (m *memory) Hold(bytes []byte) uint32 {
	m.blocks = append(m.blocks, bytes)
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(bytes))))
}

// The collector must not run while the host writes the arguments of a call, or the result of a
// read, because cabi_realloc may not call the host.
func init() { debug.SetGCPercent(-1) }

//go:wasmexport cabi_realloc
func realloc(old, oldSize, align, size uint32) uint32 {
	if size == 0 {
		return align
	}
	bytes := wit.Aligned(int(size))
	if old != 0 && oldSize > 0 {
		copy(bytes, view(old, oldSize))
	}
	return held.Hold(bytes)
}

// view returns the bytes at an address that belongs to a held block.
func view(address, length uint32) []byte {
	if length == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(uintptr(address))), length)
}

// call runs the plugin. A panic is written as the host knows it, and ends the instance.
func call(export func() uint32) uint32 {
	debug.SetGCPercent(collect)
	defer debug.SetGCPercent(-1)
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(os.Stderr, "thread 'go' panicked at %s:\n%v\n", place(), cause)
			os.Stderr.Write(debug.Stack())
			os.Exit(2)
		}
	}()
	return export()
}

// place returns the file and line that panicked.
func place() string {
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	panicked := false
	for {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}

func context() Context { return Context{Cluster: host{}, Log: slog.New(&handler{})} }

//go:wasmexport gyre:plugin/reconciler@0.1.0#describe
func describe() uint32 {
	return call(func() uint32 {
		return wit.Lower(&held, wit.Manifests, each(programs, func(p *program) any { return lowerManifest(p) }))
	})
}

//go:wasmexport gyre:plugin/reconciler@0.1.0#validate-settings
func validateSettings(name, nameLen, settings, settingsLen uint32) uint32 {
	return call(func() uint32 {
		p, err := find(string(view(name, nameLen)))
		if err == nil {
			err = p.validate(view(settings, settingsLen))
		}
		if err != nil {
			return wit.Lower(&held, wit.SettingsResult, wit.Case{Index: 1, Payload: err.Error()})
		}
		return wit.Lower(&held, wit.SettingsResult, wit.Case{})
	})
}

//go:wasmexport gyre:plugin/reconciler@0.1.0#reconcile
func reconcile(name, nameLen, parent, parentLen, settings, settingsLen uint32) uint32 {
	return call(func() uint32 {
		var plan Plan
		p, err := find(string(view(name, nameLen)))
		if err == nil {
			plan, err = p.reconcile(context(), view(parent, parentLen), view(settings, settingsLen))
		}
		return wit.Lower(&held, wit.ReconcileResult, lowerResult(plan, err, func(response []any) any { return response }))
	})
}

//go:wasmexport gyre:plugin/reconciler@0.1.0#finalize
func finalize(name, nameLen, parent, parentLen, settings, settingsLen uint32) uint32 {
	return call(func() uint32 {
		var plan Plan
		p, err := find(string(view(name, nameLen)))
		if err == nil && p.finalize == nil {
			err = Terminal("the reconciler %s does not finalize", p.manifest.Name)
		}
		if err == nil {
			plan, err = p.finalize(context(), view(parent, parentLen), view(settings, settingsLen))
		}
		result := lowerResult(plan, err, func(response []any) any { return []any{response, truth(plan.ReleasesParent)} })
		return wit.Lower(&held, wit.FinalizeResult, result)
	})
}

// release forgets the blocks of a call, once the host has read its result.
func release() { held.blocks = nil }

//go:wasmexport cabi_post_gyre:plugin/reconciler@0.1.0#describe
func postDescribe(uint32) { release() }

//go:wasmexport cabi_post_gyre:plugin/reconciler@0.1.0#validate-settings
func postValidateSettings(uint32) { release() }

//go:wasmexport cabi_post_gyre:plugin/reconciler@0.1.0#reconcile
func postReconcile(uint32) { release() }

//go:wasmexport cabi_post_gyre:plugin/reconciler@0.1.0#finalize
func postFinalize(uint32) { release() }
