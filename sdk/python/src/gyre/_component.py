"""The exports of a component. The build imports it; natively, it cannot be imported.

    load(module) ──▶ manifests, readers ──▶ snapshot
    each call: JSON ──▶ function ──▶ Plan ──▶ JSON

Everything that calls need is prepared before the snapshot, because each call begins with it.
"""

from __future__ import annotations

import gc
import importlib
import os
import random
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, NoReturn

from componentize_py_types import Err  # type: ignore[import-not-found]

from . import _places, _plugin, log
from ._cluster import Cluster
from ._failure import (
    Failure,
    InvalidSelector,
    NotDeclared,
    NotGranted,
    NotServed,
    RetryAfter,
    Terminal,
    Transient,
)
from ._kinds import Kind, Propagation, Strategy
from ._objects import text_of_json
from ._plan import Condition, DesiredChild, ObjectRef, Plan
from ._plugin import NoPlan, Reconciler
from .bindings import exports  # type: ignore[attr-defined]
from .bindings.imports import cluster as host_cluster  # type: ignore[import-not-found]
from .bindings.imports import log as host_log  # type: ignore[import-not-found]
from .bindings.imports import types as wit  # type: ignore[import-not-found]

_STRATEGIES = {
    Strategy.APPLY: wit.Strategy.APPLY,
    Strategy.RECREATE: wit.Strategy.RECREATE,
    Strategy.CREATE_ONLY: wit.Strategy.CREATE_ONLY,
}

_PROPAGATIONS = {
    Propagation.BACKGROUND: wit.Propagation.BACKGROUND,
    Propagation.FOREGROUND: wit.Propagation.FOREGROUND,
    Propagation.ORPHAN: wit.Propagation.ORPHAN,
}

_TRUTHS = {True: wit.Truth.YES, False: wit.Truth.NO, None: wit.Truth.UNKNOWN}

_LEVELS = {
    "trace": host_log.Level.TRACE,
    "debug": host_log.Level.DEBUG,
    "info": host_log.Level.INFO,
    "warn": host_log.Level.WARN,
    "error": host_log.Level.ERROR,
}


def _kind(kind: Kind) -> Any:
    return wit.GroupVersionKind(kind.group, kind.version, kind.kind)


class _Host:
    """Reads from the caches of the host."""

    def children(self, kind: Kind) -> list[bytes]:
        return _reading(kind, lambda: host_cluster.children(_kind(kind)))

    def get(self, kind: Kind, namespace: str | None, name: str) -> bytes | None:
        return _reading(kind, lambda: host_cluster.get(_kind(kind), namespace, name))

    def list(self, kind: Kind, namespace: str | None, labels: str | None) -> list[bytes]:
        return _reading(kind, lambda: host_cluster.list(_kind(kind), namespace, labels))

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


def _reading(kind: Kind, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Err as refused:
        error = refused.value
    if isinstance(error, host_cluster.ReadError_NotDeclared):
        raise NotDeclared(kind)
    if isinstance(error, host_cluster.ReadError_NotGranted):
        raise NotGranted(kind)
    if isinstance(error, host_cluster.ReadError_NotServed):
        raise NotServed(kind)
    raise InvalidSelector(kind, error.value)


_CLUSTER = Cluster(_Host())


def _manifest(reconciler: Reconciler) -> Any:
    manifest = reconciler.manifest
    if manifest.group_by is not None:
        grouping = wit.Grouping_ByField(manifest.group_by)
    else:
        grouping = wit.Grouping_All() if manifest.grouped else wit.Grouping_Each()
    children = [
        wit.ChildKind(
            _kind(child.kind),
            _STRATEGIES[child.strategy],
            None if child.up_to is None else _STRATEGIES[child.up_to],
            _PROPAGATIONS[child.propagation],
            child.outlives_parent,
        )
        for child in manifest.children
    ]
    reads = [
        wit.ReadKind(_kind(read.kind), read.namespace, read.labels, read.metadata_only)
        for read in manifest.reads
    ]
    schema = manifest.settings_schema
    return wit.Manifest(
        manifest.name,
        manifest.version,
        manifest.description,
        _kind(manifest.parent),
        grouping,
        children,
        reads,
        manifest.sets,
        manifest.deletes_parent,
        manifest.finalizes,
        None if schema is None else text_of_json(schema),
        [text_of_json(crd) for crd in manifest.crds],
    )


def _milliseconds(time: timedelta) -> int:
    """Rounds up, so that no call comes too early."""
    return max(0, -(-time // timedelta(milliseconds=1)))


def _condition(condition: Condition) -> Any:
    return wit.Condition(
        condition.type, _TRUTHS[condition.status], condition.reason, condition.message
    )


def _child(child: DesiredChild | ObjectRef) -> Any:
    if isinstance(child, ObjectRef):
        return wit.Child_Keep(wit.ObjectRef(_kind(child.kind), child.namespace, child.name))
    strategy = None if child.strategy is None else _STRATEGIES[child.strategy]
    return wit.Child_Apply(wit.DesiredChild(text_of_json(child.object), strategy))


def _optional_json(value: Any) -> bytes | None:
    return None if value is None else text_of_json(value)


def _response(plan: Plan) -> Any:
    severities = {False: wit.Severity.NORMAL, True: wit.Severity.WARNING}
    deletion = plan.parent_deletion
    members = [
        wit.MemberStatus(
            member.namespace,
            member.name,
            _optional_json(member.new_status),
            [_condition(condition) for condition in member.conditions],
        )
        for member in plan.statuses_of_members
    ]
    return wit.Response(
        None if plan.listed is None else [_child(child) for child in plan.listed],
        _optional_json(plan.new_status),
        [_condition(condition) for condition in plan.conditions],
        [
            wit.Event(severities[event.is_warning], event.reason, event.message)
            for event in plan.events
        ],
        None if plan.requeue_after is None else _milliseconds(plan.requeue_after),
        _optional_json(plan.fields_of_parent),
        None
        if deletion is None
        else wit.ParentDeletion(_milliseconds(deletion.after), _PROPAGATIONS[deletion.propagation]),
        members,
    )


def _failure(failure: Failure) -> Any:
    message = str(failure)
    if isinstance(failure, RetryAfter):
        return wit.Failure_RetryAfter(wit.RetryAfter(_milliseconds(failure.delay), message))
    if isinstance(failure, (Transient, NotServed)):
        return wit.Failure_Transient(message)
    return wit.Failure_Terminal(message)


_own_folder = "/"
"""The folder of the plugin's modules, in the build."""


def _shown(file: str) -> str:
    """Returns a file without the folder that contains it in the build."""
    for folder in sys.path:
        if folder and file.startswith(folder + "/"):
            return file[len(folder) + 1 :]
    return file


def _lines(exception: BaseException) -> list[str]:
    kind = type(exception).__name__
    # The host shows the first line.
    message = " ".join(str(exception).split("\n"))
    places = _places.places(exception.__traceback__)
    if any(not file.startswith(_places.SDK_FOLDER) for file, _, _ in places):
        # How the SDK has called the plugin explains nothing.
        while places[-1][0].startswith(_places.SDK_FOLDER):
            places.pop()
    lines = [f"{kind}: {message}" if message else kind]
    lines += [f"    at {_shown(file)}:{line} in {function}" for file, line, function in places]
    return lines


def _cause(exception: BaseException) -> BaseException | None:
    if exception.__cause__ is not None or exception.__suppress_context__:
        return exception.__cause__
    return exception.__context__


def _end(exception: BaseException) -> NoReturn:
    """Ends the instance by an exception, which is written as the host knows it.

    Its place is the innermost one in the plugin itself: what the standard library or a dependency
    did there, the lines below it say.
    """
    places = _places.places(exception.__traceback__)
    if isinstance(exception, NoPlan) and exception.code is not None:
        places.insert(
            0, (exception.code.co_filename, exception.code.co_firstlineno, exception.code.co_name)
        )
    own = [place for place in places if place[0].startswith(_own_folder)] or places
    file, line, _ = own[0]
    lines = [f"thread 'python' panicked at {_shown(file)}:{line}:", *_lines(exception)]
    cause = _cause(exception)
    while cause is not None:
        first, *others = _lines(cause)
        lines += [f"caused by {first}", *others]
        cause = _cause(cause)
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
    os._exit(2)


_seed: Callable[..., None] = random.seed


def _leave_seed(*_: Any) -> None:
    """Takes the place of ``random.seed`` until the first call.

    The runtime seeds the generator before the first call of an instance, and not before later ones.
    Its random numbers come from those of the host, so the next ones would differ: an instance that
    is used again would answer otherwise than a new one.
    """


def _begin_random_numbers() -> None:
    """Begins the random numbers of a call, which the host derives from its parent."""
    if random.seed is _leave_seed:
        random.seed = _seed
    _seed(os.urandom(16))


def _find(name: str) -> Reconciler:
    registered = _plugin.REGISTERED
    if len(registered) == 1:
        return registered[0]
    for reconciler in registered:
        if reconciler.manifest.name == name:
            return reconciler
    raise Terminal(f"there is no reconciler {name}")


def _call(request: Any, run: str, convert: Callable[[Plan], Any]) -> Any:
    try:
        _begin_random_numbers()
        reconciler = _find(request.reconciler)
        try:
            parent = reconciler.parent(request.parent, request.members)
            settings = reconciler.settings(_json(request.settings))
        except ValueError as problem:
            raise Terminal(str(problem)) from None
        return convert(getattr(reconciler, run)(parent, settings, _CLUSTER))
    except Failure as failure:
        answer = _failure(failure)
    except BaseException as exception:
        _end(exception)
    raise Err(answer)


def _json(text: bytes) -> Any:
    import json

    return json.loads(text)


_manifests: list[Any] = []


class ExportedReconciler(exports.Reconciler):  # type: ignore[misc]
    """The interface ``reconciler`` of the contract."""

    def describe(self) -> list[Any]:
        return _manifests

    def validate_settings(self, reconciler: str, settings: bytes) -> None:
        try:
            _find(reconciler).settings(_json(settings))
            return
        except (ValueError, Failure) as problem:
            answer = str(problem)
        except BaseException as exception:
            _end(exception)
        raise Err(answer)

    def reconcile(self, request: Any) -> Any:
        return _call(request, "run_reconcile", _response)

    def finalize(self, request: Any) -> Any:
        return _call(
            request,
            "run_finalize",
            lambda plan: wit.Teardown(_response(plan), plan.releases_parent),
        )


def load(module: str, project: dict[str, str]) -> None:
    """Loads the plugin of a module, and prepares its calls.

    Args:
        module: The module that declares it.
        project: The name, version and description in pyproject.toml.
    """
    _plugin.PROJECT.update(project)
    loaded = importlib.import_module(module)
    global _own_folder, _seed
    _own_folder = os.path.dirname(loaded.__file__ or "") + "/"
    if not _plugin.REGISTERED:
        raise TypeError(
            f"the module {module} declares no plugin: decorate a function with @gyre.plugin(…)"
        )
    for reconciler in _plugin.REGISTERED:
        reconciler.compile()
        _manifests.append(_manifest(reconciler))
    kinds = sys.modules.get("gyre.k8s")
    if kinds is not None:
        kinds.prepare()
    log.set_sink(lambda level, message, fields: host_log.log(_LEVELS[level], message, fields))
    _direct_logging()
    _seed = random.seed
    random.seed = _leave_seed  # type: ignore[assignment]
    gc.collect()
    # What is in the snapshot is neither garbage nor to be touched, which would copy its pages.
    gc.freeze()


def _direct_logging() -> None:
    """Directs the module logging, if the plugin uses it, to the host."""
    logging = sys.modules.get("logging")
    if logging is None:
        return

    class Handler(logging.Handler):  # type: ignore[name-defined,misc]
        def emit(self, record: Any) -> None:
            level = "error" if record.levelno >= 40 else "warn" if record.levelno >= 30 else "info"
            if record.levelno < 20:
                level = "debug" if record.levelno >= 10 else "trace"
            log.log(level, record.getMessage(), logger=record.name)

    class StandingClock:
        """A line needs no time: the host adds it. A read of the clock would be noted as an
        input."""

        @staticmethod
        def time_ns() -> int:
            return 0

        @staticmethod
        def time() -> float:
            return 0.0

    logging.time = StandingClock  # type: ignore[attr-defined]
    root = logging.getLogger()
    root.addHandler(Handler())
    root.setLevel(logging.DEBUG)
