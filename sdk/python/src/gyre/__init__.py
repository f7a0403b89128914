"""The SDK for gyre plugins in Python.

A plugin is a pure function from a parent, its settings and what it reads, to the children and the
status that should exist. The host watches, compares, applies, prunes and retries.

    @plugin(group="example.com", version="v1", kind="Backup", children=[CronJob], reads=[Secret])
    def backup(parent: Object[BackupSpec], config: Config, cluster: Cluster) -> Plan:
        secret = cluster.get(Secret, parent.spec.secret)
        if secret is None:
            return wait("SecretMissing", f"waiting for Secret {parent.spec.secret}")
        return children(cron_job(parent, secret, config)).ready("Scheduled", "a backup is planned")

What is absent: clients, caches, work queues and watches. The time is an input, and so is random.
"""

from . import log, names
from ._cluster import Cluster
from ._failure import (
    Failure,
    InvalidSelector,
    NotDeclared,
    NotGranted,
    NotServed,
    ReadError,
    RetryAfter,
    Terminal,
    Transient,
)
from ._group import Group
from ._kinds import ChildKind, Kind, Propagation, ReadKind, Strategy
from ._object import Object
from ._objects import Data, ObservedCondition, Resource
from ._plan import Member, Plan, children, finalized, keep_children, no_children, wait
from ._plugin import Reconciler, plugin
from ._schema import Column, Rules
from ._types import Name

Parent = Object

__all__ = [
    "ChildKind",
    "Cluster",
    "Column",
    "Data",
    "Failure",
    "Group",
    "InvalidSelector",
    "Kind",
    "Member",
    "Name",
    "NotDeclared",
    "NotGranted",
    "NotServed",
    "Object",
    "ObservedCondition",
    "Parent",
    "Plan",
    "Propagation",
    "ReadError",
    "ReadKind",
    "Reconciler",
    "Resource",
    "RetryAfter",
    "Rules",
    "Strategy",
    "Terminal",
    "Transient",
    "children",
    "finalized",
    "keep_children",
    "log",
    "names",
    "no_children",
    "plugin",
    "wait",
]
