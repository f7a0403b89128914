"""Declares a plugin.

@plugin(…) def f(parent, config, cluster) ──▶ Reconciler ──▶ REGISTERED ──▶ component, tests
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ._cluster import Cluster
from ._failure import Terminal
from ._group import Group, member_type
from ._kinds import ChildKind, Kind, KindLike, ReadKind, child_kind, kind_of, read_kind
from ._object import Object, class_of, types_of
from ._objects import Resource
from ._plan import Plan
from ._schema import Column, crd_of, documentation_of, settings_schema
from ._types import Reader, UnexpectedJson, reader, unknown_key, without_extras

REGISTERED: list[Reconciler] = []
"""The reconcilers of the plugin, in the order of their declarations."""

PROJECT: dict[str, str] = {}
"""The name, version and description in pyproject.toml, where a component is built."""


class Manifest(typing.NamedTuple):
    """What a plugin says of a reconciler."""

    name: str
    version: str
    description: str
    parent: Kind
    grouped: bool
    group_by: str | None
    children: list[ChildKind]
    reads: list[ReadKind]
    sets: list[str]
    deletes_parent: bool
    finalizes: bool
    settings_schema: dict[str, Any] | None
    crds: list[dict[str, Any]]
    is_cluster_scoped: bool


class Inputs(typing.NamedTuple):
    """What the annotations of a function say."""

    parent: Any
    """The type of the parent, or of the members of a group."""
    is_group: bool
    settings: Any
    """The type of the settings; ``None`` if it takes none."""


class Signature:
    """The parameters of a function of a plugin: the parent first; the cluster by its annotation or
    its name; the settings are the other one."""

    def __init__(self, function: Callable[..., Plan]) -> None:
        self.function = function
        names = list(inspect.signature(function).parameters)
        if not 1 <= len(names) <= 3:
            raise TypeError(
                f"{_place(function)}: expected parameters such as (parent, config, cluster), not {names}"
            )
        self._hints: dict[str, Any] | None = None
        self._parameters = names
        self.arguments: list[str] = []

    def inputs(self) -> Inputs:
        """Returns the types of the parameters."""
        hints = typing.get_type_hints(self.function, include_extras=True)
        parent, *others = self._parameters
        annotation = hints.get(parent, Any)
        of_member = member_type(without_extras(annotation))
        settings = None
        arguments = ["parent"]
        for name in others:
            if hints.get(name) is Cluster or (name not in hints and name == "cluster"):
                arguments.append("cluster")
            elif "settings" in arguments:
                raise TypeError(
                    f"{_place(self.function)}: which of {others} is the Cluster? Annotate it: cluster: Cluster"
                )
            else:
                arguments.append("settings")
                settings = hints.get(name, dict)
        self.arguments = arguments
        return Inputs(
            annotation if of_member is None else of_member, of_member is not None, settings
        )

    def call(self, parent: Any, settings: Any, cluster: Cluster) -> Plan:
        """Calls the function with its arguments."""
        given = {"parent": parent, "settings": settings, "cluster": cluster}
        plan = self.function(*[given[name] for name in self.arguments])
        if not isinstance(plan, Plan):
            raise NoPlan(self.function, plan)
        return plan


class NoPlan(TypeError):
    """What a function returned is no plan."""

    def __init__(self, function: Callable[..., Plan], returned: Any) -> None:
        name = getattr(function, "__name__", "the function")
        super().__init__(
            f"{name} returned {returned!r}, and not a plan: return children(…), wait(…), …"
        )
        self.code = getattr(function, "__code__", None)


def _place(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"the function {getattr(function, '__name__', function)}{where}"


class Reconciler:
    """A function with what its plugin declares. It is called like the function."""

    def __init__(self, function: Callable[..., Plan], declared: dict[str, Any]) -> None:
        self._signature = Signature(function)
        self._declared = declared
        self._finalize: Signature | None = None
        self._manifest: Manifest | None = None
        self._inputs: Inputs | None = None
        self._parent_class: type[Resource] | None = None
        self._read_settings: Reader | None = None
        self.__name__ = getattr(function, "__name__", "reconcile")
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def __call__(self, *arguments: Any, **named: Any) -> Plan:
        return self._signature.function(*arguments, **named)

    def finalize(self, function: Callable[..., Plan]) -> Callable[..., Plan]:
        """Declares what should still exist while a parent is being deleted: ``@backup.finalize``.

        The function has the parameters of the plugin. The host then holds a finalizer on every
        parent, which stays until a plan lets it go: :func:`gyre.finalized`.
        """
        self._finalize = Signature(function)
        self._manifest = None
        return function

    @property
    def inputs(self) -> Inputs:
        """The types of the parent and the settings."""
        if self._inputs is None:
            self._inputs = self._signature.inputs()
            if self._finalize is not None:
                self._finalize.inputs()
        return self._inputs

    @property
    def manifest(self) -> Manifest:
        """What the plugin declares."""
        if self._manifest is None:
            self._manifest = self._make_manifest()
        return self._manifest

    @property
    def parent_class(self) -> type[Resource]:
        """The class of the parents."""
        if self._parent_class is None:
            annotation = without_extras(self.inputs.parent)
            is_built_in = (
                isinstance(annotation, type)
                and issubclass(annotation, Resource)
                and not issubclass(annotation, Object)
            )
            self._parent_class = annotation if is_built_in else class_of(annotation, self._kind())
        return self._parent_class

    def _kind(self) -> Kind:
        declared = self._declared
        if declared["kind"]:
            return Kind(f"{declared['group']}/{declared['version']}", declared["kind"])
        try:
            return kind_of(without_extras(self.inputs.parent))
        except TypeError as problem:
            raise TypeError(
                f"{_place(self._signature.function)}: the kind of the parent is not known: give group, version and kind to "
                f"plugin, or annotate the parent with a class that has a kind; {problem}"
            ) from None

    def _make_manifest(self) -> Manifest:
        declared = self._declared
        inputs = self.inputs
        is_group = declared["grouped"] or declared["group_by"] is not None
        if is_group != inputs.is_group:
            remedy = (
                "annotate the parent as Group[…]"
                if is_group
                else "give grouped=True or group_by=… to plugin"
            )
            raise TypeError(
                f"{_place(self._signature.function)}: the plugin groups its parents in one place only: {remedy}"
            )
        if is_group and self._finalize is not None:
            raise TypeError(
                f"{_place(self._signature.function)}: a plugin that groups its parents has no finalize"
            )
        kind = self._kind()
        crds = [dict(crd) for crd in declared["crds"]]
        if declared["kind"] and declared["brings_crd"]:
            spec, status = types_of(inputs.parent) or (Any, Any)
            crds.insert(
                0,
                crd_of(
                    kind,
                    spec,
                    status,
                    plural=declared["plural"],
                    short_names=declared["short_names"],
                    categories=declared["categories"],
                    is_cluster_scoped=declared["cluster_scoped"],
                    columns=declared["columns"],
                ),
            )
        schema = declared["settings_schema"]
        if schema is None and inputs.settings is not None:
            schema = settings_schema(inputs.settings)
        function = self._signature.function
        description = (
            declared["description"]
            or _first_line(documentation_of(function))
            or PROJECT.get("description", "")
        )
        is_only_one = len(REGISTERED) < 2
        name = (
            declared["name"]
            or (PROJECT.get("name") if is_only_one else None)
            or function.__name__.replace("_", "-")
        )
        return Manifest(
            name=name,
            version=PROJECT.get("version", "0.1.0"),
            description=description,
            parent=kind,
            grouped=declared["grouped"],
            group_by=declared["group_by"],
            children=[child_kind(child) for child in declared["children"]],
            reads=[read_kind(read) for read in declared["reads"]],
            sets=list(declared["sets"]),
            deletes_parent=declared["deletes_parent"],
            finalizes=self._finalize is not None,
            settings_schema=schema,
            crds=crds,
            is_cluster_scoped=declared["cluster_scoped"],
        )

    def compile(self) -> None:
        """Prepares everything that calls need, so that they need not."""
        _ = self.manifest
        for name in ("spec", "status"):
            codec = self.parent_class._fields.get(name, (name, None))[1]
            if hasattr(codec, "compile"):
                codec.compile()
        self._settings_reader()

    def _settings_reader(self) -> Reader:
        if self._read_settings is None:
            settings = self.inputs.settings
            self._read_settings = (
                reader(settings) if settings is not None else lambda value, place: None
            )
        return self._read_settings

    def settings(self, value: Any) -> Any:
        """Returns settings in the author's type.

        Raises:
            ValueError: With a sentence for the operator.
        """
        settings = self.inputs.settings
        if settings is not None:
            unknown = unknown_key(settings, value, "")
            if unknown is not None:
                raise UnexpectedJson(f"there is no setting {unknown}")
        try:
            return self._settings_reader()(value, "settings")
        except ValueError as problem:
            raise UnexpectedJson(
                str(problem).removeprefix("settings: ").removeprefix("settings.")
            ) from problem

    def parent(self, text: bytes, members: Iterable[bytes]) -> Any:
        """Returns the parent of a call."""
        value = json.loads(text)
        if not self.inputs.is_group:
            return self.parent_class.from_json(value)
        of_member = self.parent_class
        group: Group[Any] = Group()
        group.members = [of_member.from_json(json.loads(member)) for member in members]
        group.value = value.get("spec", {}).get("value")
        group.status = value.get("status")
        return group

    def run_reconcile(self, parent: Any, settings: Any, cluster: Cluster) -> Plan:
        """Calls the function.

        Raises:
            Terminal: If the plan is one of ``finalize``.
        """
        _ = self.inputs
        plan = self._signature.call(parent, settings, cluster)
        if plan.releases_parent:
            raise Terminal(
                "the plugin returned a plan that releases the parent (finalized or release_parent), which is for finalize"
            )
        return plan

    def run_finalize(self, parent: Any, settings: Any, cluster: Cluster) -> Plan:
        """Calls the function of ``@….finalize``.

        Raises:
            Terminal: If there is none.
        """
        _ = self.inputs
        if self._finalize is None:
            raise Terminal(f"the reconciler {self.manifest.name} does not finalize")
        if not self._finalize.arguments:
            self._finalize.inputs()
        return self._finalize.call(parent, settings, cluster)


def _first_line(text: str | None) -> str | None:
    return text.split("\n")[0] if text else None


def plugin(
    *,
    group: str = "",
    version: str = "",
    kind: str = "",
    name: str | None = None,
    description: str | None = None,
    children: Iterable[KindLike | ChildKind] = (),
    reads: Iterable[KindLike | ReadKind] = (),
    grouped: bool = False,
    group_by: str | None = None,
    sets: Iterable[str] = (),
    deletes_parent: bool = False,
    plural: str | None = None,
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    cluster_scoped: bool = False,
    columns: Sequence[Column] = (),
    brings_crd: bool = True,
    crds: Iterable[Mapping[str, Any]] = (),
    settings_schema: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Plan]], Reconciler]:
    """Declares that a function is a plugin: ``function(parent, config, cluster) -> Plan``.

    The settings and the cluster may be left out. The function may be called at any time and any
    number of times, and its plan must depend on its inputs alone. A component may have several
    plugins.

        @plugin(group="example.com", version="v1", kind="Backup", children=[CronJob], reads=[Secret])
        def backup(parent: Object[BackupSpec, BackupStatus], config: Config, cluster: Cluster) -> Plan:
            ...

    Args:
        group: The group of the parent's kind, if it is one's own.
        version: Its version.
        kind: Its name. Leave these out for a class with a kind, e.g. ``parent: Deployment``.
        name: A DNS label. By default, the name in pyproject.toml or, of several plugins, that of
            the function.
        description: A sentence for people. By default, the first line of the function's docstring.
        children: The kinds of children: classes, or :class:`~gyre.ChildKind`.
        reads: The kinds that are read: classes, ``Secret.where("a=b")``, or
            :class:`~gyre.ReadKind`.
        grouped: Whether one call is about all parents. The parent is then a ``Group``.
        group_by: A JSON Pointer such as ``/spec/pool``: one call is about all parents with the same
            value.
        sets: The fields of parents that the plugin sets, as JSON Pointers: ``Plan.parent_fields``.
        deletes_parent: Whether the plugin may delete parents: ``Plan.delete_parent``.
        plural: The name in paths, in lower case. By default, as kubebuilder forms it.
        short_names: Further names for ``kubectl get``.
        categories: Further groups of kinds for ``kubectl get``.
        cluster_scoped: Whether the parents have no namespace.
        columns: The columns of ``kubectl get``, after the name.
        brings_crd: Whether the plugin brings the CustomResourceDefinition of a kind of one's own.
        crds: Further CustomResourceDefinitions.
        settings_schema: A JSON Schema of the settings, in place of that of their type.
    """
    declared = {
        "group": group,
        "version": version,
        "kind": kind,
        "name": name,
        "description": description,
        "children": list(children),
        "reads": list(reads),
        "grouped": grouped,
        "group_by": group_by,
        "sets": list(sets),
        "deletes_parent": deletes_parent,
        "plural": plural,
        "short_names": short_names,
        "categories": categories,
        "cluster_scoped": cluster_scoped,
        "columns": columns,
        "brings_crd": brings_crd,
        "crds": list(crds),
        "settings_schema": settings_schema,
    }
    if kind and not (group and version):
        raise TypeError(f"plugin(kind={kind!r}) needs a group and a version, too")

    def declare(function: Callable[..., Plan]) -> Reconciler:
        reconciler = Reconciler(function, declared)
        REGISTERED.append(reconciler)
        return reconciler

    return declare
