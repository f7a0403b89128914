"""The errors of broken plugins: the last words of their calls, and the findings of gyre fuzz.

everything/broken.py has a function for each way to be broken.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from conftest import EVERYTHING

from gyre import build
from gyre.testkit import World, component

SOURCE = (EVERYTHING / "broken.py").read_text().split("\n")

LAST_WORDS = {
    "raises": ("int(", "ValueError: invalid literal for int() with base 10: 'eighty'"),
    "raises-with-cause": (
        "from absent",
        "RuntimeError: the first line and the second",
    ),
    "raises-without-cause": ("from None", "RuntimeError: it is absent"),
    "exits": ("SystemExit", "SystemExit: it leaves"),
    "returns-nothing": (
        "@plugin",
        "NoPlan: broken returned None, and not a plan: return children(…), wait(…), …",
    ),
    "returns-a-set": (
        "children(ConfigMap(",
        r"TypeError: a set has no order, so its JSON would differ from call to call: write sorted(",
    ),
    "recurses": ("return recurses()", "RecursionError: maximum recursion depth exceeded"),
}
"""What a parent does: the line that is to blame, and the exception."""

ENDS = {
    "nests": ("StackOverflow", "the plugin exhausted its call stack"),
    "loops": ("DeadlineExceeded", "the plugin did not answer within 200ms"),
    "allocates": ("OutOfMemory", "the plugin exceeded its memory limit of 67108864 bytes"),
}
"""What a parent does: the reason and the beginning of the message of the host."""

FINDINGS = {
    "raises": {"trap"},
    "reads-the-clock": {"restless", "does-not-converge", "spec-not-restored"},
    "counts-calls": {"nondeterministic"},
    "shows-an-address": {"nondeterministic"},
    "draws": set(),
}
"""What a parent does, and what gyre fuzz finds with a single build."""

PARTS_OF_A_BUILD = ["orders-a-set", "hashes", "drew-when-loaded", "read-the-clock-when-loaded"]
"""What differs between builds alone: a component begins with what its build has left."""


def parent(does):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Broken",
        "metadata": {"name": "it", "namespace": "default"},
        "spec": {"does": does},
    }


def settled(path, does):
    """Returns what happens to a parent."""
    mount = {"limits": {"deadline": "200ms"}} if does == "loops" else None
    with World(component(path, "broken"), objects=[parent(does)], mount=mount) as world:
        return world.settle(allow_faults=True)


def answer(path, does):
    with World(component(path, "broken"), objects=[parent(does)]) as world:
        world.settle()
        return world.get("ConfigMap default/it")["data"]


def number_of(line):
    [number] = [number for number, text in enumerate(SOURCE, 1) if line in text]
    return number


@pytest.mark.parametrize("does", LAST_WORDS)
def test_an_exception_is_told_with_file_and_line(gyre, built, does):
    line, exception = LAST_WORDS[does]
    ready = settled(built, does).condition("it", "Ready")
    assert ready["reason"] == "Trapped"
    assert f"it panicked at broken.py:{number_of(line)}: {exception}" in ready["message"]


def test_the_log_has_the_lines_of_the_plugin_and_the_cause(gyre, built):
    lines = [line["message"] for line in settled(built, "raises-with-cause").log]
    raised, caught = number_of("from absent"), number_of('absent"]')
    called = number_of("data = act()")
    assert lines[:5] == [
        f"thread 'python' panicked at broken.py:{raised}:",
        "RuntimeError: the first line and the second",
        f"    at broken.py:{raised} in raises_with_cause",
        f"    at broken.py:{called} in broken",
        "caused by KeyError: 'absent'",
    ]
    assert lines[5] == f"    at broken.py:{caught} in raises_with_cause"


def test_a_cause_that_is_suppressed_is_not_told(gyre, built):
    lines = [line["message"] for line in settled(built, "raises-without-cause").log]
    assert not any("KeyError" in line for line in lines)


@pytest.mark.parametrize("does", ENDS)
def test_the_host_ends_what_does_not_end(gyre, built, does):
    reason, message = ENDS[does]
    ready = settled(built, does).condition("it", "Ready")
    assert ready["reason"] == reason
    assert ready["message"].startswith(message)


def found(gyre, built, folder, does, *more):
    """Returns the findings of ``gyre fuzz``, and its output."""
    (folder / "parent.json").write_text(json.dumps(parent(does)))
    options = ["--reconciler", "broken", "-f", folder, "--cases", "0", "-o", "json", *more]
    fuzz = subprocess.run([gyre, "fuzz", built, *options], capture_output=True, text=True)
    return {finding["finding"] for finding in json.loads(fuzz.stdout)["findings"]}, fuzz.stdout


@pytest.mark.parametrize("does", FINDINGS)
def test_gyre_fuzz_finds_what_depends_on_time_and_earlier_calls(gyre, built, tmp_path, does):
    findings, said = found(gyre, built, tmp_path, does)
    assert findings == FINDINGS[does], said


@pytest.mark.parametrize("does", PARTS_OF_A_BUILD)
def test_another_build_shows_the_order_of_sets_and_what_was_loaded(
    gyre, built, built_with_another_seed, tmp_path, does
):
    assert answer(built, does) == answer(built, does)
    assert answer(built, does) != answer(built_with_another_seed, does)
    findings, said = found(gyre, built, tmp_path, does)
    assert findings == set(), said
    other = ["--other-build", built_with_another_seed]
    findings, said = found(gyre, built, tmp_path, does, *other)
    assert findings == {"nondeterministic"}, said
    assert "another build of the plugin answers differently" in said


@pytest.mark.parametrize("does", ["missing", "draws"])
def test_two_builds_agree_otherwise(gyre, built, built_with_another_seed, tmp_path, does):
    assert answer(built, does) == answer(built_with_another_seed, does)
    other = ["--other-build", built_with_another_seed]
    findings, said = found(gyre, built, tmp_path, does, *other)
    assert findings == set(), said


def test_each_build_has_the_same_seed_of_hashes(gyre, built):
    assert answer(built, "hashes") == {"hash": "-1671425852"}


@pytest.mark.parametrize("seed", ["-1", str(1 << 32), "x"])
def test_seeds_that_python_does_not_have_are_refused(capsys, seed):
    with pytest.raises(SystemExit):
        build.main([".", f"--hash-seed={seed}"])
    said = capsys.readouterr().err
    assert re.search(r"argument --hash-seed: .* is no number from 0 to 4294967295$", said.strip())
