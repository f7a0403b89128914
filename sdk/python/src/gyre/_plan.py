"""The result of a plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Union

from ._kinds import Kind, KindLike, Propagation, Strategy, kind_of
from ._objects import Resource, encode


class ObjectRef(NamedTuple):
    """Names an object. Without a namespace it is in that of the parent."""

    kind: Kind
    name: str
    namespace: str | None = None


class DesiredChild(NamedTuple):
    """A child that should exist with these fields, in JSON."""

    object: dict[str, Any]
    strategy: Strategy | None = None


class Condition(NamedTuple):
    """A condition of the parent. The host fills in its generation and time."""

    type: str
    status: bool | None
    """``None`` is Unknown."""
    reason: str
    message: str


class Event(NamedTuple):
    """An Event about the parent. Return it whenever it applies; the host does not repeat it."""

    reason: str
    message: str
    is_warning: bool = False


class ParentDeletion(NamedTuple):
    """The deletion of the parent."""

    after: timedelta
    propagation: Propagation


ObjectLike = Union[Resource, Mapping[str, Any]]
"""An object of a class, or a dict with ``apiVersion``, ``kind`` and ``metadata``."""

_NO_TIME = timedelta(0)

_LEAVES_CHILDREN = (
    "a child was added to a plan that leaves the children as they are (wait or keep_children): begin with "
    "children or no_children, and list all children that should exist"
)


def object_json(object: Any) -> dict[str, Any]:
    """Returns a child in JSON.

    Raises:
        TypeError: If it is no object.
        ValueError: If it has no apiVersion, kind or name.
    """
    json = encode(object)
    if not isinstance(json, dict):
        raise TypeError(f"a child is an object, not {object!r}")
    for field in ("apiVersion", "kind"):
        if not json.get(field):
            hint = (
                ""
                if isinstance(object, Mapping)
                else "; its class has no kind: use a subclass of gyre.Object with kind=…"
            )
            raise ValueError(f"a child has no {field}: {json!r}{hint}")
    if not json.get("metadata", {}).get("name"):
        raise ValueError(f"a {json['kind']} has no name")
    return json


class Member:
    """The status of one member of a :class:`~gyre.Group`: ``Member(claim).status(…).ready(…)``.

    The methods change it and return it.
    """

    def __init__(self, member: ObjectLike) -> None:
        """Makes one that leaves the status of the member as it is."""
        if isinstance(member, Resource):
            self.namespace, self.name = member.namespace, member.name
        else:
            metadata = member["metadata"]
            self.namespace, self.name = metadata.get("namespace"), metadata["name"]
        self.new_status: dict[str, Any] | None = None
        self.conditions: list[Condition] = []

    def status(self, status: Any) -> Member:
        """Sets the plugin's whole status, a dataclass or a dict."""
        self.new_status = _status_json(status)
        return self

    def condition(self, type: str, status: bool | None, reason: str, message: str) -> Member:
        """Adds a condition."""
        self.conditions.append(Condition(type, status, reason, message))
        return self

    def ready(self, reason: str, message: str) -> Member:
        """Sets the condition ``Ready`` to ``True``."""
        return self.condition("Ready", True, reason, message)

    def not_ready(self, reason: str, message: str) -> Member:
        """Sets the condition ``Ready`` to ``False``."""
        return self.condition("Ready", False, reason, message)


class Plan:
    """What should exist. It begins with :func:`children`, :func:`no_children`,
    :func:`keep_children`, :func:`wait` or :func:`finalized`.

    The methods change the plan and return it.
    """

    def __init__(self) -> None:
        self.listed: list[DesiredChild | ObjectRef] | None = None
        self.new_status: dict[str, Any] | None = None
        self.conditions: list[Condition] = []
        self.events: list[Event] = []
        self.requeue_after: timedelta | None = None
        self.fields_of_parent: dict[str, Any] | None = None
        self.parent_deletion: ParentDeletion | None = None
        self.statuses_of_members: list[Member] = []
        self.releases_parent = False

    def apply(self, *objects: ObjectLike, strategy: Strategy | None = None) -> Plan:
        """Adds children that should exist with these fields.

        Args:
            objects: Objects of a class, or dicts with apiVersion, kind and metadata.
            strategy: Another strategy than that of their kind.

        Raises:
            ValueError: If the plan leaves the children as they are.
        """
        children = self._children()
        for object in objects:
            children.append(DesiredChild(object_json(object), strategy))
        return self

    def keep(self, kind: KindLike, name: str, namespace: str | None = None) -> Plan:
        """Adds a child that stays if it exists, e.g. a finished Job; it is not created if it does
        not."""
        self._children().append(ObjectRef(kind_of(kind), name, namespace))
        return self

    def _children(self) -> list[DesiredChild | ObjectRef]:
        if self.listed is None:
            raise ValueError(_LEAVES_CHILDREN)
        return self.listed

    def status(self, status: Any) -> Plan:
        """Sets the plugin's whole status, a dataclass or a dict. The host adds conditions and
        observedGeneration."""
        self.new_status = _status_json(status)
        return self

    def ready(self, reason: str, message: str) -> Plan:
        """Sets the condition ``Ready`` to ``True``, and adds an event with the reason and
        message."""
        return self.condition("Ready", True, reason, message).event(reason, message)

    def not_ready(self, reason: str, message: str) -> Plan:
        """Sets the condition ``Ready`` to ``False``, and adds a warning with the reason and
        message."""
        return self.condition("Ready", False, reason, message).warning(reason, message)

    def condition(self, type: str, status: bool | None, reason: str, message: str) -> Plan:
        """Adds a condition. Conditions of other types stay as they are.

        Args:
            type: In CamelCase, e.g. ``Degraded``.
            status: ``None`` is Unknown.
            reason: In CamelCase, for programs.
            message: A sentence, for people.
        """
        self.conditions.append(Condition(type, status, reason, message))
        return self

    def event(self, reason: str, message: str) -> Plan:
        """Adds an event of the type Normal."""
        self.events.append(Event(reason, message))
        return self

    def warning(self, reason: str, message: str) -> Plan:
        """Adds an event of the type Warning."""
        self.events.append(Event(reason, message, True))
        return self

    def requeue(self, after: timedelta) -> Plan:
        """Asks for another call after this time, even if nothing changes."""
        if not isinstance(after, timedelta):
            raise TypeError(f"requeue takes a timedelta, e.g. timedelta(seconds=60), not {after!r}")
        self.requeue_after = after
        return self

    def parent_fields(self, fields: ObjectLike) -> Plan:
        """Sets fields of the parent, beside those that are set already: a part of the object.

        The plugin must declare them (``sets=[…]``), and the operator must grant them. A plan is
        complete: fields that it does not set any longer are withdrawn. Only a plan that leaves the
        children and sets no field leaves the fields, too.
        """
        if self.fields_of_parent is None:
            self.fields_of_parent = {}
        json = {
            key: value for key, value in encode(fields).items() if key not in ("apiVersion", "kind")
        }
        _merge(self.fields_of_parent, json)
        return self

    def parent_label(self, key: str, value: str) -> Plan:
        """Sets a label of the parent: see :meth:`parent_fields`."""
        return self.parent_fields({"metadata": {"labels": {key: value}}})

    def parent_annotation(self, key: str, value: str) -> Plan:
        """Sets an annotation of the parent: see :meth:`parent_fields`."""
        return self.parent_fields({"metadata": {"annotations": {key: value}}})

    def delete_parent(self, propagation: Propagation = Propagation.BACKGROUND) -> Plan:
        """Deletes the parent, once everything else in this plan is done, and only if nobody has
        changed it since this call.

        The plugin must declare it (``deletes_parent=True``), and the operator must grant it.
        """
        self.parent_deletion = ParentDeletion(_NO_TIME, propagation)
        return self

    def delete_parent_at(
        self,
        due: datetime,
        now: datetime,
        propagation: Propagation = Propagation.BACKGROUND,
    ) -> Plan:
        """Deletes the parent at this time: see :meth:`delete_parent`.

        Until then, the plugin is called again, and decides again. So the time follows from an
        object, not from the call: ``plan.delete_parent_at(parent.created + HOUR, cluster.now)``.
        """
        self.parent_deletion = ParentDeletion(max(due - now, _NO_TIME), propagation)
        return self

    def member(self, member: Member) -> Plan:
        """Sets the status of a member of the group. Members without one stay as they are."""
        self.statuses_of_members.append(member)
        return self

    def members(self, members: Iterable[Member]) -> Plan:
        """Sets the statuses of members of the group."""
        self.statuses_of_members.extend(members)
        return self

    def release_parent(self) -> Plan:
        """Lets a parent go that is being deleted, once the children are gone that this plan
        deletes. In ``finalize`` alone."""
        self.releases_parent = True
        return self

    def __repr__(self) -> str:
        return "\n".join(describe(self))


def children(*objects: ObjectLike) -> Plan:
    """Returns a plan in which these are **all** children that should exist. Other children are
    deleted.

    Return :func:`wait` or :func:`keep_children` where they are not known yet.
    """
    return no_children().apply(*objects)


def no_children() -> Plan:
    """Returns a plan without children: **all are deleted**."""
    plan = Plan()
    plan.listed = []
    return plan


def keep_children() -> Plan:
    """Returns a plan that leaves the children and the status as they are."""
    return Plan()


def wait(reason: str, message: str) -> Plan:
    """Returns a plan for a parent that waits, e.g. for an object that is missing.

    The children and the status stay as they are, and ``Ready`` is ``False`` with this reason. The
    plugin is called again when something changes that it has read.
    """
    return keep_children().condition("Ready", False, reason, message).event(reason, message)


def finalized() -> Plan:
    """Returns the last plan of ``finalize``: all children are deleted, and then the parent goes."""
    return no_children().release_parent()


def _status_json(status: Any) -> dict[str, Any]:
    json = encode(status)
    if not isinstance(json, dict):
        raise TypeError(f"a status is an object, not {status!r}")
    return json


def _merge(into: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if isinstance(value, Mapping) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value


def describe(plan: Plan) -> list[str]:
    """Returns a plan as lines for people."""
    lines = []
    if plan.listed is None:
        lines.append("the children stay as they are")
    elif not plan.listed:
        lines.append("no children")
    for child in plan.listed or ():
        if isinstance(child, ObjectRef):
            lines.append(f"keep {child.kind} {child.name}")
        else:
            with_strategy = f" with {child.strategy.name}" if child.strategy else ""
            lines.append(f"apply{with_strategy} {child.object!r}")
    if plan.new_status is not None:
        lines.append(f"status {plan.new_status!r}")
    for condition in plan.conditions:
        lines.append(
            f"condition {condition.type} {condition.status} {condition.reason}: {condition.message}"
        )
    for event in plan.events:
        kind = "warning" if event.is_warning else "event"
        lines.append(f"{kind} {event.reason}: {event.message}")
    if plan.requeue_after is not None:
        lines.append(f"again after {plan.requeue_after}")
    if plan.fields_of_parent is not None:
        lines.append(f"fields of the parent {plan.fields_of_parent!r}")
    if plan.parent_deletion is not None:
        lines.append(f"delete the parent after {plan.parent_deletion.after}")
    for member in plan.statuses_of_members:
        lines.append(f"member {member.name}: status {member.new_status!r}, {member.conditions!r}")
    if plan.releases_parent:
        lines.append("release the parent")
    return lines
