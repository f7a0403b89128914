"""Kinds of objects, and what a plugin declares of them."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, Union


class Kind(NamedTuple):
    """A kind by its apiVersion: ``Kind("apps/v1", "Deployment")``.

    It can be used in place of a class: objects are then plain dicts.
    """

    api_version: str
    kind: str

    @property
    def group(self) -> str:
        """The group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version without the group."""
        return self.api_version.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


class Strategy(enum.Enum):
    """How the host changes a child that exists. From weak to strong: create only, apply,
    recreate."""

    APPLY = "apply"
    """It is changed in place with server-side apply."""
    RECREATE = "recreate"
    """It is deleted and created again if it differs."""
    CREATE_ONLY = "create-only"
    """It is created once, and never changed while it exists."""


STRENGTH = {Strategy.CREATE_ONLY: 0, Strategy.APPLY: 1, Strategy.RECREATE: 2}


class Propagation(enum.Enum):
    """How objects that a deleted object owns are deleted."""

    BACKGROUND = "background"
    """They are deleted after it."""
    FOREGROUND = "foreground"
    """They are deleted before it."""
    ORPHAN = "orphan"
    """They are not deleted."""


KindLike = Union[Kind, type]
"""A class of objects, or a :class:`Kind`."""


def kind_of(kind: Any) -> Kind:
    """Returns the kind of a class.

    Raises:
        TypeError: If it is no kind of objects.
    """
    if isinstance(kind, Kind):
        return kind
    known = getattr(kind, "KIND", None)
    if isinstance(known, Kind):
        return known
    shown = getattr(kind, "__name__", repr(kind))
    raise TypeError(
        f"{shown} is no kind of objects: expected a class of gyre.k8s, a subclass of gyre.Object with "
        f'api_version and kind, or gyre.Kind("example.com/v1", "{shown}")'
    )


class ChildKind:
    """A kind of children, if a class alone does not say enough."""

    __slots__ = ("kind", "strategy", "up_to", "propagation", "outlives_parent")

    def __init__(
        self,
        kind: KindLike,
        strategy: Strategy = Strategy.APPLY,
        *,
        up_to: Strategy | None = None,
        propagation: Propagation = Propagation.BACKGROUND,
        outlives_parent: bool = False,
    ) -> None:
        """Declares a kind of children.

        Args:
            kind: The class, or a :class:`Kind`.
            strategy: The strategy of a child that names none.
            up_to: The strongest strategy that a single child may name.
            propagation: How the host deletes what its objects own.
            outlives_parent: Whether its objects stay when their parent is deleted, e.g. volumes
                with data.
        """
        self.kind = kind_of(kind)
        self.strategy = strategy
        self.up_to = up_to
        self.propagation = propagation
        self.outlives_parent = outlives_parent


class ReadKind:
    """A kind that a plugin reads, with its restrictions: ``Secret.where("app=backup")``."""

    __slots__ = ("kind", "labels", "namespace", "metadata_only")

    def __init__(
        self,
        kind: KindLike,
        *,
        labels: str | None = None,
        namespace: str | None = None,
        metadata_only: bool = False,
    ) -> None:
        """Declares a kind to read.

        Args:
            kind: The class, or a :class:`Kind`.
            labels: A label selector as in ``kubectl get -l``. Other objects are invisible.
            namespace: The only namespace to read. ``None``: the parent's and, if the operator
                grants it, others.
            metadata_only: Whether only ``apiVersion``, ``kind`` and ``metadata`` are read, which
                saves memory.
        """
        self.kind = kind_of(kind)
        self.labels = labels
        self.namespace = namespace
        self.metadata_only = metadata_only


def child_kind(declared: Any) -> ChildKind:
    """Returns an entry of ``children=[…]``."""
    return declared if isinstance(declared, ChildKind) else ChildKind(declared)


def read_kind(declared: Any) -> ReadKind:
    """Returns an entry of ``reads=[…]``."""
    return declared if isinstance(declared, ReadKind) else ReadKind(declared)
