"""Schemas of types, for CustomResourceDefinitions and settings.

dataclass, Annotated ──▶ schema_of ──▶ crd_of, settings_schema
"""

from __future__ import annotations

import enum
import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from ._kinds import Kind
from ._objects import Data, Fields, encode
from ._types import (
    MISSING,
    Name,
    alternatives,
    camel,
    extras,
    fields_of,
    is_dataclass,
    is_typed_dict,
    without_extras,
)


class Rules:
    """Keywords of the schema of a field: ``replicas: Annotated[int, Rules(minimum=0, maximum=9)]``.

    Use ``typing.Literal`` or an ``enum.Enum`` for a choice, and a text for the description:
    ``Annotated[str, "The image of the server.", Rules(min_length=1)]``.
    """

    __slots__ = ("keywords", "elements")

    def __init__(
        self,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
        multiple_of: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
        format: str | None = None,
        min_items: int | None = None,
        max_items: int | None = None,
        min_properties: int | None = None,
        max_properties: int | None = None,
        rule: tuple[str, str] | Sequence[tuple[str, str]] = (),
        elements: Rules | None = None,
        json: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes keywords.

        Args:
            minimum: The least number.
            maximum: The greatest number.
            multiple_of: What the number is a multiple of.
            min_length: The least length of a text.
            max_length: The greatest length of a text.
            pattern: A regular expression that the text contains.
            format: A format, e.g. ``ipv4``.
            min_items: The least length of a list.
            max_items: The greatest length of a list.
            min_properties: The least number of keys of a map.
            max_properties: The greatest number of keys of a map.
            rule: A rule in CEL and its message, or several: ``("self == oldSelf", "it is
                immutable")``.
            elements: The rules of the elements of a list or a map.
            json: Further keywords as they are, e.g. ``{"x-kubernetes-list-type": "set"}``.
        """
        given = {
            "minimum": minimum,
            "maximum": maximum,
            "multiple_of": multiple_of,
            "min_length": min_length,
            "max_length": max_length,
            "pattern": pattern,
            "format": format,
            "min_items": min_items,
            "max_items": max_items,
            "min_properties": min_properties,
            "max_properties": max_properties,
        }
        self.keywords: dict[str, Any] = {
            camel(name): value for name, value in given.items() if value is not None
        }
        rules: Any = [rule] if rule and isinstance(rule[0], str) else rule
        if rules:
            validations = [{"rule": cel, "message": message} for cel, message in rules]
            self.keywords["x-kubernetes-validations"] = validations
        self.keywords.update(json or {})
        self.elements = elements


ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}

_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number", "format": "double"},
    datetime: {"type": "string", "format": "date-time"},
    bytes: {"type": "string", "format": "byte"},
    Data: {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
}

_TYPES_OF_VALUES = {str: "string", bool: "boolean", int: "integer", float: "number"}


class Schemas:
    """Builds schemas. A field is required unless it has a default, or may be ``None``."""

    def __init__(self, *, is_closed: bool = False) -> None:
        """Makes a builder; a closed one refuses properties that a dataclass does not have."""
        self._is_closed = is_closed
        self._around: list[Any] = []

    def of(self, annotation: Any) -> dict[str, Any]:
        """Returns the schema of a type.

        Raises:
            TypeError: If the type has no schema.
        """
        schema = self._of_plain(without_extras(annotation))
        for extra in extras(annotation):
            if isinstance(extra, str):
                schema["description"] = extra
            elif isinstance(extra, Rules):
                self._add(schema, extra)
            elif not isinstance(extra, Name) and hasattr(extra, "documentation"):
                schema["description"] = extra.documentation
        return schema

    def _add(self, schema: dict[str, Any], rules: Rules) -> None:
        schema.update(rules.keywords)
        if rules.elements is None:
            return
        element = schema.get("items") or schema.get("additionalProperties")
        if not isinstance(element, dict):
            raise TypeError("Rules(elements=…) are for lists and dicts")
        self._add(element, rules.elements)

    def _of_plain(self, annotation: Any) -> dict[str, Any]:
        if annotation is Any or annotation is dict or annotation is object:
            return dict(ANYTHING)
        if isinstance(annotation, type) and annotation in _SCALARS:
            return dict(_SCALARS[annotation])
        of_union = alternatives(annotation)
        if of_union is not None:
            return self._of_union([one for one in of_union if one is not type(None)])
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is Literal:
            return _choice(arguments)
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return _choice([member.value for member in annotation])
        if annotation is list or origin in (list, tuple) or _is_abstract(origin, Sequence):
            return {"type": "array", "items": self.of(arguments[0] if arguments else Any)}
        if origin is dict or _is_abstract(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if is_dataclass(annotation) or is_typed_dict(annotation):
            return self._of_fields(annotation)
        if isinstance(annotation, type) and issubclass(annotation, Fields):
            return {"type": "object", **ANYTHING}
        raise TypeError(
            f"the type {annotation!r} has no schema: use dataclasses, or Any with Rules(json={{…}})"
        )

    def _of_union(self, of: list[Any]) -> dict[str, Any]:
        if len(of) == 1:
            return self.of(of[0])
        if {without_extras(one) for one in of} == {int, str}:
            return {"x-kubernetes-int-or-string": True}
        if all(typing.get_origin(one) is Literal for one in of):
            return _choice([value for one in of for value in typing.get_args(one)])
        raise TypeError(f"a union of {of!r} has no schema; int | str has one")

    def _of_fields(self, of: type) -> dict[str, Any]:
        if of in self._around:
            raise TypeError(f"{of.__name__} contains itself: such a type has no schema")
        self._around.append(of)
        properties, required = {}, []
        for field in fields_of(of):
            schema = self.of(field.annotation)
            if field.default is not MISSING and not _is_empty(field.default):
                schema["default"] = encode(field.default)
            properties[field.json_name] = schema
            if field.is_required and not _may_be_none(field.annotation):
                required.append(field.json_name)
        self._around.pop()
        schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if self._is_closed:
            schema["additionalProperties"] = False
        return schema


def _is_abstract(origin: Any, of: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, of)


def _is_empty(default: Any) -> bool:
    return default is None or default == [] or default == {} or default == ()


def _may_be_none(annotation: Any) -> bool:
    return type(None) in (alternatives(without_extras(annotation)) or ())


def _choice(values: Sequence[Any]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= set(_TYPES_OF_VALUES):
        raise TypeError(f"the values {values!r} are not of one type")
    return {"type": _TYPES_OF_VALUES[kinds.pop()], "enum": list(values)}


def documentation_of(of: Any) -> str | None:
    """Returns the docstring of a type or function, in one line for each paragraph; ``None`` if the
    author wrote none."""
    text: str = getattr(of, "__doc__", None) or ""
    is_made_by_dataclass = is_dataclass(of) and text.startswith(f"{of.__name__}(")
    if not text or is_made_by_dataclass or is_inherited(of, text):
        return None
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(
        " ".join(line.strip() for line in paragraph.splitlines()) for paragraph in paragraphs
    )


def is_inherited(of: Any, text: str) -> bool:
    """Returns whether a class has the docstring of its base."""
    return isinstance(of, type) and any(base.__doc__ == text for base in of.__mro__[1:])


class Column:
    """A column of ``kubectl get``, after the name: ``Column("Pool", ".spec.pool")``."""

    __slots__ = ("json",)

    def __init__(
        self, name: str, json_path: str, *, type: str = "string", wide: bool = False
    ) -> None:
        """Makes a column.

        Args:
            name: Its heading.
            json_path: Where the value is, such as ``.spec.replicas``.
            type: ``string``, ``integer``, ``number``, ``boolean`` or ``date``.
            wide: Whether only ``-o wide`` shows it.
        """
        self.json: dict[str, Any] = {"name": name, "type": type, "jsonPath": json_path}
        if wide:
            self.json["priority"] = 1

    @staticmethod
    def condition(type: str) -> Column:
        """Returns the column with the status of a condition."""
        return Column(type, f'.status.conditions[?(@.type=="{type}")].status')

    @staticmethod
    def age() -> Column:
        """Returns the column with the age of the object."""
        return Column("Age", ".metadata.creationTimestamp", type="date")


_STATUS_OF_THE_HOST: dict[str, Any] = {
    "observedGeneration": {
        "type": "integer",
        "format": "int64",
        "description": "The generation of the spec that this status is about.",
    },
    "conditions": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"type": "string", "maxLength": 316},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
                "message": {"type": "string", "maxLength": 32768},
            },
        },
        "description": "The conditions of the object, one for each type.",
    },
}


def crd_of(
    kind: Kind,
    spec: Any,
    status: Any,
    *,
    plural: str | None = None,
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    is_cluster_scoped: bool = False,
    columns: Sequence[Column] = (),
) -> dict[str, Any]:
    """Returns the CustomResourceDefinition of a kind.

    The conditions and observedGeneration, which the host writes, are added to the status.
    """
    singular = kind.kind.lower()
    plural = plural or plural_of(singular)
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": plural,
        "singular": singular,
    }
    if short_names:
        names["shortNames"] = list(short_names)
    if categories:
        names["categories"] = list(categories)
    version: dict[str, Any] = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
    }
    if columns:
        version["additionalPrinterColumns"] = [column.json for column in columns]
    version["schema"] = {"openAPIV3Schema": _schema_of_objects(spec, status)}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Cluster" if is_cluster_scoped else "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


def _schema_of_objects(spec: Any, status: Any) -> dict[str, Any]:
    of_status = Schemas().of(status)
    # A status that the host has only begun has none of the plugin's fields.
    of_status.pop("required", None)
    of_status["type"] = "object"
    of_status["properties"] = {**_STATUS_OF_THE_HOST, **of_status.get("properties", {})}
    of_spec = Schemas().of(spec)
    of_spec.setdefault("type", "object")
    schema: dict[str, Any] = {"type": "object"}
    description = documentation_of(without_extras(spec))
    if description is not None and spec is not Any:
        schema["description"] = description
    schema["required"] = ["spec"]
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": of_spec,
        "status": of_status,
    }
    return schema


def settings_schema(annotation: Any) -> dict[str, Any]:
    """Returns the JSON Schema of settings."""
    schema = Schemas(is_closed=True).of(annotation)
    for keyword in ANYTHING:
        # JSON Schema permits everything that it does not forbid.
        schema.pop(keyword, None)
    described = (
        documentation_of(without_extras(annotation)) if annotation not in (dict, Any) else None
    )
    if described is not None:
        schema = {"description": described, **schema}
    schema.setdefault("type", "object")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def plural_of(singular: str) -> str:
    """Returns the plural of a kind as kubebuilder forms it."""
    if singular.endswith("y") and singular[-2:-1] not in tuple("aeiou"):
        return singular[:-1] + "ies"
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return singular + "es"
    return singular + "s"
