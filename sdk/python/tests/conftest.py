"""What tests share."""

import os
import shutil
from pathlib import Path

import pytest

from gyre import _plugin, build

EVERYTHING = Path(__file__).parent / "everything"


@pytest.fixture(autouse=True)
def no_plugins():
    """Begins each test without plugins: the name of a plugin depends on whether it is the only
    one."""
    before = list(_plugin.REGISTERED)
    _plugin.REGISTERED.clear()
    yield
    _plugin.REGISTERED[:] = before


@pytest.fixture
def gyre():
    """The path of the program."""
    path = os.environ.get("GYRE") or shutil.which("gyre")
    if path is None:
        problem = "there is no program gyre: name it in the environment variable GYRE"
        if os.environ.get("CI"):
            pytest.fail(problem)
        pytest.skip(problem)
    return path


def _built(tmp_path_factory, name, **options):
    """Builds tests/everything. It needs pip, and a package registry or a cache."""
    to = tmp_path_factory.mktemp("built") / f"{name}.wasm"
    try:
        build.build(EVERYTHING, to, **options)
    except build.BuildError as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the component cannot be built: {problem}")
    return to


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The component of tests/everything."""
    return _built(tmp_path_factory, "everything")


@pytest.fixture(scope="session")
def built_with_another_seed(tmp_path_factory):
    """The same component with another seed of hashes."""
    return _built(tmp_path_factory, "other", hash_seed=1)
