"""Reading JSON into the author's types, and writing it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Literal, TypedDict

import pytest

from gyre import Name
from gyre._objects import encode
from gyre._times import parse_time, time_text
from gyre._types import UnexpectedJson, camel, reader, unknown_key
from gyre.k8s import LabelSelector


class Tone(enum.Enum):
    CALM = "calm"


@dataclass
class Inner:
    a_number: int


class Plain(TypedDict):
    a: int


@dataclass
class Outer:
    inner: Inner
    many: list[Inner] = field(default_factory=list)
    by_name: dict[str, Inner] = field(default_factory=dict)
    cluster_ip: Annotated[str | None, Name("clusterIP")] = None
    since: datetime | None = None
    tone: Tone = Tone.CALM
    level: Literal[1, 2] = 1
    port: int | str = 80
    share: float = 0.5
    data: bytes = b""
    anything: Any = None
    plain: Plain | None = None
    selector: LabelSelector | None = None
    pair: tuple[int, ...] = ()


JSON = {
    "inner": {"aNumber": 1},
    "many": [{"aNumber": 2}],
    "byName": {"a": {"aNumber": 3}},
    "clusterIP": "::1",
    "since": "2026-01-01T00:00:00Z",
    "tone": "calm",
    "level": 2,
    "port": "http",
    "share": 1.0,
    "data": "YQ==",
    "anything": [{"x": None}],
    "plain": {"a": 1},
    "selector": {"matchLabels": {"app": "web"}},
    "pair": [1, 2],
}


def test_json_is_read_into_types_and_written_again():
    outer = reader(Outer)(JSON, "spec")
    assert outer.by_name["a"] == Inner(3)
    assert outer.since == datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert outer.data == b"a"
    assert outer.selector.match_labels == {"app": "web"}
    assert outer.pair == (1, 2)
    assert encode(outer) == {**JSON, "anything": [{}]}


def test_fields_that_are_absent_or_null_have_their_defaults():
    outer = reader(Outer)({"inner": {"aNumber": 1}, "share": None, "unknown": 1}, "spec")
    assert (outer.share, outer.many, outer.cluster_ip) == (0.5, [], None)


@pytest.mark.parametrize(
    ("json", "problem"),
    [
        ({}, "spec.inner is missing"),
        ({"inner": {"aNumber": "1"}}, "spec.inner.aNumber: expected an integer, not '1'"),
        ({"inner": {"aNumber": True}}, "spec.inner.aNumber: expected an integer, not True"),
        ({"inner": [], "x": 1}, "spec.inner: expected an object"),
        ({"inner": {"aNumber": 1}, "many": [{}]}, r"spec.many\[0\].aNumber is missing"),
        ({"inner": {"aNumber": 1}, "tone": "loud"}, "spec.tone: expected one of calm, not 'loud'"),
        ({"inner": {"aNumber": 1}, "level": 3}, "spec.level: expected one of 1, 2, not 3"),
        (
            {"inner": {"aNumber": 1}, "since": "yesterday"},
            "spec.since: expected a time in RFC 3339",
        ),
        ({"inner": {"aNumber": 1}, "data": "?"}, "spec.data: expected bytes in base64"),
        ({"inner": {"aNumber": 1}, "plain": {}}, "spec.plain.a is missing"),
        ({"inner": {"aNumber": 1}, "port": None, "share": "x"}, "spec.share: expected a number"),
    ],
)
def test_an_unexpected_value_is_named_by_its_place(json, problem):
    with pytest.raises(UnexpectedJson, match=problem):
        reader(Outer)(json, "spec")


def test_a_check_of_the_author_names_the_place():
    @dataclass
    class Checked:
        number: int

        def __post_init__(self):
            if self.number % 2:
                raise ValueError("the number is odd")

    with pytest.raises(UnexpectedJson, match="spec: the number is odd"):
        reader(Checked)({"number": 1}, "spec")


def test_an_unknown_key_is_found_in_lists_and_dicts():
    assert unknown_key(Outer, JSON, "") is None
    assert unknown_key(Outer, {"inner": {"aNumber": 1, "b": 2}}, "") == "inner.b"
    assert unknown_key(Outer, {"many": [{"c": 1}]}, "") == "many[0].c"
    assert unknown_key(Outer, {"byName": {"x": {"d": 1}}}, "") == "byName.x.d"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a"}, r"a set has no order.*write sorted\(\{'a'\}\)"),
        ({1: 2}, "JSON has no keys such as 1"),
        (object(), "has no form in JSON"),
    ],
)
def test_what_json_does_not_have_is_refused(value, problem):
    with pytest.raises(TypeError, match=problem):
        encode({"it": value})


def test_names_are_in_camel_case():
    assert [camel(name) for name in ("name", "config_map", "from_", "a_b_c")] == [
        "name",
        "configMap",
        "from",
        "aBC",
    ]


def test_times_are_read_with_any_precision_and_written_as_kubernetes_stores_them():
    for text in (
        "2026-01-01T00:00:00Z",
        "2026-01-01T01:00:00+01:00",
        "2026-01-01T00:00:00.000000000Z",
    ):
        assert time_text(parse_time(text)) == "2026-01-01T00:00:00Z"
    half = parse_time("2026-01-01T00:00:00.5Z")
    assert half - parse_time("2026-01-01T00:00:00Z") == timedelta(milliseconds=500)
    assert time_text(half) == "2026-01-01T00:00:00.500000Z"
    for text in ("2026-01-01", "2026-01-01T00:00:00", "now", None):
        with pytest.raises(ValueError, match="is no time in RFC 3339"):
            parse_time(text)
    with pytest.raises(ValueError, match="has no time zone"):
        time_text(datetime(2026, 1, 1))
