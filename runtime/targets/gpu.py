"""Attributes that all kinds of GPUs have, and the bounds that an architecture sets to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stepwell.runtime.targets.kind import (
    SIZES,
    Read,
    Value,
    Values,
    bad_target,
    count,
    size,
    three,
    value_text,
    words,
)

FEATURES = (
    "async-copy", "bf16", "dot-i8", "f16", "f64", "i64", "mma", "mma-bf16", "mma-tf32", "subgroups", "wgmma",
)  # fmt: skip
"""Features of GPUs that code generation knows."""
ATTRIBUTES: Mapping[str, Read] = {
    "max-threads": size,
    "max-block": three,
    "max-grid": three,
    "shared-memory": size,
    "warp": count,
    "registers": count,
    "max-buffers": size,
    "multiprocessors": count,
    "features": words,
}
"""The readers of attributes that all kinds of GPUs have."""
LONGEST_GRID = (1 << 31) - 1
"""The most blocks along a dimension that any driver takes."""


def within(defaults: Callable[[Values], Values], what: str, *exact: str) -> Callable[[Values], None]:
    """
    A check that numbers and features do not exceed those of the architecture.

    Args: `what` is a word for the attribute that names the architecture; `exact` are attributes with one
    legal value.
    """

    def check(values: Values) -> None:
        arch, limits = values[what], defaults({what: values[what]})
        for key, limit in limits.items():
            expect_within(str(arch), key, values[key], limit, is_exact=key in exact)

    return check


def expect_within(arch: str, key: str, value: Value, limit: Value, *, is_exact: bool = False) -> None:
    """Require at most the limit of an architecture. Raises: StepwellError `bad-target`."""
    if key == "features":
        _expect_features(arch, value, limit)
        return
    if isinstance(value, tuple) and isinstance(limit, tuple):
        exceeds = any(int(a) > int(b) for a, b in zip(value, limit, strict=True))
    else:
        exceeds = isinstance(value, int) and isinstance(limit, int) and value > limit
    if exceeds or (is_exact and value != limit):
        most = "" if is_exact else "at most "
        found = value_text(key, value) if key in SIZES else value_text("", value)
        raise bad_target(f"{key} of {arch} is {most}{value_text(key, limit)}, found {found}")


def _expect_features(arch: str, value: Value, legal: Value) -> None:
    assert isinstance(value, tuple) and isinstance(legal, tuple)
    if unknown := [each for each in value if each not in legal]:
        raise bad_target(f"{arch} has no feature {unknown[0]}; its features are {', '.join(map(str, legal))}")
