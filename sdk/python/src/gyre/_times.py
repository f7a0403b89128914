"""Times, as Kubernetes writes them (RFC 3339)."""

from __future__ import annotations

from datetime import datetime, timezone

UTC = timezone.utc


def parse_time(text: str) -> datetime:
    """Returns the time of a text such as ``2026-01-01T00:00:00Z``.

    Raises:
        ValueError: If it is no time in RFC 3339.
    """
    time = _parse(text) if isinstance(text, str) else None
    if time is None or time.tzinfo is None:
        raise ValueError(f"{text!r} is no time in RFC 3339, such as 2026-01-01T00:00:00Z")
    return time.astimezone(UTC)


def _parse(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(_with_known_precision(text))
    except ValueError:
        return None


def _with_known_precision(text: str) -> str:
    """Python 3.10 reads no ``Z``, and fractions of 3 or 6 digits only."""
    text = text.replace("Z", "+00:00").replace("z", "+00:00")
    start, dot, rest = text.partition(".")
    if not dot:
        return text
    digits = len(rest) - len(rest.lstrip("0123456789"))
    return f"{start}.{rest[:digits][:6]:0<6}{rest[digits:]}"


def time_text(time: datetime) -> str:
    """Returns a time as Kubernetes stores it.

    Raises:
        ValueError: If it has no time zone.
    """
    if time.tzinfo is None:
        raise ValueError(
            f"{time!r} has no time zone: use cluster.now, or datetime(…, tzinfo=timezone.utc)"
        )
    time = time.astimezone(UTC)
    precision = "microseconds" if time.microsecond else "seconds"
    return time.replace(tzinfo=None).isoformat(timespec=precision) + "Z"
