"""Tests of behaviour with the real host and a simulated clock: a thin client of ``gyre worlds``.

    with World(greeter, objects=[greeting]) as world:
        world.settle().assert_plan("create ConfigMap default/hello", …)
        world.advance(timedelta(days=1))
        world.settle().assert_nothing_done()

    World ──▶ lines of JSON ──▶ gyre worlds: cluster in memory, host, plugins
                           ◀── a plugin of this process is called

The environment variable ``GYRE`` names the program; by default, it is ``gyre`` on ``PATH``. A
plugin is a reconciler of this process, in which a debugger works, or a component:
:func:`component`.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Union

from . import log
from ._cluster import Cluster
from ._failure import (
    Failure,
    InvalidSelector,
    NotDeclared,
    NotGranted,
    NotServed,
    RetryAfter,
    Transient,
)
from ._kinds import Kind
from ._objects import Resource, encode
from ._plan import Condition, DesiredChild, ObjectRef, Plan
from ._places import SDK_FOLDER, places
from ._plugin import Manifest, Reconciler
from ._times import parse_time, time_text

__all__ = ["Component", "Run", "World", "WorldError", "assert_cases", "component"]

PROTOCOL = 1


class WorldError(Exception):
    """A request that the program refuses, or a program that cannot be used."""


class Component(NamedTuple):
    """A component in a file."""

    path: Path
    reconciler: str | None


def component(path: str | os.PathLike[str], reconciler: str | None = None) -> Component:
    """Returns the plugin in a file, and which reconciler, if it has several."""
    return Component(Path(path), reconciler)


Plugin = Union[Reconciler, Component]


class _Program:
    """The process, which ends with this one, because its input is then closed."""

    _only: _Program | None = None

    def __init__(self) -> None:
        named = os.environ.get("GYRE")
        path = named or shutil.which("gyre")
        if path is None:
            raise WorldError(
                "there is no program gyre: install it on PATH, or name it in the environment variable GYRE"
            )
        try:
            self._process = subprocess.Popen(
                [path, "worlds"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as problem:
            raise WorldError(f"cannot run {path}: {problem}") from problem
        greeting = self._receive()
        if greeting.get("protocol") != PROTOCOL:
            raise WorldError(
                f"{path} is gyre {greeting.get('gyre')} with the protocol {greeting.get('protocol')}, not {PROTOCOL}"
            )
        self._numbers = itertools.count(1)

    @classmethod
    def get(cls) -> _Program:
        """Returns the process, and starts it if needed."""
        if cls._only is None:
            cls._only = cls()
        return cls._only

    def number(self) -> int:
        """Returns a number for a world."""
        return next(self._numbers)

    def send(self, world: int, request: dict[str, Any]) -> None:
        """Writes a request."""
        assert self._process.stdin is not None
        line = json.dumps({"world": world, "do": request}, separators=(",", ":"))
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._ended()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._ended()
        try:
            return json.loads(line)
        except ValueError:
            raise WorldError(f"the program gyre wrote {line[:200]!r}, which is no JSON") from None

    def receive(self, world: int) -> dict[str, Any]:
        """Returns the next line for a world. One world is used at a time, so other lines are a
        defect."""
        answer = self._receive()
        if answer.get("world") != world:
            raise WorldError(f"unexpected line of the program gyre: {answer}")
        return answer

    def _ended(self) -> None:
        type(self)._only = None
        raise WorldError(f"the program gyre ended with the code {self._process.wait()}")


class _Stopped(BaseException):
    """The program has given up the present call."""


class _Lane:
    """The requests of one world."""

    def __init__(self) -> None:
        self.program = _Program.get()
        self.number = self.program.number()
        self.plugins: dict[int, Reconciler] = {}

    def ask(self, request: str, **fields: Any) -> dict[str, Any]:
        """Sends a request, and returns its answer. Meanwhile, the program may call plugins."""
        self.program.send(self.number, {request: fields})
        while True:
            answer = self.program.receive(self.number)
            if "ok" in answer:
                return answer["ok"]
            if "error" in answer:
                raise WorldError(answer["error"])
            if "call" in answer:
                self._serve(answer["call"])

    def ask_within_call(self, request: str, fields: Any) -> dict[str, Any]:
        """Sends a request of a plugin."""
        self.program.send(self.number, {request: fields})
        answer = self.program.receive(self.number)
        if "stop" in answer:
            raise _Stopped
        if "ok" not in answer:
            raise WorldError(f"unexpected answer to a plugin: {answer}")
        return answer["ok"]

    def _serve(self, call: dict[str, Any]) -> None:
        try:
            returned = _run(self.plugins[call["plugin"]], call, self)
        except _Stopped:
            return
        self.program.send(self.number, {"return": returned})


def _as_json(text: Any) -> Any:
    return json.loads(text) if isinstance(text, str) else text


def _run(reconciler: Reconciler, call: dict[str, Any], lane: _Lane) -> dict[str, Any]:
    """Runs a reconciler of this process, and returns what the program expects."""
    settings = _as_json(call.get("settings", {}))
    log.set_sink(lambda level, message, fields: _write_log(lane, level, message, fields))
    try:
        if call["function"] == "validateSettings":
            try:
                reconciler.settings(settings)
            except ValueError as problem:
                return {"settings": str(problem)}
            return {"settings": None}
        run = (
            reconciler.run_finalize if call["function"] == "finalize" else reconciler.run_reconcile
        )
        members = [json.dumps(_as_json(member)).encode() for member in call.get("members", [])]
        parent = reconciler.parent(json.dumps(_as_json(call["parent"])).encode(), members)
        plan = run(parent, reconciler.settings(settings), Cluster(_Source(lane)))
        return {"response": response_json(plan)}
    except Failure as failure:
        return {"failure": _failure_json(failure)}
    except WorldError:
        raise
    except Exception as exception:
        return {"panic": f"{type(exception).__name__}: {exception}{_place(exception)}"}
    finally:
        log.set_sink(None)


def _place(exception: Exception) -> str:
    """The innermost place outside of the SDK, e.g. `` (main.py:69)``."""
    for file, line, _ in places(exception.__traceback__):
        if not file.startswith(SDK_FOLDER):
            return f" ({os.path.relpath(file)}:{line})"
    return ""


def _write_log(lane: _Lane, level: str, message: str, fields: list[tuple[str, str]]) -> None:
    lane.ask_within_call("log", {"level": level, "message": message, "fields": fields})


def _parts(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


class _Source:
    """The reads of a call, which the program answers."""

    def __init__(self, lane: _Lane) -> None:
        self._lane = lane

    def _read(self, kind: Kind, read: dict[str, Any]) -> list[bytes]:
        answer = self._lane.ask_within_call("read", read)
        error = answer.get("readError")
        if error is None:
            return [json.dumps(_as_json(found)).encode() for found in answer["found"]]
        of_kind = {"notDeclared": NotDeclared, "notGranted": NotGranted, "notServed": NotServed}
        if error in of_kind:
            raise of_kind[error](kind)
        raise InvalidSelector(kind, answer.get("message", ""))

    def children(self, kind: Kind) -> list[bytes]:
        return self._read(kind, {"children": {"kind": _parts(kind)}})

    def get(self, kind: Kind, namespace: str | None, name: str) -> bytes | None:
        found = self._read(
            kind, {"get": {"kind": _parts(kind), "namespace": namespace, "name": name}}
        )
        return found[0] if found else None

    def list(self, kind: Kind, namespace: str | None, labels: str | None) -> list[bytes]:
        return self._read(
            kind, {"list": {"kind": _parts(kind), "namespace": namespace, "labelSelector": labels}}
        )

    def now(self) -> datetime:
        return parse_time(self._lane.ask_within_call("clock", {})["time"])


def manifest_json(manifest: Manifest) -> dict[str, Any]:
    """Returns a manifest as ``gyre inspect -o json`` writes it."""
    grouping: Any = None
    if manifest.group_by is not None:
        grouping = {"byField": manifest.group_by}
    elif manifest.grouped:
        grouping = "all"
    children = [
        {
            "kind": _parts(child.kind),
            "strategy": child.strategy.value,
            "strongest_strategy": child.up_to.value if child.up_to else None,
            "propagation": child.propagation.value.capitalize(),
            "outlives_parent": child.outlives_parent,
        }
        for child in manifest.children
    ]
    reads = [
        {
            "kind": _parts(read.kind),
            "namespace": read.namespace,
            "label_selector": read.labels,
            "metadata_only": read.metadata_only,
        }
        for read in manifest.reads
    ]
    return {
        "name": manifest.name,
        "version": manifest.version,
        "description": manifest.description,
        "parent": _parts(manifest.parent),
        "grouping": grouping,
        "children": children,
        "reads": reads,
        "parent_fields": manifest.sets,
        "deletes_parent": manifest.deletes_parent,
        "finalizes": manifest.finalizes,
        "settings_schema": manifest.settings_schema,
        "crds": manifest.crds,
    }


def _milliseconds(time: timedelta) -> int:
    return max(0, -(-time // timedelta(milliseconds=1)))


def _condition_json(condition: Condition) -> dict[str, str]:
    statuses = {True: "True", False: "False", None: "Unknown"}
    return {
        "type": condition.type,
        "status": statuses[condition.status],
        "reason": condition.reason,
        "message": condition.message,
    }


def _child_json(child: DesiredChild | ObjectRef) -> dict[str, Any]:
    if isinstance(child, ObjectRef):
        group = f".{child.kind.group}" if child.kind.group else ""
        kind = f"{child.kind.kind}.{child.kind.version}{group}"
        return {"keep": {"kind": kind, "namespace": child.namespace, "name": child.name}}
    return {
        "apply": {
            "object": child.object,
            "strategy": child.strategy.value if child.strategy else None,
        }
    }


def response_json(plan: Plan) -> dict[str, Any]:
    """Returns a plan as recordings have it."""
    deletion = plan.parent_deletion
    of_deletion = None
    if deletion is not None:
        of_deletion = {
            "afterMs": _milliseconds(deletion.after),
            "propagation": deletion.propagation.value.capitalize(),
        }
    events = [
        {
            "type": "Warning" if event.is_warning else "Normal",
            "reason": event.reason,
            "message": event.message,
        }
        for event in plan.events
    ]
    members = [
        {
            "namespace": member.namespace,
            "name": member.name,
            "status": member.new_status,
            "conditions": [_condition_json(condition) for condition in member.conditions],
        }
        for member in plan.statuses_of_members
    ]
    return {
        "children": None if plan.listed is None else [_child_json(child) for child in plan.listed],
        "status": plan.new_status,
        "conditions": [_condition_json(condition) for condition in plan.conditions],
        "events": events,
        "requeueAfterMs": None if plan.requeue_after is None else _milliseconds(plan.requeue_after),
        "parent": plan.fields_of_parent,
        "deleteParent": of_deletion,
        "members": members,
        "done": plan.releases_parent,
    }


def _failure_json(failure: Failure) -> dict[str, Any]:
    if isinstance(failure, RetryAfter):
        return {
            "reason": "RetryAfter",
            "message": str(failure),
            "afterMs": _milliseconds(failure.delay),
        }
    is_transient = isinstance(failure, (Transient, NotServed))
    return {
        "reason": "TransientFailure" if is_transient else "TerminalFailure",
        "message": str(failure),
    }


def _load(lane: _Lane, plugin: Plugin) -> int:
    if isinstance(plugin, Component):
        fields = {"path": str(plugin.path.absolute())}
        if plugin.reconciler is not None:
            fields["reconciler"] = plugin.reconciler
        return lane.ask("load", **fields)["plugin"]
    manifest = plugin.manifest
    identity = f"{manifest.name} {id(plugin)}"
    number = lane.ask("load", kit={"identity": identity, "manifest": manifest_json(manifest)})[
        "plugin"
    ]
    lane.plugins[number] = plugin
    return number


def _name(object: Any) -> str:
    """Returns an object as plans name it: ``Job default/hello``."""
    if isinstance(object, str):
        return object
    encoded = encode(object)
    metadata = encoded["metadata"]
    namespace = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"{encoded['apiVersion']} {encoded['kind']} {namespace}{metadata['name']}"


def _of_kind(object: Any, plugins: Sequence[Plugin]) -> Any:
    """Encodes an object, which is a parent of the first plugin if it has no kind."""
    encoded = encode(object)
    if not encoded.get("kind") and plugins and isinstance(plugins[0], Reconciler):
        parent = plugins[0].manifest.parent
        encoded = {**encoded, "apiVersion": parent.api_version, "kind": parent.kind}
    return encoded


class World:
    """A cluster in memory with the real host, plugins, and a clock that a test advances."""

    def __init__(
        self,
        *plugins: Plugin,
        objects: Iterable[Resource | Mapping[str, Any]] = (),
        files: Iterable[str | os.PathLike[str]] = (),
        case: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        mount: Mapping[str, Any] | None = None,
        time: str | datetime | None = None,
        pods_run_for: timedelta | None = None,
        without_controllers: bool = False,
    ) -> None:
        """Starts a world.

        Args:
            plugins: Reconcilers, or components in files.
            objects: Objects that exist at first.
            files: Paths of YAML and JSON files and folders with further ones.
            case: The folder of a case of ``gyre test``.
            settings: The settings of the first plugin.
            mount: Keys of the first plugin's mount, as in the configuration file.
            time: The time at first; by default, 2026-01-01T00:00:00Z.
            pods_run_for: The time after which pods end; by default, when a test ends them.
            without_controllers: Whether there are no controllers for Jobs, owners, namespaces, …
        """
        self._lane = _Lane()
        mounts: list[dict[str, Any]] = [{"plugin": _load(self._lane, plugin)} for plugin in plugins]
        if settings is not None:
            mounts[0]["settings"] = encode(settings)
        if mount is not None:
            mounts[0]["mount"] = dict(mount)
        fields: dict[str, Any] = {
            "plugins": mounts,
            "objects": [_of_kind(object, plugins) for object in objects],
            "files": [str(Path(file).absolute()) for file in files],
            "withoutControllers": without_controllers,
        }
        if case is not None:
            fields["case"] = str(Path(case).absolute())
        if time is not None:
            fields["time"] = time if isinstance(time, str) else time_text(time)
        if pods_run_for is not None:
            fields["podsRunForMs"] = _milliseconds(pods_run_for)
        self._lane.ask("start", **fields)

    def __enter__(self) -> World:
        return self

    def __exit__(self, *exception: Any) -> None:
        # A program that has ended says so at the failure itself.
        if _Program._only is self._lane.program:
            self._lane.ask("end")

    def settle(self, *, allow_faults: bool = False) -> Run:
        """Runs the host until it has written nothing for two seconds of simulated time, and returns
        what happened since the last call."""
        return Run(self._lane, self._lane.ask("settle", allowFaults=allow_faults))

    def advance(self, time: timedelta) -> None:
        """Lets time pass."""
        self._lane.ask("advance", ms=_milliseconds(time))

    def restart(self) -> None:
        """Ends the host; another one begins."""
        self._lane.ask("restart")

    def upgrade(self, plugin: Plugin) -> None:
        """Puts this version of a plugin in place of the one with its name."""
        self._lane.ask("upgrade", plugin=_load(self._lane, plugin))

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return parse_time(self._lane.ask("now")["time"])

    @property
    def steps(self) -> int:
        """How often the simulated clock has moved."""
        return self._lane.ask("steps")["steps"]

    def find(self, object: Any) -> dict[str, Any] | None:
        """Returns an object, by its name as in ``Job default/hello``; ``None`` if it does not
        exist."""
        return self._lane.ask("find", object=_name(object))["object"]

    def get(self, object: Any) -> dict[str, Any]:
        """Returns an object.

        Raises:
            WorldError: If it does not exist.
        """
        found = self.find(object)
        if found is None:
            raise WorldError(f"there is no {_name(object)}")
        return found

    def list(self, kind: str) -> list[dict[str, Any]]:
        """Returns the objects of a kind: ``Job`` or ``batch/v1 Job``."""
        return self._lane.ask("list", kind=kind)["objects"]

    def put(self, object: Any) -> None:
        """Stores an object unchanged, with its UID and status."""
        self._lane.ask("put", object=encode(object))

    def edit(self, object: Any, change: Callable[[dict[str, Any]], None]) -> None:
        """Changes an object as ``kubectl edit``."""
        edited = self.get(object)
        change(edited)
        self._lane.ask("replace", object=edited)

    def set_status(self, object: Any, status: Any) -> None:
        """Sets a status as the controller of its kind."""
        self._lane.ask("setStatus", object=_name(object), status=encode(status))

    def delete(self, object: Any) -> None:
        """Deletes an object as ``kubectl delete --wait=false``."""
        self._lane.ask("delete", object=_name(object))

    def finish_job(self, job: Any) -> None:
        """Lets a Job succeed."""
        self._lane.ask("endJob", object=_name(job), end="succeeds")

    def fail_job(self, job: Any) -> None:
        """Lets a Job fail."""
        self._lane.ask("endJob", object=_name(job), end="fails")


class Run:
    """What happened in a world."""

    def __init__(self, lane: _Lane, run: dict[str, Any]) -> None:
        self._lane = lane
        self.plan: list[dict[str, Any]] = run["plan"]
        """What the host did, in order: ``text``, ``verb``, ``subject``, ``object`` and
        ``refusal``."""
        self.children: list[dict[str, Any]] = run["children"]
        """The children as last written."""
        self.parents: list[dict[str, Any]] = run["parents"]
        """The parents at the end."""
        self.calls: list[dict[str, Any]] = run["calls"]
        """The first 1000 calls of the plugins, as in a recording."""
        self.reads: list[str] = run["reads"]
        """What all calls read, e.g. ``get ConfigMap.v1 settings``."""
        self.log: list[dict[str, Any]] = run["log"]
        """The log lines of the plugins."""
        self.summary: dict[str, Any] = run["summary"]
        """The content of the expected.yaml of ``gyre test``."""

    @property
    def actions(self) -> list[str]:
        """The lines of the plan, with single spaces."""
        return [" ".join(action["text"].split()) for action in self.plan]

    @property
    def refusals(self) -> list[dict[str, Any]]:
        """The actions that the API server rejected."""
        return [action for action in self.plan if action.get("refusal")]

    def parent(self, name: str) -> dict[str, Any]:
        """Returns the parent of this name at the end."""
        for parent in self.parents:
            if parent["metadata"]["name"] == name:
                return parent
        raise AssertionError(f"there is no parent {name}")

    def condition(self, parent: str, type: str) -> dict[str, Any]:
        """Returns the condition of a parent."""
        conditions = self.parent(parent).get("status", {}).get("conditions", [])
        for condition in conditions:
            if condition["type"] == type:
                return condition
        raise AssertionError(f"{parent} has no condition {type}: {conditions}")

    def _compare(self, **fields: Any) -> None:
        difference = self._lane.ask("compare", **fields)["difference"]
        if difference is not None:
            raise AssertionError(difference)

    def assert_plan(self, *actions: str) -> None:
        """Asserts the plan, one action per argument: ``create Job default/hello``. Spaces do not
        matter."""
        actual = "".join(f"{action}\n" for action in self.actions)
        expected = "".join(" ".join(action.split()) + "\n" for action in actions)
        self._compare(
            actual=actual,
            expected={"value": expected},
            how="lines",
            what="the plan is not as expected",
        )

    def assert_nothing_done(self) -> None:
        """Asserts that the host did nothing."""
        self.assert_plan()

    def assert_golden(self, path: str | os.PathLike[str]) -> None:
        """Compares the summary with a YAML file, which ``GYRE_BLESS=1`` writes."""
        writes = os.environ.get("GYRE_BLESS") == "1"
        golden = str(Path(path).absolute())
        difference = self._lane.ask("golden", actual=self.summary, path=golden, write=writes)[
            "difference"
        ]
        if difference is not None:
            raise AssertionError(difference)


def assert_cases(plugin: Plugin, folder: str | os.PathLike[str]) -> None:
    """Runs the cases of ``gyre test`` in a folder; ``GYRE_BLESS=1`` writes their expected.yaml."""
    lane = _Lane()
    writes = os.environ.get("GYRE_BLESS") == "1"
    number = _load(lane, plugin)
    difference = lane.ask(
        "cases", plugin=number, folder=str(Path(folder).absolute()), write=writes
    )["difference"]
    if difference is not None:
        raise AssertionError(difference)
