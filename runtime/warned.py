"""Warnings at the line of the user's program that caused them, not at a line of the compiler's."""

from __future__ import annotations

import inspect
import warnings

_INSIDE = ("stepwell", "xdsl")
"""Packages whose lines are skipped."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, at the innermost line that is neither ours nor xDSL's."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
