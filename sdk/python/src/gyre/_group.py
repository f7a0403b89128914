"""Groups of parents, for plugins that are called about many parents at once."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

P = TypeVar("P")


class Group(Generic[P]):
    """The parents of one call, if the plugin groups them (``grouped=True`` or
    ``group_by="/spec/pool"``).

    What the plugin returns exists because of all of them.
    """

    def __init__(
        self, members: Iterable[P] = (), value: str | None = None, status: Any = None
    ) -> None:
        """Makes a group, for a test."""
        self.members: list[P] = list(members)
        """The parents, by namespace and name, also those that are being deleted."""
        self.value = value
        """The value of the field that the members have in common; ``None`` if all parents are one
        group."""
        self.status: dict[str, Any] | None = status
        """The status that ``Plan.status`` has written for the group."""


def member_type(annotation: Any) -> Any:
    """Returns the type of the members of a group; ``None`` if it is no group."""
    if annotation is Group:
        return Any
    if typing.get_origin(annotation) is Group:
        return typing.get_args(annotation)[0]
    return None
