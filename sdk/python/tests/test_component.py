"""A component does the same as the code of a test: tests/everything uses the whole contract.

The build needs pip, and a package registry or a cache. It takes a minute.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from conftest import EVERYTHING

from gyre import build
from gyre.testkit import World, WorldError, component

EXPECTED_ERRORS = {
    "transient": ("PluginTransient", "it may pass"),
    "retry": ("PluginRetryAfter", "later"),
    "terminal": ("PluginTerminal", "it does not pass"),
    "undeclared": ("PluginTerminal", "v1 Namespace: the plugin does not declare this kind"),
    "not-served": ("PluginTransient", "example.com/v1 Widget: the API server does not serve"),
}


@pytest.fixture
def code():
    """The modules of tests/everything, loaded anew: each test begins without plugins."""
    sys.path.insert(0, str(EVERYTHING))
    for name in ("everything", "broken"):
        sys.modules.pop(name, None)
    module = importlib.import_module("everything")
    yield module
    sys.path.remove(str(EVERYTHING))


@pytest.fixture(params=["code", "component"])
def plugins(request, gyre, code):
    """The plugins, as code of the test and as a component."""
    if request.param == "code":
        return {"things": code.things, "slots": code.slots}
    path = request.getfixturevalue("built")
    return {name: component(path, name) for name in ("things", "slots")}


def thing(mode, name="it"):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"mode": mode},
    }


def described(run):
    """Returns what happened without times and UIDs."""
    return [action for action in run.actions if not action.startswith("status")]


def test_it_waits_for_an_object_and_goes_on(plugins):
    with World(plugins["things"], objects=[thing("wait")]) as world:
        run = world.settle()
        assert run.condition("it", "Ready")["reason"] == "TemplateMissing"
        assert "get ConfigMap.v1 template" in run.reads
        metadata = {"name": "template", "namespace": "default"}
        template = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"a": "b"},
        }
        world.put(template)
        assert world.settle().condition("it", "Ready")["reason"] == "Copied"
        assert world.get("ConfigMap default/copy")["data"] == {"a": "b"}


def test_children_have_their_strategies_and_values(plugins):
    settings = {"prefix": "a-"}
    with World(plugins["things"], objects=[thing("children")], settings=settings) as world:
        run = world.settle()
        made = {(child["kind"], child["metadata"]["name"]) for child in run.children}
        assert made == {
            ("Secret", "login"),
            ("Job", "a-once"),
            ("Job", "a-again"),
            ("PersistentVolumeClaim", "data"),
            ("ConfigMap", "words"),
        }
        assert world.get("ConfigMap default/words")["data"] == {"umlaut": "ä", "pods": "0"}
        assert run.condition("it", "Late")["status"] == "Unknown"
        assert any("Warning Slow: it is slow" in action for action in run.actions)
        assert run.parent("it")["status"]["jobs"] == ["a-again", "a-once"]
        assert run.parent("it")["status"]["seenAt"] == "2026"
        url = world.get("Secret default/login")["data"]
        assert set(url) == {"password", "url"}
        world.finish_job("Job default/a-once")
        world.settle()
        world.delete(thing("children"))
        world.settle()
        assert world.find(thing("children")) is None
        assert world.find("PersistentVolumeClaim default/data") is not None
        assert world.find("ConfigMap default/words") is None


def test_the_parent_gets_a_label_and_is_deleted_in_time(plugins):
    objects = [thing("parent", "labelled"), thing("delete", "late")]
    with World(plugins["things"], objects=objects) as world:
        world.settle()
        labels = world.get("Thing default/labelled")["metadata"]["labels"]
        assert labels["example.com/mode"] == "parent"
        assert world.find("Thing default/late") is not None
        world.advance(timedelta(minutes=6))
        world.settle()
        assert world.find("Thing default/late") is None


@pytest.mark.parametrize("mode", EXPECTED_ERRORS)
def test_a_failure_is_a_condition(plugins, mode):
    reason, message = EXPECTED_ERRORS[mode]
    with World(plugins["things"], objects=[thing(mode)]) as world:
        ready = world.settle(allow_faults=True).condition("it", "Ready")
    assert ready["reason"] == reason
    assert ready["message"].startswith(message)


def test_an_exception_is_a_fault_with_its_sentence(plugins):
    with World(plugins["things"], objects=[thing("exception")]) as world:
        ready = world.settle(allow_faults=True).condition("it", "Ready")
    assert ready["reason"] == "Trapped"
    assert "KeyError: 'absent'" in ready["message"]
    if not hasattr(plugins["things"], "manifest"):
        line = 1 + EVERYTHING.joinpath("everything.py").read_text().split("\n").index(
            '        return {}["absent"]'
        )
        assert f"it panicked at everything.py:{line}: KeyError" in ready["message"]


def test_log_lines_have_levels_and_fields(plugins):
    with World(plugins["things"], objects=[thing("log")]) as world:
        lines = world.settle().log
    said = [(line["level"], line["message"], line["fields"]) for line in lines]
    assert ("info", "from gyre.log", [["mode", "log"]]) in said
    if not hasattr(plugins["things"], "manifest"):
        assert ("warn", "from logging", [["logger", "everything"]]) in said


def test_settings_are_checked(plugins):
    with pytest.raises(WorldError, match="retries: it is negative"):
        World(plugins["things"], settings={"retries": -1})


def test_a_group_has_one_call_for_its_members(plugins):
    slots = [
        {
            "apiVersion": "example.com/v1",
            "kind": "Slot",
            "metadata": {"name": name, "namespace": "a"},
        }
        | {"spec": {}}
        for name in ("two", "one")
    ]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    mount = {"grants": {"writeNamespaces": "all"}}
    with World(plugins["slots"], objects=[namespace, *slots], mount=mount) as world:
        world.settle()
        assert world.get("ConfigMap a/slots")["data"] == {"names": "one two"}
        assert world.get("Slot a/two")["status"]["position"] == 1
        world.delete("Slot a/one")
        world.settle()
        assert world.get("ConfigMap a/slots")["data"] == {"names": "two"}
        assert world.get("Slot a/two")["status"]["position"] == 0


def test_both_have_the_same_manifest_and_calls(gyre, code, built):
    summaries = []
    for plugin in (code.things, component(built, "things")):
        with World(plugin, objects=[thing("children"), thing("terminal", "bad")]) as world:
            summaries.append(world.settle(allow_faults=True).summary)
    assert summaries[0] == summaries[1]


def test_random_numbers_depend_on_the_parent_alone(gyre, built):
    numbers = []
    for _ in range(2):
        uid = {"uid": "7d29825c-7552-4255-83cf-17102b7f7f86"}
        objects = [thing("random", "one"), thing("random", "two")]
        objects[0]["metadata"] |= uid
        objects[1]["metadata"] |= {"namespace": "default"}
        with World(component(built, "things"), objects=objects[:1]) as world:
            world.settle()
            numbers.append(world.get("ConfigMap default/random")["data"]["number"])
    assert numbers[0] == numbers[1]


def test_the_build_says_what_is_missing(tmp_path):
    def problem():
        with pytest.raises(build.BuildError) as error:
            build.Project(tmp_path).requirements  # noqa: B018
        return str(error.value)

    assert "contains no pyproject.toml" in problem()
    project = tmp_path / "pyproject.toml"
    project.write_text("[project")
    assert "pyproject.toml" in problem()
    project.write_text("[project]\nversion = '1'\n")
    assert "has no name" in problem()
    project.write_text("[project]\nname = 'my-plugin'\ndependencies = ['semver', 'gyre-sdk']\n")
    assert "contains no my_plugin.py or main.py" in problem()
    (tmp_path / "main.py").touch()
    assert "dependencies and no requirements.txt with their versions and hashes" in problem()
    project.write_text("[project]\nname = 'my-plugin'\ndependencies = ['gyre-sdk']\n")
    assert build.Project(tmp_path).requirements is None


def test_tests_and_results_are_not_in_the_component(tmp_path):
    for file in (
        "main.py",
        "inner/data.json",
        "test_main.py",
        "gyre-sdk/x.py",
        "target/y.py",
        "it.wasm",
    ):
        (tmp_path / "from" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / file).touch()
    build.copy_modules(tmp_path / "from", tmp_path / "to")
    copied = [
        path.relative_to(tmp_path / "to").as_posix() for path in (tmp_path / "to").rglob("*.*")
    ]
    assert sorted(copied) == ["inner/data.json", "main.py"]


def test_native_code_is_refused(tmp_path):
    (tmp_path / "fast.cpython-314.so").touch()
    with pytest.raises(build.BuildError, match="is native code"):
        build._refuse_native_code([tmp_path])


def test_the_contract_in_the_package_is_that_of_the_repository():
    package = Path(build.__file__).parent.parent / "wit/plugin.wit"
    repository = Path(__file__).parents[2] / "wit/v0.1.0/plugin.wit"
    assert package.read_text() == repository.read_text()


def test_pip_is_found():
    assert shutil.which(sys.executable)
    build._require_pip()
