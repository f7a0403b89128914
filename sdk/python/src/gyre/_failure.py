"""The exceptions of plugins."""

from __future__ import annotations

from datetime import timedelta

from ._kinds import Kind


class Failure(Exception):
    """Ends a call without a plan: the children and the status stay as they are.

    Raise one of its classes. Any other exception is a defect of the plugin: it is reported with its
    file and line.
    """


class Transient(Failure):
    """The call is tried again with back-off."""


class RetryAfter(Failure):
    """The call is tried again after this time: ``raise RetryAfter(timedelta(minutes=1), "…")``."""

    def __init__(self, delay: timedelta, message: str) -> None:
        super().__init__(message)
        self.delay = delay


class Terminal(Failure):
    """The call is not tried again until an input changes."""


class ReadError(Failure):
    """A read that the host refuses. Uncaught, it is terminal."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class NotDeclared(ReadError):
    """The plugin does not declare that it reads this kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(
            kind,
            f"the plugin does not declare this kind: add {kind.kind} to its reads, or read it as a child with cluster.child",
        )


class NotGranted(ReadError):
    """The mount may not read this kind in this namespace."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind, "the mount may not read this kind in this namespace")


class NotServed(ReadError):
    """The API server does not serve this kind. Uncaught, it is tried again with back-off."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind, "the API server does not serve this kind")


class InvalidSelector(ReadError):
    """A label selector that does not parse."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(kind, f"invalid label selector: {message}")
