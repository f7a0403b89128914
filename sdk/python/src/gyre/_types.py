"""Reads JSON into the author's types: dataclasses, lists, dicts, literals and enums.

    annotation ──▶ reader (compiled once) ──▶ reader(json, place)

Readers are compiled when a plugin is loaded, so that a call only runs them.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, Union

from ._objects import Data, Fields
from ._times import parse_time

Reader = Callable[[Any, str], Any]


class UnexpectedJson(ValueError):
    """A JSON value that is not of the expected type."""


class Name:
    """The name of a field in JSON, if it is not its Python name in camelCase:
    ``cluster_ip: Annotated[str, Name("clusterIP")]``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def camel(name: str) -> str:
    """Returns a name in camelCase. An underscore at the end, as in ``from_``, is left out."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


class Field(typing.NamedTuple):
    """A field of a dataclass or a TypedDict."""

    name: str
    json_name: str
    annotation: Any
    is_required: bool
    default: Any
    """Its default, or ``MISSING``."""


MISSING = dataclasses.MISSING

_fields_of: dict[type, list[Field]] = {}
_names_of: dict[type, list[tuple[str, str]]] = {}
_readers: dict[Any, Reader] = {}


def is_dataclass(annotation: Any) -> bool:
    """Returns whether this is a class of dataclasses."""
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def is_typed_dict(annotation: Any) -> bool:
    """Returns whether this is a TypedDict."""
    return (
        isinstance(annotation, type)
        and issubclass(annotation, dict)
        and hasattr(annotation, "__total__")
    )


def fields_of(of: type) -> list[Field]:
    """Returns the fields of a dataclass or TypedDict."""
    known = _fields_of.get(of)
    if known is None:
        known = _fields_of[of] = _read_fields(of)
    return known


def _read_fields(of: type) -> list[Field]:
    annotations = typing.get_type_hints(of, include_extras=True)
    if is_typed_dict(of):
        required = getattr(of, "__required_keys__", frozenset(annotations))
        return [
            Field(name, name, plain, name in required, MISSING)
            for name, plain in annotations.items()
        ]
    fields = []
    for field in dataclasses.fields(of):
        annotation = annotations[field.name]
        default = field.default
        if default is MISSING and field.default_factory is not MISSING:
            default = field.default_factory()
        names = [extra.name for extra in extras(annotation) if isinstance(extra, Name)]
        json_name = names[0] if names else camel(field.name)
        fields.append(Field(field.name, json_name, annotation, default is MISSING, default))
    return fields


def json_names(of: type) -> list[tuple[str, str]]:
    """Returns the names of the fields of a dataclass, and those in JSON."""
    known = _names_of.get(of)
    if known is None:
        known = _names_of[of] = [(field.name, field.json_name) for field in fields_of(of)]
    return known


def extras(annotation: Any) -> tuple[Any, ...]:
    """Returns what ``Annotated`` adds to a type."""
    return getattr(annotation, "__metadata__", ())


def without_extras(annotation: Any) -> Any:
    """Returns the type itself of an ``Annotated`` one."""
    while hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    return annotation


_UNIONS = (Union, getattr(types, "UnionType", Union))


def alternatives(annotation: Any) -> tuple[Any, ...] | None:
    """Returns the types of a union, or ``None`` if it is none."""
    if typing.get_origin(annotation) in _UNIONS:
        return typing.get_args(annotation)
    return None


def reader(annotation: Any) -> Reader:
    """Returns the reader of a type.

    Raises:
        TypeError: If JSON cannot be read into it.
    """
    annotation = without_extras(annotation)
    try:
        known = _readers.get(annotation)
    except TypeError:
        return _compile(annotation)
    if known is None:
        # A type may contain itself: its reader is then found by name.
        _readers[annotation] = lambda value, place: _readers[annotation](value, place)
        known = _readers[annotation] = _compile(annotation)
    return known


def _compile(annotation: Any) -> Reader:
    if annotation is Any or annotation is object:
        return lambda value, place: value
    if annotation is None or annotation is type(None):
        return _read_none
    scalar = _SCALARS.get(annotation) if isinstance(annotation, type) else None
    if scalar is not None:
        return scalar
    of_union = alternatives(annotation)
    if of_union is not None:
        return _union(of_union)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return _one_of(arguments, lambda value: value)
    if origin in (list, tuple, typing.Sequence, _SEQUENCE) or annotation in (list, tuple):
        return _list_reader(
            arguments[0] if arguments else Any, origin is tuple or annotation is tuple
        )
    if origin in (dict, Mapping, _MUTABLE_MAPPING) or annotation is dict:
        return _dict_reader(arguments[1] if arguments else Any)
    if is_dataclass(annotation):
        return _dataclass_reader(annotation)
    if is_typed_dict(annotation):
        return _typed_dict_reader(annotation)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _one_of([member.value for member in annotation], annotation)
    if isinstance(annotation, type) and issubclass(annotation, (Fields, Data)):
        return _object_reader(annotation)
    raise TypeError(f"JSON cannot be read into the type {annotation!r}")


_SEQUENCE = typing.get_origin(typing.Sequence[int])
_MUTABLE_MAPPING = typing.get_origin(typing.MutableMapping[str, int])


def _unexpected(place: str, expected: str, value: Any) -> UnexpectedJson:
    shown = repr(value)
    if len(shown) > 80:
        shown = f"{shown[:80]}…"
    return UnexpectedJson(f"{place}: expected {expected}, not {shown}")


def _read_none(value: Any, place: str) -> None:
    if value is not None:
        raise _unexpected(place, "null", value)


def _read_text(value: Any, place: str) -> str:
    if type(value) is not str:
        raise _unexpected(place, "a text", value)
    return value


def _read_bool(value: Any, place: str) -> bool:
    if type(value) is not bool:
        raise _unexpected(place, "true or false", value)
    return value


def _read_int(value: Any, place: str) -> int:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise _unexpected(place, "an integer", value)


def _read_float(value: Any, place: str) -> float:
    if type(value) not in (int, float):
        raise _unexpected(place, "a number", value)
    return float(value)


def _read_time(value: Any, place: str) -> datetime:
    try:
        return parse_time(value)
    except ValueError:
        raise _unexpected(place, "a time in RFC 3339", value) from None


def _read_bytes(value: Any, place: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        raise _unexpected(place, "bytes in base64", value) from None


_SCALARS: dict[type, Reader] = {
    str: _read_text,
    bool: _read_bool,
    int: _read_int,
    float: _read_float,
    datetime: _read_time,
    bytes: _read_bytes,
}


def _union(of: tuple[Any, ...]) -> Reader:
    can_be_none = type(None) in of
    readers = [reader(one) for one in of if one is not type(None)]
    if len(readers) == 1:
        only = readers[0]
        return lambda value, place: None if value is None else only(value, place)

    def read(value: Any, place: str) -> Any:
        if value is None and can_be_none:
            return None
        problems = []
        for one in readers:
            try:
                return one(value, place)
            except UnexpectedJson as problem:
                problems.append(str(problem))
        raise UnexpectedJson("; ".join(problems))

    return read


def _one_of(permitted: typing.Sequence[Any], convert: Callable[[Any], Any]) -> Reader:
    def read(value: Any, place: str) -> Any:
        if value not in permitted:
            raise _unexpected(place, "one of " + ", ".join(map(str, permitted)), value)
        return convert(value)

    return read


def _list_reader(element: Any, is_tuple: bool) -> Reader:
    read_element = reader(element)

    def read(value: Any, place: str) -> Any:
        if type(value) is not list:
            raise _unexpected(place, "a list", value)
        items = [read_element(item, f"{place}[{index}]") for index, item in enumerate(value)]
        return tuple(items) if is_tuple else items

    return read


def _dict_reader(element: Any) -> Reader:
    read_element = reader(element)

    def read(value: Any, place: str) -> Any:
        if type(value) is not dict:
            raise _unexpected(place, "an object", value)
        return {key: read_element(item, f"{place}.{key}") for key, item in value.items()}

    return read


def _dataclass_reader(of: type) -> Reader:
    fields = [(field, reader(field.annotation)) for field in fields_of(of)]

    def read(value: Any, place: str) -> Any:
        if type(value) is not dict:
            raise _unexpected(place, "an object", value)
        arguments = {}
        for field, read_field in fields:
            item = value.get(field.json_name)
            if item is not None:
                arguments[field.name] = read_field(item, f"{place}.{field.json_name}")
            elif field.is_required:
                arguments[field.name] = _absent(field, read_field, place)
        try:
            return of(**arguments)
        except UnexpectedJson:
            raise
        except ValueError as problem:
            # A check in __post_init__.
            raise UnexpectedJson(f"{place}: {problem}") from problem

    return read


def _absent(field: Field, read_field: Reader, place: str) -> Any:
    try:
        return read_field(None, f"{place}.{field.json_name}")
    except UnexpectedJson:
        raise UnexpectedJson(f"{place}.{field.json_name} is missing") from None


def _typed_dict_reader(of: type) -> Reader:
    fields = [(field, reader(field.annotation)) for field in fields_of(of)]

    def read(value: Any, place: str) -> Any:
        if type(value) is not dict:
            raise _unexpected(place, "an object", value)
        result = dict(value)
        for field, read_field in fields:
            if field.name in value:
                result[field.name] = read_field(value[field.name], f"{place}.{field.name}")
            elif field.is_required:
                raise UnexpectedJson(f"{place}.{field.name} is missing")
        return result

    return read


def _object_reader(of: Any) -> Reader:
    def read(value: Any, place: str) -> Any:
        if type(value) is not dict:
            raise _unexpected(place, "an object", value)
        return of.from_json(value)

    return read


def unknown_key(of: Any, value: Any, place: str) -> str | None:
    """Returns the first key of a JSON value that a dataclass does not have, or ``None``."""
    of = without_extras(of)
    of_union = alternatives(of)
    if of_union is not None:
        of = next((one for one in of_union if one is not type(None)), Any)
    if is_dataclass(of) and isinstance(value, dict):
        fields = {field.json_name: field for field in fields_of(of)}
        for key, item in value.items():
            field = fields.get(key)
            inner = f"{place}.{key}".lstrip(".")
            if field is None:
                return inner
            found = unknown_key(field.annotation, item, inner)
            if found is not None:
                return found
    elif isinstance(value, list) and typing.get_args(of):
        for index, item in enumerate(value):
            found = unknown_key(typing.get_args(of)[0], item, f"{place}[{index}]")
            if found is not None:
                return found
    elif isinstance(value, dict) and len(typing.get_args(of)) == 2:
        for key, item in value.items():
            found = unknown_key(typing.get_args(of)[1], item, f"{place}.{key}".lstrip("."))
            if found is not None:
                return found
    return None
