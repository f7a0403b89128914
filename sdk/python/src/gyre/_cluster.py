"""The objects that a plugin may read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar, overload

from ._kinds import Kind, kind_of
from ._objects import Resource

R = TypeVar("R", bound=Resource)

# In the class, the name is that of a method.
List = list


class Source(Protocol):
    """What a cluster reads from: the host, or the objects of a test."""

    def children(self, kind: Kind) -> List[bytes]: ...

    def get(self, kind: Kind, namespace: str | None, name: str) -> bytes | None: ...

    def list(self, kind: Kind, namespace: str | None, labels: str | None) -> List[bytes]: ...

    def now(self) -> datetime: ...


class Cluster:
    """The objects that a plugin may read. What it reads is an input: a change calls the plugin
    again, also that an object does not exist.

    A kind is a class, or a :class:`~gyre.Kind`, whose objects are plain dicts. All functions raise
    a :class:`~gyre.ReadError` if the host refuses.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @overload
    def get(self, kind: type[R], name: str | None, namespace: str | None = None) -> R | None: ...

    @overload
    def get(
        self, kind: Kind, name: str | None, namespace: str | None = None
    ) -> dict[str, Any] | None: ...

    def get(self, kind: Any, name: str | None, namespace: str | None = None) -> Any:
        """Returns an object of a kind in ``reads``; ``None`` if it does not exist, or the name is
        ``None``.

        Args:
            kind: The class or kind.
            name: Its name.
            namespace: Its namespace; ``None`` is that of the parent.
        """
        if not name:
            return None
        text = self._source.get(kind_of(kind), namespace, name)
        return None if text is None else read(kind, text)

    @overload
    def list(
        self,
        kind: type[R],
        labels: str | Mapping[str, str] | None = None,
        namespace: str | None = None,
    ) -> List[R]: ...

    @overload
    def list(
        self,
        kind: Kind,
        labels: str | Mapping[str, str] | None = None,
        namespace: str | None = None,
    ) -> List[dict[str, Any]]: ...

    def list(self, kind: Any, labels: Any = None, namespace: str | None = None) -> Any:
        """Returns the objects of a kind in ``reads`` that match, by namespace and name.

        Args:
            kind: The class or kind.
            labels: A label selector as in ``kubectl get -l``, or a dict of labels.
            namespace: The namespace; ``None`` is all that are granted.
        """
        if isinstance(labels, Mapping):
            labels = ",".join(f"{key}={value}" for key, value in labels.items())
        return [
            read(kind, text) for text in self._source.list(kind_of(kind), namespace, labels or None)
        ]

    @overload
    def children(self, kind: type[R]) -> List[R]: ...

    @overload
    def children(self, kind: Kind) -> List[dict[str, Any]]: ...

    def children(self, kind: Any) -> Any:
        """Returns the children of the parent of this kind, by namespace and name."""
        return [read(kind, text) for text in self._source.children(kind_of(kind))]

    @overload
    def child(self, kind: type[R], name: str) -> R | None: ...

    @overload
    def child(self, kind: Kind, name: str) -> dict[str, Any] | None: ...

    def child(self, kind: Any, name: str) -> Any:
        """Returns the child of this kind and name, or ``None`` if it does not exist."""
        for text in self._source.children(kind_of(kind)):
            object = json.loads(text)
            if object["metadata"]["name"] == name:
                return object if isinstance(kind, Kind) else kind.from_json(object)
        return None

    @property
    def now(self) -> datetime:
        """The time of the call, which stands still. The result of a call that reads it is never
        reused, so read it only if it is needed. Time alone does not cause a call: see
        ``Plan.requeue``."""
        return self._source.now()


def read(kind: Any, text: bytes) -> Any:
    """Returns an object of a JSON text."""
    object = json.loads(text)
    return object if isinstance(kind, Kind) else kind.from_json(object)
