"""Tests of plugins as plain Python, without a host, a cluster or Wasm.

    given(parent).with_(objects).reconcile(plugin) ──▶ Answer: applies, waits, is_ready, …

A plugin can read its children and the kinds that it declares, as in the host. An assertion that
fails prints the whole answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from ._cluster import Cluster
from ._failure import Failure, InvalidSelector, NotDeclared, NotGranted, NotServed
from ._group import Group
from ._kinds import STRENGTH, Kind, KindLike, ReadKind, Strategy, kind_of
from ._objects import Resource, encode
from ._plan import Condition, DesiredChild, Event, Member, ObjectRef, Plan, describe
from ._plugin import Manifest, Reconciler
from ._selector import matches, parse
from ._times import parse_time, time_text

__all__ = ["Answer", "Given", "given", "validate_settings"]

R = TypeVar("R", bound=Resource)

OWNER_UID_LABEL = "gyre.dev/owner-uid"

CLUSTER_SCOPED = {
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
}


def _kind_of_json(object: dict[str, Any]) -> Kind:
    return Kind(object.get("apiVersion", ""), object.get("kind", ""))


def _complete(object: dict[str, Any], namespace: str | None, **metadata: Any) -> dict[str, Any]:
    """Adds metadata that a stored object has."""
    of = object.setdefault("metadata", {})
    kind = _kind_of_json(object)
    if namespace is not None and (kind.group, kind.kind) not in CLUSTER_SCOPED:
        of.setdefault("namespace", namespace)
    for name, value in metadata.items():
        of.setdefault(name, value)
    return object


class Given:
    """A test with a parent and objects. The methods change it and return it."""

    def __init__(self, parent: Any) -> None:
        self._parent = parent
        self._objects: list[Any] = []
        self._children: list[Any] = []
        self._settings: Any = {}
        self._now: datetime | None = None
        self._not_served: set[Kind] = set()
        self._not_granted: set[Kind] = set()

    def with_(self, *objects: Any) -> Given:
        """Adds objects. Without a namespace, they are in the parent's, unless their kind is a
        built-in one that has no namespaces."""
        self._objects.extend(objects)
        return self

    def with_child(self, *children: Any) -> Given:
        """Adds children of the parent. Without a namespace, they are in the parent's."""
        self._children.extend(children)
        return self

    def not_serving(self, kind: KindLike) -> Given:
        """Stops serving this kind, as if its CRD were not installed."""
        self._not_served.add(kind_of(kind))
        return self

    def not_granting(self, kind: KindLike) -> Given:
        """Removes the grant of this kind."""
        self._not_granted.add(kind_of(kind))
        return self

    def at(self, now: str | datetime) -> Given:
        """Sets the time. Without it, a plugin that reads ``cluster.now`` fails the test."""
        self._now = parse_time(now) if isinstance(now, str) else now
        return self

    def settings(self, settings: Any) -> Given:
        """Sets the settings: a value of their type, or a dict as the operator writes it."""
        self._settings = settings
        return self

    def reconcile(self, reconciler: Reconciler) -> Answer:
        """Calls the plugin.

        Raises:
            AssertionError: If the plugin does not declare what the plan does: the host would refuse
                it.
        """
        return self._call(reconciler, reconciler.run_reconcile)

    def finalize(self, reconciler: Reconciler) -> Answer:
        """Calls the function of ``@….finalize``."""
        if not reconciler.manifest.finalizes:
            raise AssertionError(
                f"the host does not call it: declare a function with @{reconciler.__name__}.finalize"
            )
        return self._call(reconciler, reconciler.run_finalize)

    def _call(self, reconciler: Reconciler, call: Any) -> Answer:
        manifest = reconciler.manifest
        parent, members, namespace, uid = self._inputs(manifest)
        source = _Source(manifest, self, namespace, uid)
        try:
            value = reconciler.parent(
                json.dumps(parent).encode(), [json.dumps(member).encode() for member in members]
            )
            settings = reconciler.settings(encode(self._settings))
            plan = call(value, settings, Cluster(source))
        except Failure as failure:
            return Answer(None, failure, source.existing)
        except AssertionError:
            raise
        answer = Answer(plan, None, source.existing)
        refusal = first_undeclared(plan, manifest)
        if refusal is not None:
            raise AssertionError(f"the host would refuse the plan: {refusal}\n{answer}")
        return answer

    def _inputs(
        self, manifest: Manifest
    ) -> tuple[dict[str, Any], list[dict[str, Any]], str | None, str]:
        """Returns the parent, the members, the namespace and the UID."""
        namespace = None if manifest.is_cluster_scoped else "default"
        if isinstance(self._parent, Group):
            members = [
                self._stored_parent(member, manifest, namespace) for member in self._parent.members
            ]
            parent: dict[str, Any] = {
                "apiVersion": "gyre.dev/v1",
                "kind": "ParentGroup",
                "metadata": {"name": "group"},
                "spec": {},
            }
            if self._parent.value is not None:
                parent["spec"] = {"value": self._parent.value}
            if self._parent.status is not None:
                parent["status"] = self._parent.status
            return parent, members, None, "uid-of-the-group"
        parent = self._stored_parent(self._parent, manifest, namespace)
        return parent, [], parent["metadata"].get("namespace"), parent["metadata"]["uid"]

    def _stored_parent(
        self, parent: Any, manifest: Manifest, namespace: str | None
    ) -> dict[str, Any]:
        json = {
            "apiVersion": manifest.parent.api_version,
            "kind": manifest.parent.kind,
            **encode(parent),
        }
        name = json.get("metadata", {}).get("name", "")
        _complete(json, namespace, uid=f"uid-of-{name}", generation=1)
        if self._now is not None:
            json["metadata"].setdefault(
                "creationTimestamp", time_text(self._now.replace(microsecond=0))
            )
        return json


def given(parent: Any) -> Given:
    """Begins a test with this parent: an object, a dict, or a :class:`~gyre.Group`.

    Where the test does not say it, the parent has a UID, the generation 1 and, unless its kind is
    cluster-scoped, the namespace ``default``; it was created at the time of the test.
    """
    return Given(parent)


def validate_settings(reconciler: Reconciler, settings: dict[str, Any]) -> None:
    """Checks settings as the host does, but without their schema.

    Raises:
        ValueError: With the sentence for the operator.
    """
    reconciler.settings(settings)


class _Source:
    """Decides which objects of a test a call may read, by the rules of the contract."""

    def __init__(self, manifest: Manifest, test: Given, namespace: str | None, uid: str) -> None:
        self._manifest = manifest
        self._test = test
        self._namespace = namespace
        self._uid = uid
        objects = [self._stored(object) for object in test._objects]
        owner = {"ownerReferences": [{"controller": True, "uid": uid}]}
        objects += [self._stored(child, **owner) for child in test._children]
        place = lambda one: (one["metadata"].get("namespace") or "", one["metadata"]["name"])
        self._objects = sorted(objects, key=place)
        self.existing = [object for object in self._objects if self._owns(object)]

    def _stored(self, object: Any, **metadata: Any) -> dict[str, Any]:
        json = _complete(encode(object), self._namespace, **metadata)
        if _kind_of_json(json) == Kind("v1", "Secret") and "stringData" in json:
            from ._objects import Data

            json["data"] = {**json.get("data", {}), **Data(json.pop("stringData")).to_json()}
        if self._test._now is not None:
            json["metadata"].setdefault(
                "creationTimestamp", time_text(self._test._now.replace(microsecond=0))
            )
        return json

    def _owns(self, object: dict[str, Any]) -> bool:
        metadata = object["metadata"]
        controllers = [
            owner
            for owner in metadata.get("ownerReferences", [])
            if owner.get("controller") is True
        ]
        if controllers:
            return controllers[0].get("uid") == self._uid
        return metadata.get("labels", {}).get(OWNER_UID_LABEL) == self._uid

    def _require(self, kind: Kind) -> None:
        if kind in self._test._not_granted:
            raise NotGranted(kind)
        if kind in self._test._not_served:
            raise NotServed(kind)

    def _declared(self, kind: Kind) -> ReadKind:
        for read in self._manifest.reads:
            if read.kind == kind:
                self._require(kind)
                return read
        raise NotDeclared(kind)

    def _matching(self, kind: Kind, labels: str | None) -> Iterable[dict[str, Any]]:
        try:
            selector = parse(labels or "")
        except ValueError as problem:
            raise InvalidSelector(kind, str(problem)) from None
        for object in self._objects:
            if _kind_of_json(object) == kind and matches(
                selector, object["metadata"].get("labels", {})
            ):
                yield object

    def _visible(self, read: ReadKind) -> Iterable[dict[str, Any]]:
        for object in self._matching(read.kind, read.labels):
            namespace = object["metadata"].get("namespace")
            if read.namespace is None or namespace is None or namespace == read.namespace:
                yield object

    def _text(self, read: ReadKind, object: dict[str, Any]) -> bytes:
        if read.metadata_only:
            object = {field: object[field] for field in ("apiVersion", "kind", "metadata")}
        return json.dumps(object).encode()

    def children(self, kind: Kind) -> list[bytes]:
        if all(child.kind != kind for child in self._manifest.children):
            raise NotDeclared(kind)
        self._require(kind)
        return [
            json.dumps(object).encode() for object in self.existing if _kind_of_json(object) == kind
        ]

    def get(self, kind: Kind, namespace: str | None, name: str) -> bytes | None:
        read = self._declared(kind)
        namespace = namespace or self._namespace
        if read.namespace is not None and read.namespace != namespace:
            raise NotGranted(kind)
        for object in self._visible(read):
            metadata = object["metadata"]
            if metadata["name"] == name and metadata.get("namespace") in (None, namespace):
                return self._text(read, object)
        return None

    def list(self, kind: Kind, namespace: str | None, labels: str | None) -> list[bytes]:
        read = self._declared(kind)
        if namespace is not None and read.namespace not in (None, namespace):
            raise NotGranted(kind)
        matching = [id(object) for object in self._matching(kind, labels)]
        return [
            self._text(read, object)
            for object in self._visible(read)
            if id(object) in matching
            and (namespace is None or object["metadata"].get("namespace") == namespace)
        ]

    def now(self) -> datetime:
        if self._test._now is None:
            raise AssertionError(
                'the plugin read the clock, and the test did not set it: add .at("2026-01-01T00:00:00Z")'
            )
        return self._test._now


class Answer:
    """The answer of a plugin."""

    def __init__(
        self, plan: Plan | None, failure: Failure | None, existing: list[dict[str, Any]]
    ) -> None:
        self._plan = plan
        self._failure = failure
        self._existing = existing

    def __str__(self) -> str:
        lines = (
            describe(self._plan)
            if self._plan is not None
            else [f"{type(self._failure).__name__}: {self._failure}"]
        )
        return "\n".join(["answer:", *(f"  {line}" for line in lines)])

    def _require(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise AssertionError(f"{otherwise}\n{self}")

    @property
    def plan(self) -> Plan:
        """The plan. The test fails if the plugin failed."""
        self._require(self._plan is not None, "the plugin failed")
        assert self._plan is not None
        return self._plan

    @property
    def failure(self) -> Failure:
        """The failure. The test fails if the plugin did not fail."""
        self._require(self._failure is not None, "the plugin did not fail")
        assert self._failure is not None
        return self._failure

    def _listed(self, kind: Kind) -> list[tuple[str, DesiredChild | ObjectRef]]:
        found: list[tuple[str, DesiredChild | ObjectRef]] = []
        for child in self.plan.listed or ():
            if isinstance(child, ObjectRef):
                if child.kind == kind:
                    found.append((child.name, child))
            elif _kind_of_json(child.object) == kind:
                found.append((child.object["metadata"]["name"], child))
        return found

    def _child(self, kind: Kind, name: str) -> DesiredChild:
        for of, child in self._listed(kind):
            if of == name and isinstance(child, DesiredChild):
                return child
        raise AssertionError(f"{kind} {name} is not applied\n{self}")

    def applies(self, kind: type[R], name: str, *, strategy: Strategy | None = None) -> R:
        """Returns the applied child of this class and name. With a strategy, it must have this
        one."""
        child = self._child(kind_of(kind), name)
        if strategy is not None:
            self._require(child.strategy is strategy, f"{name} is not applied with {strategy}")
        # A copy, so that a test does not change the plan.
        return kind.from_json(json.loads(json.dumps(child.object)))

    def applied_json(self, kind: KindLike, name: str) -> dict[str, Any]:
        """Returns the applied child of this kind and name as JSON."""
        return self._child(kind_of(kind), name).object

    def keeps(self, kind: KindLike, name: str) -> Answer:
        """Asserts that this child is kept."""
        kept = [of for of, child in self._listed(kind_of(kind)) if isinstance(child, ObjectRef)]
        self._require(name in kept, f"{kind_of(kind)} {name} is not kept")
        return self

    def deletes(self, kind: KindLike, name: str) -> Answer:
        """Asserts that the host deletes this child: it exists, and the plan lists the children
        without it."""
        of = kind_of(kind)
        names = [one["metadata"]["name"] for one in self._existing if _kind_of_json(one) == of]
        self._require(name in names, f"the parent has no child {of} {name}: add it by with_child")
        self._require(
            self.plan.listed is not None, f"the children stay as they are, and so does {of} {name}"
        )
        self._require(
            name not in [listed for listed, _ in self._listed(of)], f"{of} {name} is not deleted"
        )
        return self

    def has_no(self, kind: KindLike) -> Answer:
        """Asserts that no child of this kind is applied or kept."""
        self._require(not self._listed(kind_of(kind)), f"there is a {kind_of(kind)}")
        return self

    def waits(self, reason: str) -> Answer:
        """Asserts that the children stay as they are, and ``Ready`` is ``False`` with this
        reason."""
        self._require(self.plan.listed is None, "the children do not stay as they are")
        return self.is_not_ready(reason)

    def is_ready(self, reason: str) -> Answer:
        """Asserts that ``Ready`` is ``True`` with this reason."""
        return self.has_condition("Ready", True, reason)

    def is_not_ready(self, reason: str) -> Answer:
        """Asserts that ``Ready`` is ``False`` with this reason."""
        return self.has_condition("Ready", False, reason)

    def has_condition(self, type: str, status: bool | None, reason: str) -> Answer:
        """Asserts that this condition has this status and reason."""
        condition = self.condition(type)
        is_so = condition.status is status and condition.reason == reason
        self._require(is_so, f"{type} is not {status} with {reason}")
        return self

    def condition(self, type: str) -> Condition:
        """Returns the condition of this type."""
        for condition in self.plan.conditions:
            if condition.type == type:
                return condition
        raise AssertionError(f"there is no condition {type}\n{self}")

    def event(self, reason: str) -> Event:
        """Returns the event with this reason."""
        for event in self.plan.events:
            if event.reason == reason:
                return event
        raise AssertionError(f"there is no event {reason}\n{self}")

    @property
    def status(self) -> dict[str, Any] | None:
        """The status in JSON, without the conditions; ``None`` if it is left as it is."""
        return self.plan.new_status

    def sets(self, pointer: str) -> Any:
        """Returns a field of the parent that the plan sets, by its JSON Pointer."""
        value: Any = self.plan.fields_of_parent or {}
        for part in pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            self._require(
                isinstance(value, dict) and name in value, f"{pointer} of the parent is not set"
            )
            value = value[name]
        return value

    def deletes_parent(self) -> Answer:
        """Asserts that the parent is deleted now."""
        return self.deletes_parent_after(timedelta(0))

    def deletes_parent_after(self, after: timedelta) -> Answer:
        """Asserts that the parent is deleted after this time."""
        deletion = self.plan.parent_deletion
        is_so = deletion is not None and deletion.after == after
        self._require(is_so, f"the parent is not deleted after {after}")
        return self

    def keeps_parent(self) -> Answer:
        """Asserts that the parent is not deleted, neither now nor later."""
        self._require(self.plan.parent_deletion is None, "the parent is deleted")
        return self

    def is_finalized(self) -> Answer:
        """Asserts that the plan lets the parent go, which is being deleted."""
        self._require(self.plan.releases_parent, "the parent does not go")
        return self

    def member(self, name: str) -> Member:
        """Returns what the plan says of the member of a group with this name."""
        for member in self.plan.statuses_of_members:
            if member.name == name:
                return member
        raise AssertionError(f"the plan says nothing of the member {name}\n{self}")


_IDENTITY = {"/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"}


def first_undeclared(plan: Plan, manifest: Manifest) -> str | None:
    """Returns the reason for which the host would refuse a part of the plan, and the remedy."""
    if plan.parent_deletion is not None and not manifest.deletes_parent:
        return "the plugin does not declare that it deletes parents (UndeclaredParentDeletion): give deletes_parent=True to plugin"
    field = (
        _undeclared_field(plan.fields_of_parent, "", manifest)
        if plan.fields_of_parent is not None
        else None
    )
    if field is not None:
        return f"the plugin does not declare that it sets {field} of parents (UndeclaredParentField): give sets=[{field!r}] to plugin"
    for child in plan.listed or ():
        refusal = _undeclared_child(child, manifest)
        if refusal is not None:
            return refusal
    return None


def _undeclared_field(value: Any, pointer: str, manifest: Manifest) -> str | None:
    is_declared = any(
        pointer == declared or pointer.startswith(f"{declared}/") for declared in manifest.sets
    )
    if is_declared or pointer in _IDENTITY:
        return None
    if not isinstance(value, dict) or not value:
        return pointer or None
    for name, inner in value.items():
        part = name.replace("~", "~0").replace("/", "~1")
        found = _undeclared_field(inner, f"{pointer}/{part}", manifest)
        if found is not None:
            return found
    return None


def _undeclared_child(child: DesiredChild | ObjectRef, manifest: Manifest) -> str | None:
    if isinstance(child, ObjectRef):
        kind, name, strategy = child.kind, child.name, None
    else:
        kind, name, strategy = (
            _kind_of_json(child.object),
            child.object["metadata"]["name"],
            child.strategy,
        )
    for declared in manifest.children:
        if declared.kind != kind:
            continue
        strongest = max(STRENGTH[declared.strategy], STRENGTH[declared.up_to or declared.strategy])
        if strategy is None or STRENGTH[strategy] <= strongest:
            return None
        return (
            f"{kind.kind} {name} has the strategy {strategy.name}, and the plugin declares no such strong one for its kind "
            f"(UndeclaredStrategy): write ChildKind({kind.kind}, Strategy.{declared.strategy.name}, up_to=Strategy.{strategy.name})"
        )
    return (
        f"the plugin does not declare {kind} as a kind of children, and {kind.kind} {name} is one (UndeclaredKind): "
        f"give children=[{kind.kind}] to plugin"
    )
