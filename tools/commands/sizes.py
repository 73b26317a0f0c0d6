"""Numbers of bytes in arguments."""

from __future__ import annotations

from argparse import ArgumentTypeError

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size(text: str) -> int:
    """A number of bytes, such as 64M."""
    number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    if not number.isdecimal() or not int(number):
        raise ArgumentTypeError(f"a size is a number with K, M, G or nothing behind, found {text!r}")
    return int(number) * unit
