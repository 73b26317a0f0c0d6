"""The times of a model's calls for the explorer: median, least and largest of some runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stepwell.runtime.model import CompiledModel
from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.measure.profile import times_of

RUNS = 10
_WARM_UP = 2


def measured(model: CompiledModel, feeds: Mapping[str, object], runs: int = RUNS) -> list[Data]:
    """
    The microseconds of each timed call, in their order.

    Raises: StepwellError `no-profile` for a model that was not compiled to be timed.
    """
    times = times_of(model)
    inputs = [feeds[spec.name] for spec in model.interface.inputs]
    taken: list[list[float]] = []
    for _ in range(_WARM_UP + runs):
        times.clear()
        model(*inputs)
        taken.append([1e6 * float(second) for second in times.seconds()])
    columns = np.array(taken[_WARM_UP:]).reshape(runs, -1)
    rows = zip(np.median(columns, axis=0), columns.min(axis=0), columns.max(axis=0), strict=True)
    return [
        {"median": round(float(m), 3), "low": round(float(a), 3), "high": round(float(b), 3)}
        for m, a, b in rows
    ]
