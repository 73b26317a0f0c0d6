"""Statistics of tensors, computed on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import meaning

Floats = npt.NDArray[np.floating[Any]]


@meaning("host.histogram")
def histogram(x: Floats, ends: Floats, *, bins: int) -> npt.NDArray[np.int64]:
    """The numbers of elements in equal bins between two ends, which are finite; others are left out."""
    counts, _ = np.histogram(x, bins, (float(ends[0]), float(ends[1])))
    return counts.astype(np.int64)
