"""Objects of kinds whose spec and status are the author's types."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, Generic

from ._kinds import Kind
from ._objects import ObjectMeta, Part, Resource
from ._types import Reader, reader, without_extras

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Spec = TypeVar("Spec", default=dict[str, Any])
    Status = TypeVar("Status", default=dict[str, Any])
else:
    Spec = typing.TypeVar("Spec")
    Status = typing.TypeVar("Status")


class Object(Resource, Generic[Spec, Status]):
    """An object with a spec and a status of one's own: ``Object[BackupSpec, BackupStatus]``.

    The types are dataclasses, or ``dict`` for plain JSON. A kind that a plugin reads or makes, and
    that is not its parent, has a class with the name of the kind:

        class Issuer(Object[IssuerSpec], api_version="cert-manager.io/v1", kind="Issuer"):
            pass
    """

    _fields = {"metadata": ("metadata", Part(ObjectMeta))}

    spec: Spec
    """The spec."""
    status: Status | None
    """The status, ``None`` until a plan has written it. See ``condition`` for the conditions."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types: Any) -> Any:
            types = types if isinstance(types, tuple) else (types,)
            if cls is Object and len(types) == 1:
                types = (types[0], Any)
            return super().__class_getitem__(types)

    else:

        def __init__(
            self,
            name: str = "",
            *,
            spec: Spec = ...,
            status: Status | None = None,
            namespace: str | None = None,
            labels: typing.Mapping[str, str] | None = None,
            annotations: typing.Mapping[str, str] | None = None,
            metadata: ObjectMeta = ...,
        ) -> None: ...

    def __init_subclass__(cls, api_version: str = "", kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind:
            cls.KIND = Kind(api_version, kind)
        for base in getattr(cls, "__orig_bases__", ()):
            if typing.get_origin(base) is Object:
                spec, status = typing.get_args(base)
                cls._fields = fields_with(spec, status)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("spec", "status") and name not in self._fields:
            # The type is not known yet: it is that of the plugin that is called.
            self.__dict__[name] = value
            return
        super().__setattr__(name, value)

    def to_json(self) -> dict[str, Any]:
        json = super().to_json()
        if "spec" not in self._fields:
            from ._objects import encode

            for name in ("spec", "status"):
                value = self.__dict__.get(name)
                if value is not None:
                    json[name] = {**json.get(name, {}), **encode(value)}
        return json


class Typed:
    """The codec of a field of the author's type."""

    __slots__ = ("place", "annotation", "_reader", "absent")

    def __init__(self, place: str, annotation: Any, absent: Any) -> None:
        self.place = place
        self.annotation = annotation
        self.absent = absent
        self._reader: Reader | None = None

    def compile(self) -> None:
        """Makes the reader, which the first use does otherwise."""
        self._reader = reader(self.annotation)

    def empty(self) -> Any:
        return None if self.absent is None else self.decode(self.absent)

    def decode(self, value: Any) -> Any:
        if self._reader is None:
            self.compile()
        return self._reader(value, self.place)  # type: ignore[misc]

    def convert(self, value: Any) -> Any:
        return value


def fields_with(spec: Any, status: Any) -> dict[str, tuple[str, Any]]:
    """Returns the fields of objects with these types of spec and status."""
    fields: dict[str, tuple[str, Any]] = dict(Object._fields)
    fields["spec"] = ("spec", Typed("spec", spec, {}))
    fields["status"] = ("status", Typed("status", status, None))
    return fields


def types_of(annotation: Any) -> tuple[Any, Any] | None:
    """Returns the types of spec and status of an object, or ``None`` if it is no
    :class:`Object`."""
    annotation = without_extras(annotation)
    if annotation is Object:
        return (Any, Any)
    if typing.get_origin(annotation) is Object:
        spec, status = typing.get_args(annotation)
        return (spec, status)
    if isinstance(annotation, type) and issubclass(annotation, Object):
        return tuple(annotation._fields[name][1].annotation for name in ("spec", "status"))  # type: ignore[return-value]
    return None


def class_of(annotation: Any, kind: Kind) -> type[Resource]:
    """Returns a class of objects of this kind, with the types of the annotation."""
    if isinstance(annotation, type) and getattr(annotation, "KIND", None) == kind:
        return annotation
    types = types_of(annotation) or (Any, Any)
    return type(kind.kind, (Object,), {"KIND": kind, "_fields": fields_with(*types)})
