"""Plugins that use the whole contract, for a test: as code of the test and as a component, they do
the same."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

import broken  # noqa: F401, I001

from gyre import (
    ChildKind,
    Cluster,
    Group,
    Kind,
    Member,
    Object,
    Plan,
    ReadKind,
    RetryAfter,
    Rules,
    Strategy,
    Terminal,
    Transient,
    children,
    finalized,
    keep_children,
    log,
    no_children,
    plugin,
    wait,
)
from gyre.generated import password, text
from gyre.k8s import ConfigMap, Container, Job, Namespace, PersistentVolumeClaim, Pod, Secret

logger = logging.getLogger(__name__)


@dataclass
class ThingSpec:
    """A thing with a mode."""

    mode: Annotated[
        Literal[
            "wait",
            "children",
            "parent",
            "delete",
            "transient",
            "retry",
            "terminal",
            "exception",
            "log",
            "keep",
            "random",
            "undeclared",
            "not-served",
        ],
        "What the plugin does.",
    ]
    secret: Annotated[str | None, Rules(min_length=1)] = None


@dataclass
class ThingStatus:
    """What was seen."""

    jobs: list[str]
    seen_at: str | None = None


@dataclass
class Config:
    """The settings."""

    prefix: Annotated[str, "Before each name."] = ""
    retries: int = 1

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ValueError("retries: it is negative")


Widget = Kind("example.com/v1", "Widget")


@plugin(
    name="things",
    group="example.com",
    version="v1",
    kind="Thing",
    children=[
        ConfigMap,
        Secret,
        ChildKind(Job, Strategy.CREATE_ONLY, up_to=Strategy.RECREATE),
        ChildKind(PersistentVolumeClaim, outlives_parent=True),
    ],
    reads=[ReadKind(Pod, metadata_only=True), ConfigMap, Widget],
    sets=["/metadata/labels/example.com~1mode"],
    deletes_parent=True,
)
def things(parent: Object[ThingSpec, ThingStatus], config: Config, cluster: Cluster) -> Plan:
    """Does what its mode says."""
    mode = parent.spec.mode
    if mode == "wait":
        template = cluster.get(ConfigMap, "template")
        if template is None:
            return wait("TemplateMissing", "waiting for the ConfigMap template")
        return children(ConfigMap("copy", data=template.data)).ready("Copied", "it is copied")
    if mode == "children":
        return every_child(parent, config, cluster)
    if mode == "parent":
        return keep_children().parent_label("example.com/mode", mode).requeue(timedelta(hours=1))
    if mode == "delete":
        due = parent.created + timedelta(minutes=5)
        return no_children().delete_parent_at(due, cluster.now)
    if mode == "transient":
        raise Transient("it may pass")
    if mode == "retry":
        raise RetryAfter(timedelta(seconds=90), "later")
    if mode == "terminal":
        raise Terminal("it does not pass")
    if mode == "exception":
        return {}["absent"]
    if mode == "log":
        log.info("from gyre.log", mode=mode)
        logger.warning("from %s", "logging")
    if mode == "random":
        return children(ConfigMap("random", data={"number": str(random.random())}))
    if mode == "undeclared":
        cluster.list(Namespace)
    if mode == "not-served":
        cluster.list(Widget)
    return keep_children()


def every_child(parent: Object[ThingSpec, ThingStatus], config: Config, cluster: Cluster) -> Plan:
    jobs = cluster.children(Job)
    if any(job.is_complete for job in jobs):
        log.debug("a Job is complete")
    login = Secret("login", data={"password": password(24), "url": text("app:{password}@db")})
    job = Job.running(f"{config.prefix}once", Container("main", "busybox"), backoff_limit=0)
    again = Job.running(f"{config.prefix}again", Container("main", "busybox"))
    volume = PersistentVolumeClaim(
        "data",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    )
    pods = len(cluster.list(Pod, {"app": "web"}))
    plan = children(login, job, volume, ConfigMap("words", data={"umlaut": "ä", "pods": str(pods)}))
    plan.apply(again, strategy=Strategy.RECREATE).keep(Job, "never-made")
    plan.status(ThingStatus([job.name for job in jobs], seen_at=f"{cluster.now:%Y}"))
    plan.condition("Late", None, "Unclear", "nobody knows").warning("Slow", "it is slow")
    return plan.ready("Made", f"{parent.namespace}/{parent.name} has its children")


@things.finalize
def goodbye(parent: Object[ThingSpec, ThingStatus], cluster: Cluster) -> Plan:
    return no_children() if cluster.children(ConfigMap) else finalized()


@dataclass
class SlotStatus:
    position: int


@plugin(
    name="slots",
    group="example.com",
    version="v1",
    kind="Slot",
    group_by="/metadata/namespace",
    children=[ConfigMap],
)
def slots(group: Group[Object[dict, SlotStatus]]) -> Plan:
    """Gives each Slot of a Namespace a position."""
    names = [slot.name for slot in group.members]
    plan = children(ConfigMap("slots", namespace=group.value, data={"names": " ".join(names)}))
    for position, slot in enumerate(group.members):
        plan.member(Member(slot).status(SlotStatus(position)).ready("Placed", "it has a position"))
    before = (group.status or {}).get("count", 0)
    return plan.status({"count": len(names), "grew": len(names) > before}).ready(
        "Placed", "all are"
    )
