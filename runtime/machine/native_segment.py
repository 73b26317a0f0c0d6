"""What native code needs to call a segment of a program itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class NativeSegment(NamedTuple):
    """A segment that native functions call, for one call at a time."""

    addresses: tuple[int, int, int, int]
    """Of its code, sizes, context and arena."""
    keep: object
    """The owner of their memory."""
    failure: Callable[[int], BaseException]
    """The error that a status of the code means."""
