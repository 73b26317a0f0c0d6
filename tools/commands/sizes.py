"""Numbers of bytes in arguments."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d{1,12})([KMG]?)")


def size(text: str) -> int:
    """A number of bytes above 0, such as `64M`. Raises: ArgumentTypeError, which argparse reports."""
    if (found := _SIZE.fullmatch(text)) is None or not int(found[1]):
        raise ArgumentTypeError(f"expected bytes such as 64M, found {text!r}")
    return int(found[1]) * _UNITS[found[2]]
