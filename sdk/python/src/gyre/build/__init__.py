"""Builds the component of a plugin: ``python3 -m gyre.build DIR -o OUT``.

    pyproject.toml, modules, requirements.txt ──▶ a folder ──▶ componentize-py ──▶ component

The tool and the dependencies are installed by pip, from wheels alone and with their hashes, into
folders of this program: no code of a package runs on this machine except that of componentize-py.

What is absent: the same bytes for the same source. componentize-py writes times and random numbers
into its snapshot (componentize-py#247).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import _hash_seed

TOOL = "componentize-py 0.25.1"
_HERE = Path(__file__).resolve().parent
TOOL_LOCK = _HERE / "requirements.txt"
SDK = _HERE.parent
ENTRY = "gyre_entry"

# Folders without modules of the plugin, and files that only its developers need.
_OTHER_FOLDERS = {
    "build",
    "cases",
    "dist",
    "docs",
    "gyre-sdk",
    "node_modules",
    "samples",
    "target",
    "test",
    "tests",
}
_OTHER_FILES = re.compile(
    r"^(test_.*|.*_test|conftest)\.py$|^\.|\.(wasm|lock|md|toml|txt|cfg|ini)$"
)


class BuildError(Exception):
    """A build that fails, with the remedy."""


class Project:
    """The folder of a plugin."""

    def __init__(self, folder: Path) -> None:
        """Reads pyproject.toml.

        Raises:
            BuildError: If there is none, or it does not say what is needed.
        """
        self.folder = folder.resolve()
        path = self.folder / "pyproject.toml"
        if not path.is_file():
            raise BuildError(f"{folder} contains no pyproject.toml")
        declared = _read_toml(path)
        self.project: dict[str, Any] = declared.get("project", {})
        if not self.project.get("name"):
            raise BuildError(f"{path} has no name: add it to the table [project]")
        tool: dict[str, Any] = declared.get("tool", {}).get("gyre", {})
        self.root = self.folder / "src" if (self.folder / "src").is_dir() else self.folder
        self.module: str = tool.get("module") or self._guess_module()

    def _guess_module(self) -> str:
        guesses = [self.project["name"].replace("-", "_"), "main"]
        for guess in guesses:
            if (self.root / f"{guess}.py").is_file() or (
                self.root / guess / "__init__.py"
            ).is_file():
                return guess
        files = " or ".join(f"{guess}.py" for guess in guesses)
        raise BuildError(
            f"{self.root} contains no {files}: name the module of the plugin, [tool.gyre] module = …"
        )

    @property
    def metadata(self) -> dict[str, str]:
        """The fields of the manifest that pyproject.toml has."""
        names = ("name", "version", "description")
        return {name: str(self.project[name]) for name in names if name in self.project}

    @property
    def requirements(self) -> Path | None:
        """The lock of the dependencies; ``None`` if there are none.

        Raises:
            BuildError: If there are dependencies, and no lock.
        """
        lock = self.folder / "requirements.txt"
        dependencies = [one for one in self.project.get("dependencies", []) if not _is_the_sdk(one)]
        if lock.is_file():
            return lock
        if dependencies:
            raise BuildError(
                f"{self.folder} has dependencies and no requirements.txt with their versions and hashes: write it by "
                "`pip-compile --generate-hashes` or `uv pip compile --generate-hashes pyproject.toml -o requirements.txt`"
            )
        return None


def _is_the_sdk(requirement: str) -> bool:
    return re.match(r"^gyre(-sdk)?\b", requirement) is not None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        import tomllib  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        # Python 3.10: pip has a copy.
        from pip._vendor import tomli as tomllib  # type: ignore[no-redef]
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise BuildError(f"{path}: {problem}") from problem


def cache_folder() -> Path:
    """Returns the folder of installed tools."""
    configured = os.environ.get("XDG_CACHE_HOME")
    return (Path(configured) if configured else Path.home() / ".cache") / "gyre" / "python"


def install(lock: Path, what: str) -> Path:
    """Installs packages by pip into a folder that belongs to the content of the lock, and returns
    it.

    Raises:
        BuildError: If pip is missing or fails.
    """
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache_folder() / f"{what}-{version}-{digest}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    # A wheel alone runs no code when it is installed; a hash says which one.
    options = [
        "--require-hashes",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--no-compile",
        "--disable-pip-version-check",
    ]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        *options,
        "--target",
        str(new),
        "-r",
        str(lock),
    ]
    try:
        # The folder is of this program: neither warnings for root nor --user apply to it.
        environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PIP_USER": "0"}
        run(command, f"pip cannot install what {lock} names: see its messages above", environment)
        os.replace(new, folder)
    except OSError:
        # Another build was faster.
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return folder


def run(command: list[str], problem: str, environment: dict[str, str] | None = None) -> None:
    """Runs a program, after printing its command line.

    Raises:
        BuildError: If it fails.
    """
    print("$", " ".join(command), file=sys.stderr, flush=True)
    if (
        subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr
        ).returncode
        != 0
    ):
        raise BuildError(problem)


def _require_pip() -> None:
    probe = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], capture_output=True, stdin=subprocess.DEVNULL
    )
    if probe.returncode != 0:
        raise BuildError(
            f"{sys.executable} has no pip: install it, e.g. `apt install python3-pip`, or `{sys.executable} -m ensurepip`"
        )


def copy_modules(root: Path, to: Path) -> None:
    """Copies the modules of a plugin, without its tests and results."""

    def ignored(folder: str, names: list[str]) -> list[str]:
        is_top = Path(folder) == root
        return [
            name
            for name in names
            if name == "__pycache__"
            or _OTHER_FILES.search(name)
            or (is_top and name in _OTHER_FOLDERS)
            or (Path(folder) / name / "pyvenv.cfg").exists()
        ]

    shutil.copytree(root, to, ignore=ignored)


def copy_sdk(to: Path) -> None:
    """Copies the modules of the SDK that are in components."""
    ignore = shutil.ignore_patterns(
        "__pycache__", "build", "testing*", "testkit*", "_selector*", "*.pyi", "py.typed"
    )
    shutil.copytree(SDK, to / "gyre", ignore=ignore)


def build(folder: Path, output: Path, hash_seed: int = 0) -> None:
    """Builds the component of the plugin in a folder.

    Args:
        folder: The folder.
        output: The file to write.
        hash_seed: The seed of Python's hashes, on which the order of sets depends.

    Raises:
        BuildError: If it cannot be built.
    """
    project = Project(folder)
    _require_pip()
    tool = install(TOOL_LOCK, "componentize-py")
    lock = project.requirements
    dependencies = install(lock, "dependencies") if lock is not None else None
    with tempfile.TemporaryDirectory(prefix="gyre-build-") as temporary:
        work = Path(temporary)
        copy_modules(project.root, work / "plugin")
        copy_sdk(work / "sdk")
        (work / "entry").mkdir()
        (work / "entry" / f"{ENTRY}.py").write_text(_entry(project), encoding="utf-8")
        paths = [work / "plugin", work / "entry", work / "sdk"]
        if dependencies is not None:
            shutil.copytree(
                dependencies, work / "dependencies", ignore=shutil.ignore_patterns("__pycache__")
            )
            paths.append(work / "dependencies")
        _refuse_native_code(paths)
        (work / "entry" / _hash_seed.FILE).write_bytes(_hash_seed.library(hash_seed))
        result = work / "plugin.wasm"
        # Otherwise, the packages of this machine would be in the component.
        empty = work / "no-packages"
        (empty / "lib" / "python3" / "site-packages").mkdir(parents=True)
        environment = {**os.environ, "PYTHONPATH": str(tool), "VIRTUAL_ENV": str(empty)}
        start = "import sys; from componentize_py import script; sys.exit(script())"
        command = [sys.executable, "-c", start, "--quiet", "--world", "plugin", "componentize"]
        for path in paths:
            command += ["-p", str(path)]
        command += [ENTRY, "-o", str(result)]
        run(
            command,
            f"componentize-py cannot build {project.folder}: see its messages above",
            environment,
        )
        shutil.move(str(result), output)


def _entry(project: Project) -> str:
    return (
        "from gyre import _component\n\n"
        "Reconciler = _component.ExportedReconciler\n"
        f"_component.load({project.module!r}, {project.metadata!r})\n"
    )


def _refuse_native_code(paths: list[Path]) -> None:
    for path in paths:
        for file in [*path.rglob("*.so"), *path.rglob("*.pyd")]:
            raise BuildError(
                f"{file.relative_to(path)} is native code: a component runs pure Python packages only"
            )


def _hash_seed_of(text: str) -> int:
    if not text.isdecimal() or int(text) > _hash_seed.LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is no number from 0 to {_hash_seed.LARGEST}")
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    """Runs the program, and returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python3 -m gyre.build", description="Builds the component of a plugin in Python."
    )
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        default=".",
        type=Path,
        help="folder of the plugin's project",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="file to write [default: NAME.wasm]"
    )
    parser.add_argument(
        "--hash-seed",
        metavar="NUMBER",
        type=_hash_seed_of,
        default=0,
        help="seed of Python's hashes, on which the order of sets depends [default: 0]",
    )
    parsed = parser.parse_args(arguments)
    try:
        output = parsed.output or Path(f"{Project(parsed.folder).project['name']}.wasm")
        build(parsed.folder, output, parsed.hash_seed)
    except BuildError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0
