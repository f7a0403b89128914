"""Names for children that may only be DNS labels, e.g. Jobs and containers, and fingerprints of
texts.

They are those of the SDKs of other languages, so that a plugin that is written again keeps its
children.
"""

from __future__ import annotations

LABEL_LIMIT = 63
"""The maximum length of a DNS label (RFC 1123)."""

_LENGTH = 13  # 64 bits at 5 bits a character.
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset("0123456789")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


def fingerprint(*texts: str) -> str:
    """Returns a fingerprint of texts: 13 lower-case letters and digits, from a hash that never
    changes.

    It is for annotations that change with their inputs, and no proof of origin, because collisions
    can be constructed.
    """
    hash = _OFFSET_BASIS
    for text in texts:
        # UTF-8 does not contain this byte, so ["ab", "c"] and ["a", "bc"] differ.
        hash = _add(hash, text.encode() + b"\xff")
    return _text(hash)


_OFFSET_BASIS = 0xCBF29CE484222325


def _add(hash: int, data: bytes) -> int:
    """The 64-bit FNV-1a hash."""
    for byte in data:
        hash = ((hash ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return hash


def _text(hash: int) -> str:
    return "".join(_ALPHABET[(hash >> (5 * digit)) & 31] for digit in range(_LENGTH))


def dns_label(name: str, limit: int = LABEL_LIMIT) -> str:
    """Returns the name if it is a DNS label (RFC 1123). Otherwise returns a label with the start of
    the name and a hash of all of it. The same name always gives the same label.

    Args:
        name: Any text.
        limit: The most characters, e.g. 52 for a CronJob: at least 15, at most 63.
    """
    limit = min(max(limit, _LENGTH + 2), LABEL_LIMIT)
    if len(name) <= limit and _is_dns_label(name):
        return name
    start = _start(name, limit, _LOWER | _DIGITS)
    return f"{start}-{_hash_of(name)}" if start else _hash_of(name)


def service_label(name: str) -> str:
    """Like :func:`dns_label`, but begins with a letter (RFC 1035), as the name of a Service
    must."""
    if len(name) <= LABEL_LIMIT and _is_dns_label(name) and name[0] in _LOWER:
        return name
    # The hash may begin with a digit.
    return f"{_start(name, LABEL_LIMIT, _LOWER) or 'x'}-{_hash_of(name)}"


def _hash_of(name: str) -> str:
    return _text(_add(_OFFSET_BASIS, name.encode()))


def _start(name: str, limit: int, first: frozenset[str]) -> str:
    """Returns the part of the name before the hyphen and hash."""
    label = ""
    for character in name[: limit - _LENGTH - 1]:
        if "A" <= character <= "Z":
            character = character.lower()
        if not label and character not in first:
            continue
        label += character if character in _LOWER or character in _DIGITS else "-"
    return label.rstrip("-")


def _is_dns_label(name: str) -> bool:
    is_inner = all(
        character in _LOWER or character in _DIGITS or character == "-" for character in name
    )
    return bool(name) and is_inner and not name.startswith("-") and not name.endswith("-")
