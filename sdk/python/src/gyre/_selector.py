"""Label selectors, in the syntax of ``kubectl get -l``. For tests: in a component, the host
selects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_KEY = r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_EQUALITY = re.compile(rf"^\s*(?P<key>{_KEY})\s*(?P<operator>=|==|!=)\s*(?P<value>{_VALUE})\s*$")
_SET = re.compile(rf"^\s*(?P<key>{_KEY})\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)\s*$")
_EXISTENCE = re.compile(rf"^\s*(?P<not>!?)\s*(?P<key>{_KEY})\s*$")


class Requirement(NamedTuple):
    """What one term of a selector demands."""

    key: str
    values: frozenset[str] | None
    """``None`` is any value."""
    is_negated: bool


def parse(selector: str) -> list[Requirement]:
    """Returns the requirements of a selector.

    Raises:
        ValueError: If it does not parse.
    """
    if not selector.strip():
        return []
    return [_requirement(term) for term in re.split(r",(?![^()]*\))", selector)]


def _requirement(term: str) -> Requirement:
    equality = _EQUALITY.match(term)
    if equality:
        return Requirement(
            equality["key"], frozenset([equality["value"]]), equality["operator"] == "!="
        )
    of_set = _SET.match(term)
    if of_set:
        values = frozenset(value.strip() for value in of_set["values"].split(","))
        return Requirement(of_set["key"], values, of_set["operator"] == "notin")
    existence = _EXISTENCE.match(term)
    if existence:
        return Requirement(existence["key"], None, existence["not"] == "!")
    raise ValueError(
        f"{term.strip()!r} is none of key, !key, key=value, key!=value, key in (a,b) and key notin (a,b)"
    )


def matches(selector: list[Requirement], labels: Mapping[str, str]) -> bool:
    """Returns whether labels match all requirements."""
    for requirement in selector:
        value = labels.get(requirement.key)
        has_it = value is not None and (requirement.values is None or value in requirement.values)
        if has_it == requirement.is_negated:
            return False
    return True
