"""The places of an exception, without the module ``traceback``, which a component would contain."""

from __future__ import annotations

import os
from typing import Any

SDK_FOLDER = os.path.dirname(__file__) + "/"


def places(traceback: Any) -> list[tuple[str, int, str]]:
    """Returns the files, lines and functions of a traceback, the innermost first."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append((code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    found.reverse()
    return found
