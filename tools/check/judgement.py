"""The judgement of results: their differences from expected ones, against the limit of a class of passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepwell.lowering.interpret import written
from stepwell.passes.base import Numerics
from stepwell.runtime.meaning import Array
from stepwell.tools.check.differences import allowed_difference, relative_difference

_ORDERS = 8
"""The allowed ratio of compiled code's rounding errors to those of one run with noise."""


class Judgement(NamedTuple):
    """The result that departs the most from the wanted one."""

    difference: float
    allowed: float
    covered: float
    """The share of elements that were compared, the least of all results."""
    value: str = ""
    """The result that is wrong: `result N`, or the name of a value of the model."""
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


def slack_of(noisy: Sequence[Array], plain: Sequence[Array]) -> list[float]:
    """For each result, the `relative_difference` that rounding can cause, estimated by a run with noise."""
    pairs = zip(noisy, plain, strict=True)
    exact = Numerics.EXACT
    return [_ORDERS * relative_difference(np.asarray(a), np.asarray(b), exact) for a, b in pairs]


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

    Args: `sampled` compares only elements that neither side leaves undefined; `of_model` is for outputs
    of a whole model; `slack` has what roundings may do to each result, if that is more than usual.
    """
    if len(found) != len(wanted):
        return Judgement(_INFINITE, 0.0, 1.0, note=f"{len(found)} results instead of {len(wanted)}")
    allowed = [*slack, *[0.0] * (len(wanted) - len(slack))]
    rows = [
        judged_value(f"result {n}", want, have, numerics, sampled=sampled, of_model=of_model, slack=more)
        for n, (want, have, more) in enumerate(zip(wanted, found, allowed, strict=True))
    ]
    if not rows:
        return Judgement(0.0, 0.0, 1.0)
    worst = max(rows, key=lambda row: (not row.right, row.excess))
    return worst._replace(covered=min(row.covered for row in rows))


def judged_value(
    name: str,
    wanted: Array,
    found: Array,
    numerics: Numerics,
    *,
    sampled: bool = False,
    of_model: bool = False,
    slack: float = 0.0,
) -> Judgement:
    """The judgement of one result, or of a value of a model. Args: as of `judged`."""
    wanted, found = np.asarray(wanted), np.asarray(found)
    allowed = allowed_difference(wanted.dtype, numerics, of_model=of_model)
    if found.dtype != wanted.dtype:
        note = f"has elements of {found.dtype} instead of {wanted.dtype}"
        return Judgement(_INFINITE, allowed, 1.0, name, note)
    if found.shape != wanted.shape:
        note = f"has shape {found.shape} instead of {wanted.shape}"
        return Judgement(_INFINITE, allowed, 1.0, name, note)
    covered = 1.0
    if sampled and wanted.size:
        compared = written(found) & written(wanted)
        covered = float(compared.mean())
        # Elements that did not run take the wanted values, so that the scale stays that of the whole.
        found = np.where(compared, found, wanted)
    difference = relative_difference(found, wanted, numerics)
    if difference > allowed and numerics is not Numerics.EXACT:
        allowed = max(allowed, slack)
    return Judgement(difference, allowed, covered, "" if difference <= allowed else name)
