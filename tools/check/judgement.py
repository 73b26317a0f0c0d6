"""The judgement of results: their differences from the wanted ones against what a class of passes allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepwell.lowering.interpret import written
from stepwell.passes.base import Numerics
from stepwell.runtime.meaning import Array
from stepwell.tools.check.differences import allowed_difference, relative_difference


class Judgement(NamedTuple):
    """The result that departs the most from the wanted one."""

    difference: float
    allowed: float
    covered: float
    """The share of elements that were compared, the least of all results."""
    note: str = ""

    @property
    def right(self) -> bool:
        """Whether rounding explains the difference."""
        return self.difference <= self.allowed

    @property
    def excess(self) -> float:
        """The difference relative to the allowed one."""
        return self.difference / self.allowed if self.allowed else self.difference and float("inf")


_INFINITE = float("inf")


def judged(
    wanted: Sequence[Array],
    found: Sequence[Array],
    numerics: Numerics,
    *,
    sampled: bool = False,
    of_model: bool = False,
    slack: Sequence[float] = (),
) -> Judgement:
    """
    The worst of some results.

    Args: `sampled` compares only elements that are something else than undefined; `of_model` is for outputs
    of a whole model; `slack` has what roundings may do to each result, if that is more than usual.
    """
    if len(found) != len(wanted):
        return Judgement(_INFINITE, 0.0, 1.0, f"{len(found)} results instead of {len(wanted)}")
    rows = [
        _of_result(number, np.asarray(want), np.asarray(have), numerics, sampled, of_model)
        for number, (want, have) in enumerate(zip(wanted, found, strict=True))
    ]
    if not rows:
        return Judgement(0.0, 0.0, 1.0)
    if slack and numerics is not Numerics.EXACT:
        pairs = zip(rows, slack, strict=False)
        rows = [row if row.right else row._replace(allowed=max(row.allowed, more)) for row, more in pairs]
        rows = [row._replace(note="" if row.right else row.note) for row in rows]
    worst = max(rows, key=lambda row: (not row.right, row.excess))
    return worst._replace(covered=min(row.covered for row in rows))


def _of_result(
    number: int, wanted: Array, found: Array, numerics: Numerics, sampled: bool, of_model: bool
) -> Judgement:
    allowed = allowed_difference(wanted.dtype, numerics, of_model=of_model)
    where = f"result {number}"
    if found.dtype != wanted.dtype:
        return Judgement(
            _INFINITE, allowed, 1.0, f"{where} has elements of {found.dtype} instead of {wanted.dtype}"
        )
    if found.shape != wanted.shape:
        return Judgement(
            _INFINITE, allowed, 1.0, f"{where} has shape {found.shape} instead of {wanted.shape}"
        )
    covered = 1.0
    if sampled and wanted.size:
        compared = written(found)
        covered = float(compared.mean())
        # Elements that did not run take the wanted values, so that the scale stays that of the whole.
        found = np.where(compared, found, wanted)
    difference = relative_difference(found, wanted, numerics)
    return Judgement(difference, allowed, covered, "" if difference <= allowed else where)
