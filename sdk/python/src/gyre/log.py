"""Writes to the log of the host, which adds the plugin's name, the parent and the reconcile id.

``print`` and the module ``logging`` of Python write there, too. In tests, the lines are those of
``logging``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Sink = Callable[[str, str, "list[tuple[str, str]]"], None]

_sink: Sink | None = None


def log(level: str, message: str, **fields: Any) -> None:
    """Logs at a level (``trace``, ``debug``, ``info``, ``warn`` or ``error``), with fields for
    programs."""
    if _sink is not None:
        _sink(level, message, [(key, str(value)) for key, value in fields.items()])
        return
    _log_natively(level, message, fields)


def _log_natively(level: str, message: str, fields: dict[str, Any]) -> None:
    import logging

    numbers = {"trace": 5, "debug": 10, "info": 20, "warn": 30, "error": 40}
    shown = "".join(f" {key}={value}" for key, value in fields.items())
    logging.getLogger("gyre").log(numbers[level], "%s%s", message, shown)


def trace(message: str, **fields: Any) -> None:
    """Logs at the level trace."""
    log("trace", message, **fields)


def debug(message: str, **fields: Any) -> None:
    """Logs at the level debug."""
    log("debug", message, **fields)


def info(message: str, **fields: Any) -> None:
    """Logs at the level info."""
    log("info", message, **fields)


def warn(message: str, **fields: Any) -> None:
    """Logs at the level warn."""
    log("warn", message, **fields)


def error(message: str, **fields: Any) -> None:
    """Logs at the level error."""
    log("error", message, **fields)


def set_sink(sink: Sink | None) -> None:
    """Sets where lines go. For the SDK."""
    global _sink
    _sink = sink
