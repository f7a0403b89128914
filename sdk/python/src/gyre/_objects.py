"""Objects of kinds that have a class.

    JSON ──▶ Fields: decoded when a field is read ──▶ JSON, with the fields that it does not know

What is absent: validation. The API server refuses values that a kind does not allow; type checkers
refuse fields and types that it does not have.
"""

from __future__ import annotations

import base64
import enum
import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._kinds import Kind, ReadKind
from ._times import parse_time, time_text

T = TypeVar("T", bound="Fields")


class Generated:
    """A request for a value that the host makes: see :mod:`gyre.generated`."""

    __slots__ = ("request",)

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request

    def epoch(self, epoch: int) -> Generated:
        """Returns the request with a number: a higher one than before makes a new value."""
        return Generated({**self.request, "epoch": epoch})


def encode(value: Any) -> Any:
    """Returns a value as JSON has it.

    Raises:
        TypeError: If JSON has no such value.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    encoder = _ENCODERS.get(kind)
    if encoder is not None:
        return encoder(value)
    if isinstance(value, (Fields, Data)):
        return value.to_json()
    if hasattr(kind, "__dataclass_fields__"):
        return _encode_dataclass(value)
    if isinstance(value, enum.Enum):
        return encode(value.value)
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Generated):
        return value.request
    if isinstance(value, Mapping):
        return _encode_dict(value)
    if isinstance(value, (list, tuple)):
        return [encode(element) for element in value]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (set, frozenset)):
        raise TypeError(
            f"a set has no order, so its JSON would differ from call to call: write sorted({value!r})"
        )
    raise TypeError(f"a {kind.__name__} has no form in JSON: {value!r}")


_to_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def text_of_json(value: Any) -> bytes:
    """Returns a JSON value as a text.

    Raises:
        ValueError: If a number is infinite or not a number.
    """
    return _to_text(value).encode()


def _encode_dict(value: Mapping[Any, Any]) -> dict[str, Any]:
    encoded = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(f"JSON has no keys such as {key!r}: write str(…)")
        if item is not None:
            encoded[key] = encode(item)
    return encoded


def _encode_list(value: Any) -> list[Any]:
    return [encode(element) for element in value]


def _encode_dataclass(value: Any) -> dict[str, Any]:
    from ._types import json_names

    encoded = {}
    for name, json_name in json_names(type(value)):
        item = getattr(value, name)
        if item is not None:
            encoded[json_name] = encode(item)
    return encoded


_PLAIN = frozenset((str, int, float, bool, type(None)))
_ENCODERS: dict[type, Any] = {dict: _encode_dict, list: _encode_list, tuple: _encode_list}


def closest(name: str, names: Iterable[str]) -> str | None:
    """Returns the name that differs least, or ``None`` if all are very different.

    The module difflib is not in components, which have the modules that are imported when they are
    built.
    """
    close = min(names, key=lambda other: _distance(name, other), default=None)
    return close if close is not None and _distance(name, close) <= max(1, len(name) // 3) else None


def _distance(one: str, other: str) -> int:
    """Returns the number of letters to insert, delete or replace (Levenshtein)."""
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one):
        diagonal, row[0] = row[0], index + 1
        for column, other_letter in enumerate(other):
            least = min(row[column], row[column + 1]) + 1
            diagonal, row[column + 1] = (
                row[column + 1],
                min(least, diagonal + (letter != other_letter)),
            )
    return row[-1]


class Data(MutableMapping[str, str]):
    """Values by key, which Kubernetes stores in base64: those of a Secret. Here they are plain
    texts."""

    __slots__ = ("_encoded",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._encoded: dict[str, Any] = {}
        for key, value in (values or {}).items():
            self[key] = value

    @classmethod
    def from_json(cls, encoded: dict[str, Any]) -> Data:
        """Returns the values of these texts in base64."""
        data = cls()
        data._encoded = encoded
        return data

    def to_json(self) -> dict[str, Any]:
        """Returns the texts in base64."""
        return self._encoded

    def __getitem__(self, key: str) -> str:
        data = self.bytes(key)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ValueError(
                f"the value of {key} is no text: read it by data.bytes({key!r})"
            ) from None

    def bytes(self, key: str) -> bytes:
        """Returns the bytes of a key.

        Raises:
            KeyError: If there is no such key.
        """
        encoded = self._encoded[key]
        if not isinstance(encoded, str):
            raise ValueError(f"the host makes the value of {key}, and the plugin does not see it")
        return base64.b64decode(encoded)

    def generated(self, key: str) -> str | None:
        """Returns the digest of a value that the host made: it changes with the value. ``None`` if
        it is not there yet."""
        encoded = self._encoded.get(key)
        prefix = "Z3lyZS1nZW5lcmF0ZWQ6"
        if isinstance(encoded, str) and encoded.startswith(prefix):
            return encoded[len(prefix) :]
        return None

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(value, str):
            value = value.encode()
        self._encoded[key] = encode(value)

    def __delitem__(self, key: str) -> None:
        del self._encoded[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._encoded)

    def __len__(self) -> int:
        return len(self._encoded)

    def __repr__(self) -> str:
        # The values are secrets.
        return f"Data({', '.join(self._encoded)})"


class Fields:
    """A part of an object, with all fields optional.

    A part, list or map that is absent reads as an empty one, so ``pod.status.phase`` never fails;
    an absent part is false. Other absent fields are ``None``.
    """

    _fields: ClassVar[dict[str, tuple[str, Any]]] = {}
    """The names in JSON and the codecs, by names of attributes."""
    _positional: ClassVar[tuple[str, ...]] = ()
    """The names of arguments without a name."""

    def __init__(self, *values: Any, **fields: Any) -> None:
        self.__dict__["_json"] = {}
        if len(values) > len(self._positional):
            raise TypeError(
                f"{type(self).__name__} takes {len(self._positional)} arguments without a name, not {len(values)}"
            )
        for name, value in zip(self._positional, values, strict=False):
            setattr(self, name, value)
        for name, value in fields.items():
            setattr(self, name, value)

    @classmethod
    def from_json(cls: type[T], json: dict[str, Any]) -> T:
        """Returns the object with these fields, which it takes over."""
        self = cls.__new__(cls)
        self.__dict__["_json"] = json
        return self

    def to_json(self) -> dict[str, Any]:
        """Returns the fields in JSON, with those that the class does not know."""
        state = self.__dict__
        json = dict(state["_json"])
        for name, (json_name, _) in self._fields.items():
            if name not in state:
                continue
            value = state[name]
            if value is None:
                json.pop(json_name, None)
                continue
            encoded = encode(value)
            is_implied = name in state.get("_implied", ())
            if encoded or not is_implied:
                json[json_name] = encoded
        return json

    # Type checkers see the fields of the stub alone.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            field = self._fields.get(name)
            if field is None:
                raise AttributeError(self._unknown(name))
            json_name, codec = field
            state = self.__dict__
            value = state["_json"].get(json_name)
            if codec is None:
                return value
            if value is None:
                implied = codec.empty()
                if implied is None:
                    return None
                state.setdefault("_implied", set()).add(name)
                if isinstance(implied, Fields):
                    implied.__dict__["_is_implied"] = True
            else:
                implied = codec.decode(value)
            state[name] = implied
            return implied

        def __setattr__(self, name: str, value: Any) -> None:
            field = self._fields.get(name)
            if field is None:
                if isinstance(getattr(type(self), name, None), property):
                    object.__setattr__(self, name, value)
                    return
                raise AttributeError(self._unknown(name))
            codec = field[1]
            if codec is not None and value is not None:
                value = codec.convert(value)
            state = self.__dict__
            state[name] = value
            implied = state.get("_implied")
            if implied is not None:
                implied.discard(name)

    def _unknown(self, name: str) -> str:
        close = closest(name, self._fields)
        hint = "" if close is None else f"; did you mean {close}?"
        return f"{type(self).__name__} has no field {name}{hint}"

    def __bool__(self) -> bool:
        return "_is_implied" not in self.__dict__ or bool(self.to_json())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_json() == other.to_json()  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_json()!r})"


class Part:
    """The codec of a field that is a part of an object."""

    __slots__ = ("of",)

    def __init__(self, of: type[Fields]) -> None:
        self.of = of

    def empty(self) -> Fields:
        return self.of()

    def decode(self, value: Any) -> Any:
        return self.of.from_json(value)

    def convert(self, value: Any) -> Any:
        return self.of.from_json(encode(value)) if isinstance(value, dict) else value


class ListOf:
    """The codec of a list. Without the codec of its elements, these are plain values."""

    __slots__ = ("element",)

    def __init__(self, element: Any = None) -> None:
        self.element = element

    def empty(self) -> list[Any]:
        return []

    def decode(self, value: Any) -> Any:
        element = self.element
        return value if element is None else [element.decode(item) for item in value]

    def convert(self, value: Any) -> Any:
        if isinstance(value, (set, frozenset)):
            encode(value)
        element = self.element
        return list(value) if element is None else [element.convert(item) for item in value]


class MapOf:
    """The codec of a map. Without the codec of its values, these are plain values."""

    __slots__ = ("element",)

    def __init__(self, element: Any = None) -> None:
        self.element = element

    def empty(self) -> dict[str, Any]:
        return {}

    def decode(self, value: Any) -> Any:
        element = self.element
        return (
            value if element is None else {key: element.decode(item) for key, item in value.items()}
        )

    def convert(self, value: Any) -> Any:
        element = self.element
        return (
            dict(value)
            if element is None
            else {key: element.convert(item) for key, item in value.items()}
        )


class _TimeCodec:
    def empty(self) -> None:
        return None

    def decode(self, value: Any) -> Any:
        return parse_time(value)

    def convert(self, value: Any) -> Any:
        return value


class _BytesCodec:
    def empty(self) -> None:
        return None

    def decode(self, value: Any) -> Any:
        return base64.b64decode(value)

    def convert(self, value: Any) -> Any:
        return value.encode() if isinstance(value, str) else value


class _DataCodec:
    def empty(self) -> Data:
        return Data()

    def decode(self, value: Any) -> Any:
        return Data.from_json(value)

    def convert(self, value: Any) -> Any:
        return value if isinstance(value, Data) else Data(value)


TIME = _TimeCodec()
BYTES = _BytesCodec()
DATA = _DataCodec()


class OwnerReference(Fields):
    """An owner of an object."""

    api_version: str | None
    block_owner_deletion: bool | None
    controller: bool | None
    kind: str | None
    name: str | None
    uid: str | None

    _fields = {
        "api_version": ("apiVersion", None),
        "block_owner_deletion": ("blockOwnerDeletion", None),
        "controller": ("controller", None),
        "kind": ("kind", None),
        "name": ("name", None),
        "uid": ("uid", None),
    }


class ObjectMeta(Fields):
    """The metadata of an object."""

    annotations: dict[str, str]
    creation_timestamp: datetime | None
    deletion_grace_period_seconds: int | None
    deletion_timestamp: datetime | None
    finalizers: list[str]
    generate_name: str | None
    generation: int | None
    labels: dict[str, str]
    name: str | None
    namespace: str | None
    owner_references: list[OwnerReference]
    resource_version: str | None
    uid: str | None

    _fields = {
        "annotations": ("annotations", MapOf()),
        "creation_timestamp": ("creationTimestamp", TIME),
        "deletion_grace_period_seconds": ("deletionGracePeriodSeconds", None),
        "deletion_timestamp": ("deletionTimestamp", TIME),
        "finalizers": ("finalizers", ListOf()),
        "generate_name": ("generateName", None),
        "generation": ("generation", None),
        "labels": ("labels", MapOf()),
        "name": ("name", None),
        "namespace": ("namespace", None),
        "owner_references": ("ownerReferences", ListOf(Part(OwnerReference))),
        "resource_version": ("resourceVersion", None),
        "uid": ("uid", None),
    }


class ObservedCondition:
    """A condition in the status of an object."""

    __slots__ = ("type", "status", "reason", "message", "last_transition_time")

    def __init__(self, json: dict[str, Any]) -> None:
        changed = json.get("lastTransitionTime")
        self.type: str = json.get("type", "")
        self.status: str = json.get("status", "Unknown")
        self.reason: str = json.get("reason", "")
        self.message: str = json.get("message", "")
        self.last_transition_time: datetime | None = parse_time(changed) if changed else None

    def __bool__(self) -> bool:
        return self.status == "True"

    def age(self, now: datetime) -> timedelta:
        """Returns the time since its status changed."""
        return now - (self.last_transition_time or now)

    def __repr__(self) -> str:
        return f"ObservedCondition({self.type} {self.status} {self.reason}: {self.message})"


class Resource(Fields):
    """An object of a kind. Its name, namespace, labels and annotations are those of its
    metadata."""

    KIND: ClassVar[Kind]
    metadata: ObjectMeta

    def __init__(
        self,
        name: str = "",
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(**fields)
        metadata = self.metadata
        if name:
            metadata.name = name
        if namespace is not None:
            metadata.namespace = namespace
        if labels is not None:
            metadata.labels = dict(labels)
        if annotations is not None:
            metadata.annotations = dict(annotations)

    @classmethod
    def where(cls, labels: str) -> ReadKind:
        """Declares that the plugin reads objects that match a label selector:
        ``reads=[Secret.where("a=b")]``."""
        return ReadKind(cls, labels=labels)

    def to_json(self) -> dict[str, Any]:
        """Returns the object in JSON, with its apiVersion and kind."""
        json = super().to_json()
        kind = getattr(self, "KIND", None)
        if kind is None:
            return json
        return {"apiVersion": kind.api_version, "kind": kind.kind, **json}

    @property
    def name(self) -> str:
        """The name."""
        return self.metadata.name or ""

    @name.setter
    def name(self, name: str) -> None:
        self.metadata.name = name

    @property
    def namespace(self) -> str | None:
        """The namespace; ``None`` for an object without one."""
        return self.metadata.namespace

    @namespace.setter
    def namespace(self, namespace: str | None) -> None:
        self.metadata.namespace = namespace

    @property
    def labels(self) -> dict[str, str]:
        """The labels."""
        return self.metadata.labels

    @labels.setter
    def labels(self, labels: Mapping[str, str]) -> None:
        self.metadata.labels = dict(labels)

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations."""
        return self.metadata.annotations

    @annotations.setter
    def annotations(self, annotations: Mapping[str, str]) -> None:
        self.metadata.annotations = dict(annotations)

    @property
    def uid(self) -> str:
        """The UID; empty for an object that is not stored."""
        return self.metadata.uid or ""

    @property
    def created(self) -> datetime:
        """The time of creation.

        Raises:
            ValueError: If the object is not stored.
        """
        created = self.metadata.creation_timestamp
        if created is None:
            raise ValueError(
                f"{type(self).__name__} {self.name} has no creationTimestamp: it is not stored"
            )
        return created

    @property
    def is_deleted(self) -> bool:
        """Whether the object is being deleted."""
        return self.metadata.deletion_timestamp is not None

    def condition(self, type: str) -> ObservedCondition | None:
        """Returns the condition of this type in the status: of the host, of this plugin, or of
        others."""
        for condition in self._conditions():
            if condition.get("type") == type:
                return ObservedCondition(condition)
        return None

    def _conditions(self) -> list[dict[str, Any]]:
        """Returns the conditions in the status, also if its type does not have them."""
        stored = self.__dict__["_json"].get("status") or {}
        if "status" not in self.__dict__ or "conditions" in stored:
            return stored.get("conditions") or []
        # A status that a test has set.
        return encode(getattr(self.__dict__["status"], "conditions", None)) or []
