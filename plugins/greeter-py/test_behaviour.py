"""Behaviour over simulated time. It needs the program gyre: see gyre.testkit."""

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from greeter import GreetingSpec, greeter

from gyre import Object
from gyre.testkit import World, assert_cases

if not (os.environ.get("GYRE") or shutil.which("gyre")):
    pytest.skip(
        "there is no program gyre: name it in the environment variable GYRE",
        allow_module_level=True,
    )


class Greeting(Object[GreetingSpec], api_version="example.com/v1alpha1", kind="Greeting"):
    """A Greeting that a user creates."""


def test_the_host_reverts_changes_of_the_config_map():
    greeting = Greeting("hello", namespace="default", spec=GreetingSpec("Good day."))
    with World(greeter, objects=[greeting]) as world:
        run = world.settle()
        run.assert_plan(
            "create ConfigMap default/hello",
            "status Greeting default/hello",
            "event Greeting default/hello: Normal Written: ConfigMap hello holds the message",
        )
        assert run.children[0]["data"] == {"message": "Good day."}
        assert run.condition("hello", "Ready")["reason"] == "Written"

        world.edit(
            "ConfigMap default/hello",
            lambda config_map: config_map["data"].update(message="Buy now!"),
        )
        world.settle().assert_plan("update ConfigMap default/hello")

        world.advance(timedelta(days=1))
        world.settle().assert_nothing_done()

        world.delete(greeting)
        world.settle()
        assert world.find("ConfigMap default/hello") is None


def test_the_cases_of_gyre_test():
    assert_cases(greeter, Path(__file__).parent / "cases")
