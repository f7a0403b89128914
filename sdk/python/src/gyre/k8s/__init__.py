"""The built-in kinds, with all their fields: ``from gyre.k8s import ConfigMap, Job``.

    _table.py ──▶ a class is made when it is first used

Every field is optional, so that a plugin says only what it wants to decide: the host applies these
fields, and leaves others to the defaults of the API server and to other writers.

    job = Job("hello", spec=JobSpec(backoff_limit=2, template=PodTemplateSpec(spec=pod)))
    assert job.spec.backoff_limit == 2
    assert job.status.completion_time is None

The stub ``__init__.pyi`` has the types and descriptions. Both are generated from the OpenAPI
documents of the version of Kubernetes that the in-memory API server imitates.
"""

from __future__ import annotations

from typing import Any

from .._kinds import Kind
from .._objects import (
    BYTES,
    DATA,
    TIME,
    Fields,
    ListOf,
    MapOf,
    ObjectMeta,
    OwnerReference,
    Part,
    Resource,
)
from . import _methods
from ._table import TABLE

MADE: dict[str, type[Fields]] = {"ObjectMeta": ObjectMeta, "OwnerReference": OwnerReference}
"""The classes that are made, by their names."""


def __getattr__(name: str) -> type[Fields]:
    if name not in TABLE:
        raise AttributeError(
            f"gyre.k8s has no class {name}: gyre.Kind and dicts are for kinds without a class"
        )
    return _class(name)


def __dir__() -> list[str]:
    return sorted([*TABLE, *MADE])


class _PartByName(Part):
    """The codec of a part whose class may not be made yet."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        # Only a class that is not known yet comes here.
        if attribute != "of":
            raise AttributeError(attribute)
        self.of = _class(self.name)
        return self.of


def _codec(code: str) -> Any:
    if not code:
        return None
    if code[0] == "[":
        return ListOf(_codec(code[1:]))
    if code[0] == "{":
        return MapOf(_codec(code[1:]))
    return _SCALARS.get(code) or _PartByName(code)


_SCALARS = {"t": TIME, "b": BYTES, "d": DATA}


def _class(name: str) -> type[Fields]:
    known = MADE.get(name)
    if known is not None:
        return known
    api_version, positional, fields = TABLE[name]
    codecs = {}
    for field in fields.split():
        names, _, code = field.partition("=")
        python_name, _, json_name = names.partition(":")
        codecs[python_name] = (json_name, _codec(code))
    attributes: dict[str, Any] = {"_fields": codecs, "__module__": __name__, "__slots__": ()}
    base: type[Fields] = Fields
    if api_version:
        base = Resource
        attributes["KIND"] = Kind(api_version, name)
    if positional:
        attributes["_positional"] = tuple(positional.split())
    methods = getattr(_methods, f"{name}Methods", None)
    bases = (base,) if methods is None else (methods, base)
    made = MADE[name] = type(name, bases, attributes)
    return made


def prepare() -> None:
    """Makes the classes of all parts of the classes that are made, so that calls need not."""
    waiting = list(MADE.values())
    seen = set(waiting)
    while waiting:
        for _, codec in waiting.pop()._fields.values():
            while isinstance(codec, (ListOf, MapOf)):
                codec = codec.element
            if isinstance(codec, Part) and codec.of not in seen:
                seen.add(codec.of)
                waiting.append(codec.of)
