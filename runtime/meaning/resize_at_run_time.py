"""`Resize` with sizes, scales or a region of interest computed at run time."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import cast

import numpy as np

from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.meaning.resize import resize


def _factors(
    x: Array, scales: Array | None, sizes: Array | None, axes: Sequence[int], policy: str
) -> list[float]:
    """The scale factor of each resized axis."""
    if scales is not None:
        return [float(scale) for scale in scales.reshape(-1)]
    if sizes is None:
        raise ValueError("neither scales nor sizes are given")
    factors = [int(size) / x.shape[axis] for size, axis in zip(sizes.reshape(-1), axes, strict=True)]
    if policy != "stretch":
        factors = [min(factors) if policy == "not_larger" else max(factors)] * len(axes)
    return factors


@meaning("host.resize")
def resize_at_run_time(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    axes: Sequence[int],
    policy: str,
    old_rounding: bool,
    mode: str,
    coordinate: str,
    nearest: str,
    cubic_a: float,
    antialias: bool,
    exclude_outside: bool,
    extrapolation: float,
) -> Array:
    """
    `x` resized along some axes.

    Args: `scales` or `sizes`, and `roi` (starts, then ends), one for each resized axis; with a `policy` other
    than stretch one scale for all axes comes from `sizes`; `old_rounding` rounds up where an image shrinks.
    """
    shape, by_axis = list(x.shape), [1.0] * x.ndim
    region = [0.0] * x.ndim + [1.0] * x.ndim
    given = scales is not None and scales.size > 0
    factors = _factors(x, scales if given else None, sizes, axes, policy)
    for i, (axis, factor) in enumerate(zip(axes, factors, strict=True)):
        by_axis[axis] = factor
        if given:
            shape[axis] = floor(x.shape[axis] * factor)
        elif policy == "stretch" and sizes is not None:
            shape[axis] = int(sizes.reshape(-1)[i])
        else:
            shape[axis] = floor(factor * x.shape[axis] + 0.5)
        if roi is not None and roi.size:
            region[axis], region[axis + x.ndim] = roi[i], roi[i + len(axes)]
    result = resize(
        x,
        shape=tuple(shape),
        scales=by_axis if given or policy != "stretch" else None,
        mode=mode,
        coordinate=coordinate,
        nearest="ceil" if old_rounding and any(f < 1 for f in factors) else nearest,
        cubic_a=cubic_a,
        antialias=antialias,
        exclude_outside=exclude_outside,
        roi=np.array(region).tolist() if coordinate == "tf_crop_and_resize" else None,
        extrapolation=extrapolation,
    )
    return cast(Array, result)
