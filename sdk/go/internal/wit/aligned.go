package wit

import "unsafe"

// aligned returns bytes at an address that is a multiple of 8, which Go does not promise for bytes.
func aligned(size int) []byte {
	words := make([]uint64, (size+7)/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
}

// Aligned returns bytes at an address that is a multiple of 8.
func Aligned(size int) []byte { return aligned(size) }
