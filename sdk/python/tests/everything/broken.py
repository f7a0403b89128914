"""A plugin that is broken on purpose, for a test: its parent says how."""

from __future__ import annotations

import os
import random
import time
import uuid
from dataclasses import dataclass
from typing import Annotated

from gyre import Object, Plan, children, plugin
from gyre.k8s import ConfigMap

DRAWN = random.random()
STARTED = time.time()
calls = 0


@dataclass
class BrokenSpec:
    """What is broken."""

    does: Annotated[str, "What the plugin does."]


@plugin(name="broken", group="example.com", version="v1", kind="Broken", children=[ConfigMap])
def broken(parent: Object[BrokenSpec]) -> Plan:
    """Does what its parent says."""
    act = globals().get(parent.spec.does.replace("-", "_"), missing)
    data = act()
    if data is None:
        return None
    return children(ConfigMap(parent.name, data=data)).ready("Written", "it is written")


def missing():
    return {"does": "nothing"}


def raises():
    return {"port": str(int("eighty"))}


def raises_with_cause():
    try:
        return {}["absent"]
    except KeyError as absent:
        raise RuntimeError("the first line\nand the second") from absent


def raises_without_cause():
    try:
        return {}["other"]
    except KeyError:
        raise RuntimeError("it is absent") from None


def exits():
    raise SystemExit("it leaves")


def returns_nothing():
    return None


def returns_a_set():
    return {"names": {"ada", "bob"}}


def recurses():
    return recurses()


def nests():
    nested = []
    for _ in range(200_000):
        nested = [nested]
    return {"nested": repr(nested)}


def loops():
    while True:
        pass


def allocates():
    return {"bytes": str(len(bytes(1 << 30)))}


def reads_the_clock():
    return {"now": str(time.time())}


def counts_calls():
    global calls
    calls += 1
    return {"calls": str(calls)}


def shows_an_address():
    return {"address": str(id(object()))}


def draws():
    numbers = [random.random(), random.Random().random(), os.urandom(8).hex(), uuid.uuid4()]
    return {str(index): str(number) for index, number in enumerate(numbers)}


def orders_a_set():
    return {"names": " ".join({"ada", "bob", "eve", "joe", "kim", "lea", "max"})}


def hashes():
    return {"hash": str(hash("hash"))}


def drew_when_loaded():
    return {"number": str(DRAWN)}


def read_the_clock_when_loaded():
    return {"time": str(STARTED)}
