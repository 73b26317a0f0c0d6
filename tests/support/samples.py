"""Samples: `make test` runs some cases of the tests that have many slow ones, `make cases` runs them all."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar
from zlib import crc32

import pytest
from hypothesis import settings

P = ParamSpec("P")
R = TypeVar("R")
ALL_CASES = "TEST_ALL_CASES"
"""The environment variable with which all cases and examples run."""
_SHARE, _LEAST = 10, 3
whole = pytest.mark.sample(0)
"""A test, or a case, for `make cases` alone: others of `make test` reach the same code on a shorter way."""


def repetitions(count: int) -> int:
    """The number of examples of a property: so many for `make cases`, a tenth for `make test`."""
    return count if os.environ.get(ALL_CASES) else max(_LEAST, count // _SHARE)


def examples(count: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator of a property: so many examples of it are tried by `make cases`, a tenth by `make test`."""

    def decorated(test: Callable[P, R]) -> Callable[P, R]:
        return pytest.mark.sample(settings(max_examples=repetitions(count), deadline=None)(test))

    return decorated


def leave_out(items: Sequence[pytest.Item]) -> None:
    """
    Mark as slow all but a sample of the cases of each test that is marked `sample(n)`: its first, and each of
    which a digest says so, one in n; none for 0. The choice stays the same when cases are added.
    """
    if os.environ.get(ALL_CASES):
        return
    seen: set[str] = set()
    for item in items:
        shares = [mark.args[0] for mark in item.iter_markers("sample") if mark.args]
        if not shares:
            continue
        test, share = item.nodeid.partition("[")[0], min(shares)
        if share == 0 or (test in seen and crc32(item.nodeid.encode()) % share):
            item.add_marker(pytest.mark.slow)
        seen.add(test)
