package gyre

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"unsafe"

	"gyre.dev/gyre/internal/panics"
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

// pointer returns an address of the linear memory as a pointer.
func pointer(address uint32) unsafe.Pointer { return unsafe.Add(nil, address) }

// view returns the bytes at an address that belongs to a held block.
func view(address, length uint32) []byte {
	if length == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(address)), length)
}

// views returns the texts of a list at an address that belongs to a held block.
func views(address, length uint32) [][]byte {
	if length == 0 {
		return nil
	}
	pairs := unsafe.Slice((*[2]uint32)(pointer(address)), length)
	texts := make([][]byte, length)
	for index, pair := range pairs {
		texts[index] = view(pair[0], pair[1])
	}
	return texts
}

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(at, length uint32) uint32

// shuffle moves Go's random numbers, such as those that order maps, to a place that the host's random
// numbers choose. Without it each call would get the same ones: a component begins with the state that
// the init functions have left when it was built.
func shuffle() {
	skipped := new([1]byte)
	randomGet(uint32(uintptr(unsafe.Pointer(skipped))), 1)
	for range skipped[0] {
		rand.Uint64()
	}
}

// call runs the plugin. A panic is written as the host knows it, and ends the instance.
func call(export func() uint32) uint32 {
	shuffle()
	debug.SetGCPercent(collect)
	defer debug.SetGCPercent(-1)
	defer func() {
		if cause := recover(); cause != nil {
			os.Stderr.WriteString(panics.Report(cause, module()))
			os.Exit(2)
		}
	}()
	return export()
}

// module returns the path of the plugin's module.
func module() string {
	build, known := debug.ReadBuildInfo()
	if !known {
		return ""
	}
	return build.Main.Path
}

func context() Context { return Context{Cluster: host{}, Log: NewLogger(&handler{})} }

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
func reconcile(name, nameLen, parent, parentLen, members, membersLen, settings, settingsLen uint32) uint32 {
	return call(func() uint32 {
		var plan Plan
		p, err := find(string(view(name, nameLen)))
		if err == nil {
			group := withMembers(view(parent, parentLen), views(members, membersLen))
			plan, err = p.reconcile(context(), group, view(settings, settingsLen))
		}
		return wit.Lower(&held, wit.ReconcileResult, lowerResult(plan, err, func(response []any) any { return response }))
	})
}

//go:wasmexport gyre:plugin/reconciler@0.1.0#finalize
func finalize(name, nameLen, parent, parentLen, _, _, settings, settingsLen uint32) uint32 {
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
