"""Schemas of types, and CustomResourceDefinitions."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict

import pytest

from gyre import Column, Kind, Name, Object, Rules, plugin
from gyre._schema import Schemas, crd_of, plural_of, settings_schema


class Tone(enum.Enum):
    CALM = "calm"
    LOUD = "loud"


@dataclass
class Nested:
    is_it: bool


class Plain(TypedDict, total=False):
    aPort: int


@dataclass
class Everything:
    """All that a spec may have.

    It has paragraphs,
    and lines.
    """

    text: Annotated[str, "Any text.", Rules(min_length=1, pattern="^a")]
    cluster_ip: Annotated[str, Name("clusterIP")]
    since: datetime
    anything: Any
    nested: Nested
    tier: Literal["free", "paid"] = "free"
    tone: Tone = Tone.CALM
    count: Annotated[int, Rules(minimum=0, maximum=9)] = 2
    share: float | None = None
    numbers: Annotated[list[int], Rules(max_items=3, elements=Rules(minimum=1))] = field(
        default_factory=list
    )
    labels: dict[str, str] = field(default_factory=dict)
    port: int | str = 80
    plain: Plain | None = None
    from_: str | None = None


def test_a_schema_follows_the_types_and_their_annotations():
    schema = Schemas().of(Everything)
    assert schema["required"] == ["text", "clusterIP", "since", "anything", "nested"]
    assert schema["properties"] == {
        "text": {"type": "string", "description": "Any text.", "minLength": 1, "pattern": "^a"},
        "clusterIP": {"type": "string"},
        "since": {"type": "string", "format": "date-time"},
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "nested": {
            "type": "object",
            "properties": {"isIt": {"type": "boolean"}},
            "required": ["isIt"],
        },
        "tier": {"type": "string", "enum": ["free", "paid"], "default": "free"},
        "tone": {"type": "string", "enum": ["calm", "loud"], "default": "calm"},
        "count": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9, "default": 2},
        "share": {"type": "number", "format": "double"},
        "numbers": {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "integer", "format": "int64", "minimum": 1},
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "port": {"x-kubernetes-int-or-string": True, "default": 80},
        "plain": {
            "type": "object",
            "properties": {"aPort": {"type": "integer", "format": "int64"}},
        },
        "from": {"type": "string"},
    }


def test_a_crd_has_the_docstring_and_the_fields_of_the_host():
    @dataclass
    class Status:
        ready_pods: int

    crd = crd_of(
        Kind("example.com/v1", "Policy"),
        Everything,
        Status,
        short_names=["pol"],
        is_cluster_scoped=True,
        columns=[Column("Tier", ".spec.tier", wide=True), Column.condition("Ready"), Column.age()],
    )
    assert crd["metadata"]["name"] == "policies.example.com"
    assert crd["spec"]["scope"] == "Cluster"
    assert crd["spec"]["names"]["shortNames"] == ["pol"]
    version = crd["spec"]["versions"][0]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == [
        "Tier",
        "Ready",
        "Age",
    ]
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["description"] == "All that a spec may have.\n\nIt has paragraphs, and lines."
    status = schema["properties"]["status"]
    assert set(status["properties"]) == {"observedGeneration", "conditions", "readyPods"}
    assert "required" not in status


def test_a_rule_in_cel_has_its_message():
    schema = Schemas().of(Annotated[str, Rules(rule=("self == oldSelf", "it is immutable"))])
    assert schema["x-kubernetes-validations"] == [
        {"rule": "self == oldSelf", "message": "it is immutable"}
    ]


def test_settings_refuse_unknown_properties():
    @dataclass
    class Config:
        image: str = "busybox"

    schema = settings_schema(Config)
    assert schema["additionalProperties"] is False
    assert "description" not in schema, "dataclass writes a docstring of its own"


@dataclass
class Recursive:
    children: list[Recursive]


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (Recursive, "Recursive contains itself"),
        (complex, "has no schema"),
        (Annotated[str, Rules(elements=Rules(minimum=1))], "are for lists and dicts"),
        (Literal["a", 1], "are not of one type"),
    ],
)
def test_a_type_without_a_schema_is_refused(annotation, problem):
    with pytest.raises(TypeError, match=problem):
        Schemas().of(annotation)


def test_plurals_are_formed_as_kubebuilder_forms_them():
    singulars = ["echo", "policy", "gateway", "mesh", "box"]
    assert [plural_of(singular) for singular in singulars] == [
        "echos",
        "policies",
        "gateways",
        "meshes",
        "boxes",
    ]


def test_a_spec_of_plain_dicts_permits_everything():
    @plugin(group="example.com", version="v1", kind="Thing")
    def thing(parent: Object): ...

    schema = thing.manifest.crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"] == {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
