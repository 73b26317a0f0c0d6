"""Reductions of the library along axes of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stepwell.frontend.te import reducers
from stepwell.frontend.te.expressions import Axis, Size
from stepwell.frontend.te.functions import cast_to
from stepwell.frontend.te.library.shapes import axis_in
from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.tensors import Tensor, compute, reduce_axis
from stepwell.runtime.dims import Dim

KINDS = {"sum": reducers.SUM, "prod": reducers.PROD, "max": reducers.MAX, "min": reducers.MIN}


def reduce(
    x: Tensor, kind: str = "sum", axis: int | Sequence[int] | None = None, *, keep_dims: bool = False
) -> Tensor:
    """The `sum`, `prod`, `max` or `min` along axes, by default all. Raises: StepwellError `te-reduction`."""
    if kind not in KINDS:
        raise FormulaError("te-reduction", f"kind is one of {', '.join(KINDS)}, found {kind!r}")
    return along(x, axis, lambda e, axes: reducers.reduction(KINDS[kind], e, axes), kind, keep_dims)


def mean(x: Tensor, axis: int | Sequence[int] | None = None, *, keep_dims: bool = False) -> Tensor:
    """The mean of floats along axes."""
    over = axes_of(x, axis)
    total = reduce(x, "sum", axis, keep_dims=keep_dims)
    count = Dim.of(1)
    for each in over:
        count = count * x.dims[each]
    return compute(total.dims, lambda *i: total[i] / cast_to(Size(count), x.dtype), name="mean")


def argmax(x: Tensor, axis: int) -> Tensor:
    """The first position of the greatest element along an axis, as int64."""
    return along(x, axis, lambda e, axes: reducers.argmax(e, axes[0]), "argmax", False)[1]


def argmin(x: Tensor, axis: int) -> Tensor:
    """The first position of the least element along an axis, as int64."""
    return along(x, axis, lambda e, axes: reducers.argmin(e, axes[0]), "argmin", False)[1]


def axes_of(x: Tensor, axis: int | Sequence[int] | None) -> list[int]:
    """Axes in ascending order, counted from the first one."""
    given = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return sorted({axis_in(each, x.ndim) for each in given})


def along(
    x: Tensor,
    axis: int | Sequence[int] | None,
    reduction: Callable[[Any, Sequence[Axis]], object],
    name: str,
    keep_dims: bool,
) -> Any:
    """A reduction of a tensor along axes."""
    over = axes_of(x, axis)
    reduced = {a: reduce_axis((0, x.dims[a]), f"r{a}") for a in over}
    kept = [a for a in range(x.ndim) if a not in over or keep_dims]
    shape = [Dim.of(1) if a in over else x.dims[a] for a in kept]

    def body(*axes: Axis) -> object:
        at = dict(zip(kept, axes, strict=True)) | reduced
        return reduction(x[tuple(at[a] for a in range(x.ndim))], list(reduced.values()))

    return compute(shape, body, name=name)
