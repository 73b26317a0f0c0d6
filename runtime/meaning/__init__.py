"""
The numpy meaning of each graph op: the reference that every pass and lowering is checked against.

`evaluate(name, operands, properties)` runs one op: None for an absent optional operand, results as a tuple.
Families register their functions with `@meaning("graph.relu")`, one file a family, loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.generic]
Meaning: TypeAlias = Callable[..., object]

_MEANINGS: dict[str, Meaning] = {}


def meaning(name: str) -> Callable[[Meaning], Meaning]:
    """Register the numpy meaning of the op `name`: operands by position, properties by keyword."""

    def register(function: Meaning) -> Meaning:
        _MEANINGS[name] = function
        return function

    return register


def has_meaning(name: str) -> bool:
    """Whether an op has a numpy meaning."""
    _load()
    return name in _MEANINGS


def evaluate(
    name: str, operands: Sequence[Array | None], properties: Mapping[str, object]
) -> tuple[Array, ...]:
    """
    Run one op on arrays. Raises: KeyError for an op without a meaning.

    Operands are dense first: the order in which numpy adds, and so the digits, depends on their strides, and
    a constant must give the same digits as the view that it was folded from. (Operands of host functions may
    be lists.)
    """
    _load()
    dense = [np.asarray(x, order="C") if isinstance(x, np.ndarray) else x for x in operands]
    results = _MEANINGS[name](*dense, **properties)
    return cast("tuple[Array, ...]", results if isinstance(results, tuple) else (results,))


@cache
def _load() -> None:
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
