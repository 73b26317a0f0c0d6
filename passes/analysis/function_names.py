"""Names of copies of functions: readable, of bounded length, and equal in each run."""

from __future__ import annotations

from collections.abc import Container
from hashlib import sha256

MOST_LETTERS = 64
"""The longest label; a longer one is cut, and ends in a digest of the whole."""
_DIGEST_LETTERS = 8


def unused_name(label: str, taken: Container[str]) -> str:
    """The name of a new function: the label, shortened, with a number where others have it."""
    if len(label) > MOST_LETTERS:
        digest = sha256(label.encode()).hexdigest()[:_DIGEST_LETTERS]
        label = f"{label[: MOST_LETTERS - 1 - _DIGEST_LETTERS].rstrip('._')}.{digest}"
    unique, number = label, 1
    while unique in taken:
        unique, number = f"{label}.{number}", number + 1
    return unique
