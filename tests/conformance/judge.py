"""When a result counts as right: the one place that has tolerances, by element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# By element type, the relative difference that rounding may explain: some units in the last place of what is
# summed, two for the narrow types; 1e-3 for f32 because onnx's cases have expected values that are rounded to
# four digits. onnx's own runner has 1e-3 for all but bf16. Light models ask for more.
RTOL = {"float64": 1e-7, "float32": 1e-3, "float16": 2**-9, "bfloat16": 2**-6}
# What should vanish may be off by some units of terms that are about 1.
ATOL = {"float64": 1e-7, "float32": 1e-6, "float16": 1e-4, "bfloat16": 1e-3}

Array = npt.NDArray[np.generic]


def difference(expected: Any, found: Any, rtol: float = 0.0) -> str | None:
    """
    How a result departs from what is expected, in words; None when it does not.

    Element types and shapes must be the same; integers, bools and strings equal, NaN where NaN is expected.
    """
    if isinstance(expected, list | tuple):
        return _sequence_difference(expected, found, rtol)
    if expected is None or found is None:
        return None if expected is found else f"expected {expected}, found {found}"
    if not isinstance(found, np.ndarray):
        return f"expected an array, found {type(found).__name__}"
    return _array_difference(np.asarray(expected), found, rtol)


def _sequence_difference(expected: Sequence[Any], found: Any, rtol: float) -> str | None:
    if not isinstance(found, list | tuple):
        return f"expected a sequence, found {type(found).__name__}"
    if len(found) != len(expected):
        return f"expected {len(expected)} values, found {len(found)}"
    for i, (wanted, value) in enumerate(zip(expected, found, strict=True)):
        if (text := difference(wanted, value, rtol)) is not None:
            return f"[{i}] {text}"
    return None


def _array_difference(expected: Array, found: Array, rtol: float) -> str | None:
    if _is_text(expected) and _is_text(found):
        same = expected.shape == found.shape and bool(np.all(expected.astype(str) == found.astype(str)))
        return None if same else "strings differ"
    if found.dtype != expected.dtype:
        return f"expected {expected.dtype}, found {found.dtype}"
    if found.shape != expected.shape:
        return f"expected shape {list(expected.shape)}, found {list(found.shape)}"
    name = expected.dtype.name
    if name not in RTOL:
        wrong = _not_same(expected, found)
        return None if not wrong.any() else _worst(expected, found, wrong)
    with np.errstate(all="ignore"):
        a, b = expected.astype(np.float64), found.astype(np.float64)
        bound = ATOL[name] + max(RTOL[name], rtol) * np.abs(a)
        right = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= bound)
    return None if right.all() else _worst(expected, found, ~right)


def _not_same(expected: Array, found: Array) -> npt.NDArray[np.bool_]:
    """Where two arrays differ, NaN of the narrow float types taken as equal to itself."""
    differ = np.asarray(expected != found)
    if expected.dtype.name.startswith("float"):
        a, b = expected.astype(np.float32), found.astype(np.float32)
        differ &= ~(np.isnan(a) & np.isnan(b))
    return differ


def _worst(expected: Array, found: Array, wrong: npt.NDArray[np.bool_]) -> str:
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} differ, [{first}]: {expected[first]}, found {found[first]}"


def _is_text(array: Array) -> bool:
    return array.dtype.kind in "OUST"
