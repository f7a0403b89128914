"""A Greeting keeps its message in a ConfigMap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gyre import Column, Object, Plan, children, plugin
from gyre.k8s import ConfigMap


@dataclass
class GreetingSpec:
    """A message that is kept in a ConfigMap."""

    message: Annotated[str, "Any text."]


@dataclass
class GreetingStatus:
    """The status of a Greeting. The host adds the conditions."""

    config_map: Annotated[str, "The ConfigMap that holds the message."]


@plugin(
    group="example.com",
    version="v1alpha1",
    kind="Greeting",
    children=[ConfigMap],
    columns=[Column.condition("Ready"), Column.age()],
)
def greeter(greeting: Object[GreetingSpec, GreetingStatus]) -> Plan:
    """A Greeting keeps its message in a ConfigMap.

    The host calls it whenever one of its inputs has changed: the Greeting or its ConfigMap. The
    host compares, applies, prunes and retries.
    """
    name = greeting.name
    config_map = ConfigMap(name, data={"message": greeting.spec.message})
    return (
        children(config_map)
        .status(GreetingStatus(config_map=name))
        .ready("Written", f"ConfigMap {name} holds the message")
    )
