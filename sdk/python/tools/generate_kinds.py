"""Generates the classes of the built-in kinds from the OpenAPI documents of the in-memory API
server.

    host/devcluster/…/openapi/*.json.gz ──▶ src/gyre/k8s/_table.py (for components)
                                       └──▶ src/gyre/k8s/__init__.pyi (for type checkers)

Run it as ``python3 tools/generate_kinds.py`` after a change of the documents. A test compares the
files.
"""

from __future__ import annotations

import gzip
import json
import keyword
import re
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

SDK = Path(__file__).resolve().parent.parent
DOCUMENTS = SDK.parent.parent / "host/devcluster/src/builtin/dump/openapi"
FOLDER = SDK / "src/gyre/k8s"

# The same as those of the Rust SDK: sdk/types/tests/golden.rs.
GROUPS = {
    ("", "v1"),
    ("apps", "v1"),
    ("autoscaling", "v2"),
    ("batch", "v1"),
    ("coordination.k8s.io", "v1"),
    ("discovery.k8s.io", "v1"),
    ("events.k8s.io", "v1"),
    ("networking.k8s.io", "v1"),
    ("policy", "v1"),
    ("rbac.authorization.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1"),
    ("storage.k8s.io", "v1"),
}
WITHOUT = {
    ("", "Binding"),
    ("", "ComponentStatus"),
    ("", "Endpoints"),
    ("", "Event"),
    ("", "PodTemplate"),
    ("", "ReplicationController"),
    ("policy", "Eviction"),
}

# Classes of the SDK itself.
OWN = {"ObjectMeta", "OwnerReference"}

# Names that objects of a kind have already.
TAKEN = {
    "name",
    "namespace",
    "labels",
    "annotations",
    "uid",
    "created",
    "is_deleted",
    "condition",
    "where",
    "KIND",
}

# Arguments without a name, besides the one required field of a class.
POSITIONAL = {"Container": ["name", "image"]}

REFERENCE = "#/components/schemas/"


class Field(NamedTuple):
    """A field of a class."""

    name: str
    json_name: str
    code: str
    """Its codec, as gyre.k8s reads it."""
    type: str
    """What it reads as."""
    given: str
    """What it may be set to."""
    description: str


class Class(NamedTuple):
    """A class of a kind, or of a part."""

    name: str
    api_version: str | None
    description: str
    fields: list[Field]
    positional: list[str]


def snake(name: str) -> str:
    """Returns a name in snake case. Acronyms are one word: ``externalIPs`` is ``external_ips``."""
    words = re.findall(r"[A-Z]+s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    joined = "_".join(words).lower()
    return f"{joined}_" if keyword.iskeyword(joined) else joined


def schemas() -> dict[str, Any]:
    """Returns the schemas of all documents by their names."""
    found: dict[str, Any] = {}
    for file in sorted(DOCUMENTS.glob("*.json.gz")):
        with gzip.open(file) as document:
            found.update(json.load(document)["components"]["schemas"])
    return found


def target(schema: dict[str, Any]) -> str | None:
    """Returns the schema that a reference names."""
    reference = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref")
    return reference.removeprefix(REFERENCE) if reference else None


def last(id: str) -> str:
    """Returns the last label of the name of a schema."""
    return id.rpartition(".")[2]


class Generator:
    """Reaches the classes from the selected kinds."""

    def __init__(self) -> None:
        self.schemas = schemas()
        self.classes: dict[str, Class] = {}
        self.ids: dict[str, str] = {}

    def run(self) -> list[Class]:
        """Returns the classes by their names."""
        for id, schema in self.schemas.items():
            api_version = self.selected(id, schema)
            if api_version is not None:
                self.add(id, api_version)
        return [self.classes[name] for name in sorted(self.classes)]

    def selected(self, id: str, schema: dict[str, Any]) -> str | None:
        """Returns the apiVersion of a kind that is selected."""
        kinds = schema.get("x-kubernetes-group-version-kind", [])
        if len(kinds) != 1:
            return None
        group, version = kinds[0]["group"], kinds[0]["version"]
        metadata = target(schema.get("properties", {}).get("metadata", {}))
        has_metadata = metadata is not None and last(metadata) == "ObjectMeta"
        if not has_metadata or (group, version) not in GROUPS or (group, last(id)) in WITHOUT:
            return None
        return f"{group}/{version}" if group else version

    def add(self, id: str, api_version: str | None = None) -> None:
        """Adds a class, and those of its fields."""
        name = last(id)
        if name in OWN or self.ids.get(name) == id:
            return
        if name in self.ids:
            raise SystemExit(f"two classes have the name {name}: {self.ids[name]} and {id}")
        self.ids[name] = id
        schema = self.schemas[id]
        fields = []
        for json_name, of_field in schema.get("properties", {}).items():
            if api_version is not None and json_name in ("apiVersion", "kind"):
                continue
            field = self.field(json_name, of_field)
            if api_version is not None and field.name in TAKEN:
                raise SystemExit(f"{name}.{field.name} is a name that all kinds have")
            fields.append(field)
        required = [snake(one) for one in schema.get("required", [])]
        positional = POSITIONAL.get(
            name, required if len(required) == 1 and api_version is None else []
        )
        self.classes[name] = Class(
            name, api_version, schema.get("description", ""), fields, positional
        )

    def field(self, json_name: str, schema: dict[str, Any]) -> Field:
        """Returns a field."""
        code, type, given = self.shape(schema)
        return Field(snake(json_name), json_name, code, type, given, schema.get("description", ""))

    def shape(self, schema: dict[str, Any]) -> tuple[str, str, str]:
        """Returns the codec of a schema, and the types of Python."""
        id = target(schema)
        if id is not None:
            return self.referred(id)
        kind = schema.get("type")
        if kind == "array":
            code, type, given = self.shape(schema["items"])
            return f"[{code}", f"list[{optional(type, False)}]", f"Sequence[{given}]"
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            values = schema["additionalProperties"]
            if values.get("format") == "byte":
                return "d", "Data", "Mapping[str, str | bytes | Generated] | Data"
            code, type, given = self.shape(values)
            return f"{{{code}", f"dict[str, {optional(type, False)}]", f"Mapping[str, {given}]"
        if kind == "string":
            return scalar_text(schema)
        scalars = {"integer": "int", "boolean": "bool", "number": "float"}
        type = scalars.get(kind or "", "Any")
        return "", f"{type} | None", type

    def referred(self, id: str) -> tuple[str, str, str]:
        """Returns the codec of a schema with a name."""
        name = last(id)
        if name == "Quantity":
            return "", "str | None", "str"
        if name in ("Time", "MicroTime"):
            return "t", "datetime | None", "datetime"
        if name == "IntOrString":
            return "", "int | str | None", "int | str"
        if "properties" not in self.schemas[id]:
            return "", "Any | None", "Any"
        self.add(id)
        return name, name, name


def scalar_text(schema: dict[str, Any]) -> tuple[str, str, str]:
    """Returns the codec of a text."""
    if schema.get("format") == "byte":
        return "b", "bytes | None", "bytes | str"
    if schema.get("format") == "date-time":
        return "t", "datetime | None", "datetime"
    texts = [text for text in schema.get("enum", []) if text]
    type = f"Literal[{', '.join(json.dumps(text) for text in texts)}]" if texts else "str"
    return "", f"{type} | None", type


def optional(type: str, is_optional: bool) -> str:
    """Returns a type with or without None."""
    return type if is_optional else type.removesuffix(" | None")


def table_text(classes: list[Class]) -> str:
    """Returns the module with the fields of the classes."""
    lines = [
        '"""Generated by tools/generate_kinds.py. The fields of the classes: name:nameInJson=codec.',
        "",
        "The codecs: none for values as they are, t for a time, b for bytes, d for bytes by key, [ for a list,",
        '{ for a map, and the name of a class."""',
        "",
        "# apiVersion of a kind; positional arguments; fields",
        "TABLE: dict[str, tuple[str, str, str]] = {",
    ]
    for of in classes:
        fields = " ".join(f"{field.name}:{field.json_name}={field.code}" for field in of.fields)
        lines.append(f"    {of.name!r}: (")
        lines.append(f"        {of.api_version or ''!r},")
        lines.append(f"        {' '.join(of.positional)!r},")
        lines += [f"        {part!r}" for part in wrapped(fields)]
        lines.append("    ),")
    lines.append("}")
    return "\n".join(lines).replace("'", '"') + "\n"


def wrapped(text: str) -> list[str]:
    """Returns the lines of a text, each of which but the last ends with a space."""
    lines = textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"{line} " for line in lines[:-1]] + lines[-1:]


def stub_text(classes: list[Class]) -> str:
    """Returns the stub."""
    kinds = [of.name for of in classes if of.api_version is not None]
    lines = [
        "# Generated by tools/generate_kinds.py.",
        "from collections.abc import Mapping, Sequence",
        "from datetime import datetime",
        "from typing import Any, ClassVar, Literal",
        "",
        "from .._kinds import Kind",
        "from .._objects import Data, Fields, Generated, Resource",
        "from .._objects import ObjectMeta as ObjectMeta",
        "from .._objects import OwnerReference as OwnerReference",
        "from ._methods import (",
        "    DeploymentMethods,",
        "    JobMethods,",
        "    LabelSelectorMethods,",
        "    PodMethods,",
        "    PodSpecMethods,",
        ")",
        "",
        "def prepare() -> None: ...",
        "",
    ]
    methods = {"Deployment", "Job", "LabelSelector", "Pod", "PodSpec"}
    for of in classes:
        base = "Fields" if of.api_version is None else "Resource"
        bases = f"{of.name}Methods, {base}" if of.name in methods else base
        lines.append(f"class {of.name}({bases}):")
        lines += documentation(of.description or of.name, "    ")
        if of.api_version is not None:
            lines.append("    KIND: ClassVar[Kind]")
        for field in of.fields:
            lines.append(f"    {field.name}: {field.type}")
            lines += documentation(field.description, "    ")
        lines += constructor(of)
        lines.append("")
    assert kinds
    return "\n".join(lines)


def constructor(of: Class) -> list[str]:
    """Returns the stub of a constructor."""
    given = {field.name: field.given for field in of.fields}
    lines = ["    def __init__(", "        self,"]
    if of.api_version is not None:
        lines += [
            '        name: str = "",',
            "        *,",
            "        namespace: str | None = None,",
            "        labels: Mapping[str, str] | None = None,",
            "        annotations: Mapping[str, str] | None = None,",
        ]
    else:
        lines += [f"        {name}: {given[name]} = ..." + "," for name in of.positional]
        if len(given) > len(of.positional):
            lines.append("        *,")
    for name, type in given.items():
        if name not in of.positional:
            lines.append(f"        {name}: {type} = ...,")
    lines.append("    ) -> None: ...")
    return lines


def documentation(text: str, indent: str) -> list[str]:
    """Returns a docstring."""
    text = " ".join(text.replace("\\", "\\\\").replace('"""', "'''").split())
    if not text:
        return []
    if text.endswith('"'):
        text += " "
    return textwrap.wrap(
        f'"""{text}"""',
        100,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
    )


def files() -> dict[Path, str]:
    """Returns the contents of the generated files."""
    classes = Generator().run()
    return {FOLDER / "_table.py": table_text(classes), FOLDER / "__init__.pyi": stub_text(classes)}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
