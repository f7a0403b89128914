"""The seed of Python's hashes, on which the order of sets depends.

    seed ──▶ a WebAssembly library ──▶ componentize-py links it ──▶ its constructor sets PYTHONHASHSEED
                                                                     ──▶ the interpreter starts

The hashes of all strings are in the snapshot of the interpreter, so the seed is chosen when a
component is built. componentize-py has no option for it: the interpreter draws it. But it links
libraries that it finds among the modules, and constructors of libraries run first.
"""

from __future__ import annotations

from collections.abc import Iterable

FILE = "gyre_hash_seed.cpython-314-wasm32-wasi.so"
"""The name of the library: componentize-py links files with this ending."""

LARGEST = 0xFFFF_FFFF
"""The largest seed of Python."""

_I32 = b"\x7f"
_FUNCTION, _MEMORY, _GLOBAL = b"\x00", b"\x02", b"\x03"


def _number(value: int) -> bytes:
    """Encodes an unsigned number, as WebAssembly does (LEB128)."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _sized(content: bytes) -> bytes:
    return _number(len(content)) + content


def _list(items: Iterable[bytes]) -> bytes:
    encoded = list(items)
    return _number(len(encoded)) + b"".join(encoded)


def _section(number: int, content: bytes) -> bytes:
    return bytes([number]) + _sized(content)


def library(seed: int) -> bytes:
    """Returns a library that calls ``setenv("PYTHONHASHSEED", seed, 1)`` of the C library."""
    name = b"PYTHONHASHSEED\0"
    data = name + f"{seed}\0".encode()
    # See https://github.com/WebAssembly/tool-conventions/blob/main/DynamicLinking.md.
    size_of_data = b"\x01" + _sized(_number(len(data)) + b"\x00\x00\x00")
    needed_libraries = b"\x02" + _sized(_list([_sized(b"libc.so")]))
    types = [
        b"\x60" + _list([_I32, _I32, _I32]) + _list([_I32]),
        b"\x60" + _list([]) + _list([]),
    ]
    environment = _sized(b"env")
    imports = [
        environment + _sized(b"memory") + _MEMORY + b"\x00\x00",
        environment + _sized(b"__memory_base") + _GLOBAL + _I32 + b"\x00",
        environment + _sized(b"setenv") + _FUNCTION + b"\x00",
    ]
    exports = [_sized(b"__wasm_call_ctors") + _FUNCTION + b"\x01"]
    base = b"\x23\x00"
    constructor = b"".join(
        [
            base,
            base + b"\x41" + _number(len(name)) + b"\x6a",  # i32.const, i32.add
            b"\x41\x01",  # i32.const: replace a value that is set
            b"\x10\x00",  # call
            b"\x1a\x0b",  # drop, end
        ]
    )
    return b"".join(
        [
            b"\0asm\x01\0\0\0",
            _section(0, _sized(b"dylink.0") + size_of_data + needed_libraries),
            _section(1, _list(types)),
            _section(2, _list(imports)),
            _section(3, _list([b"\x01"])),
            _section(7, _list(exports)),
            _section(10, _list([_sized(_list([]) + constructor)])),
            _section(11, _list([b"\x00" + base + b"\x0b" + _sized(data)])),
        ]
    )
