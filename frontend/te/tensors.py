"""Tensors of formulas: placeholders for inputs, and stages that compute tensors from others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from stepwell.frontend.te.bounds import expect_inside, positive_extents
from stepwell.frontend.te.expressions import (
    Axis,
    Dtype,
    Expr,
    Number,
    Operand,
    Read,
    Size,
    expression,
    is_integer,
    is_narrow,
    size_of,
)
from stepwell.frontend.te.functions import cast_to, dtype_named
from stepwell.frontend.te.places import FormulaError, user_place
from stepwell.runtime.dims import Dim

if TYPE_CHECKING:
    import numpy.typing as npt

    from stepwell.frontend.te.reducers import Reduction

SizeLike: TypeAlias = "int | str | Expr | Dim"
"""An extent: a number, the name of a symbol, or an expression of sizes."""
UNNAMED = "compute"
"""The name of a stage to which the user gives none."""
Formula: TypeAlias = Callable[..., object]
"""The function from axes to one element."""


class Tensor:
    """
    A tensor that formulas read: an input, or the result of a stage.

    `stage` computes it; None for an input.
    """

    def __init__(self, name: str, dims: tuple[Dim, ...], dtype: Dtype, stage: Stage | None = None):
        self.name, self.dims, self.dtype, self.stage = name, dims, dtype, stage

    @property
    def shape(self) -> tuple[int | Size, ...]:
        """The extents: numbers, and sizes that are known when the operator runs."""
        return tuple(dim.value if dim.is_static else Size(dim) for dim in self.dims)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    def __getitem__(self, at: object) -> Any:
        """An element at an index a dimension; a tensor where there is a slice, or an index too few."""
        indices = cast("tuple[object, ...]", at) if isinstance(at, tuple) else (at,)
        if len(indices) > self.ndim:
            message = f"{self.name} has {self.ndim} dimensions, found {len(indices)} indices"
            raise FormulaError("te-bounds", message)
        if len(indices) < self.ndim or any(isinstance(index, slice) for index in indices):
            return sliced(self, indices)
        return Read(self, [_index(index) for index in indices])

    def __iter__(self) -> Iterator[object]:
        raise FormulaError("te-type", f"{self.name} is a tensor, found a loop over it: index it by axes")

    def not_an_operand(self) -> Exception:
        """The error for the tensor as a number of a formula."""
        axes = ", ".join("ijklmn"[axis % 6] for axis in range(self.ndim))
        return FormulaError("te-type", f"{self.name} is a tensor; one element is {self.name}[{axes}]")

    def __repr__(self) -> str:
        return f"<te.Tensor {self.name}: {'x'.join(map(str, self.dims))} {self.dtype}>"


class Stage:
    """
    A computation of tensors of one shape: a formula for a point, perhaps reduced over further axes.

    `where` is the user's line.
    """

    def __init__(
        self,
        name: str,
        axes: tuple[Axis, ...],
        values: tuple[Expr, ...],
        reduction: Reduction | None,
        where: str,
    ):
        self.name, self.axes, self.values, self.reduction, self.where = name, axes, values, reduction, where
        dims = tuple(axis.extent for axis in axes)
        self.outputs = tuple(Tensor("", dims, value.dtype, self) for value in values)
        self.rename(name)

    def rename(self, name: str) -> None:
        """Give the stage and the tensors that it computes a name."""
        self.name = name
        for position, tensor in enumerate(self.outputs):
            tensor.name = name if len(self.outputs) == 1 else f"{name}.{position}"

    @property
    def reduce_axes(self) -> tuple[Axis, ...]:
        """The axes that are reduced."""
        return () if self.reduction is None else self.reduction.axes


def _index(index: object) -> Expr:
    made = expression(index)
    if not is_integer(made.dtype):
        message = f"an index is an integer, found {made.dtype} (`{made}`)"
        raise FormulaError("te-type", message, help="te.cast(…, 'int64') converts it")
    return made


def var(name: str) -> Size:
    """A size that is known when the operator runs, the symbol of a name. Raises: StepwellError `te-type`."""
    if not name.isidentifier():
        raise FormulaError("te-type", f"a size has an identifier as its name, found {name!r}")
    return Size(Dim.symbol(name))


def dim_of(size: object) -> Dim:
    """An extent as a dimension. Raises: StepwellError `te-type`, for a negative one too."""
    match size:
        case Size():
            return size.dim
        case Number() if is_integer(size.dtype):
            dim = size_of(size)
        case int() | str() | Dim():
            try:
                dim = Dim.of(size)
            except ValueError as error:
                raise FormulaError("te-type", str(error)) from None
        case _:
            raise FormulaError("te-type", f"a size is a number, a name or te.var(…), found {size!r}")
    if dim.is_static and dim.value < 0:
        raise FormulaError("te-type", f"a size is not negative, found {dim.value}")
    return dim


def placeholder(
    shape: Sequence[SizeLike], dtype: npt.DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """An input of a shape and type."""
    dims = tuple(dim_of(size) for size in shape)
    return Tensor(name or "input", dims, dtype_named(dtype))


def reduce_axis(bounds: tuple[SizeLike, SizeLike], name: str | None = None) -> Axis:
    """An axis that a reduction runs over: from the first bound up to, and without, the second."""
    low, high = (dim_of(bound) for bound in bounds)
    return Axis(name or "r", high - low, low=low)


def compute(
    shape: Sequence[SizeLike], formula: Formula, name: str | None = None, init: Formula | None = None
) -> Any:
    """
    A tensor of a shape with an element a point by a formula; several where it returns a tuple.

    Args: `formula(*axes)` gives an expression, a reduction, or a tuple; `init(*axes)` what a reduction starts
    from.
    Raises: StepwellError `te-type`, `te-bounds`, `te-reduction`.
    """
    where, title = user_place(), name or UNNAMED
    axes = tuple(_axes([dim_of(size) for size in shape], formula))
    result = formula(*axes)
    from stepwell.frontend.te.reducers import Reduction

    if isinstance(result, Reduction):
        outputs = _reduced(title, axes, result, where)
        if init is not None:
            outputs = _started(title, axes, result, outputs, init, where)
    else:
        if init is not None:
            raise FormulaError("te-reduction", "only a reduction starts from `init`", where=where)
        values = cast("tuple[object, ...]", result) if isinstance(result, tuple) else (result,)
        outputs = _stage(title, axes, [expression(value) for value in values], None, where)
    return outputs[0] if len(outputs) == 1 else outputs


def _axes(dims: Sequence[Dim], formula: Formula) -> Iterator[Axis]:
    """An axis a dimension, named as the formula's parameters are. Raises: StepwellError `te-type`."""
    import inspect

    parameters = list(inspect.signature(formula).parameters.values())
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        first = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_POSITIONAL]
        names = [*first, *(f"i{axis}" for axis in range(len(dims)))][: len(dims)]
    else:
        names = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    if len(names) != len(dims):
        message = (
            f"the shape has {len(dims)} dimensions, and the formula {len(names)} axes ({', '.join(names)})"
        )
        raise FormulaError("te-type", message, help="a formula with one `*i` gets all axes")
    return (Axis(name, dim) for name, dim in zip(names, dims, strict=True))


def _stage(
    name: str, axes: tuple[Axis, ...], values: Sequence[Expr], reduction: Reduction | None, where: str
) -> tuple[Tensor, ...]:
    stage = Stage(name, axes, tuple(values), reduction, where)
    expect_inside(stage.values, positive_extents((*stage.axes, *stage.reduce_axes)))
    return stage.outputs


def _reduced(name: str, axes: tuple[Axis, ...], reduction: Reduction, where: str) -> tuple[Tensor, ...]:
    """The tensors of a reduction; narrow floats are combined as float32, unless it says otherwise."""
    values = reduction.masked()
    narrow = [value.dtype for value in values]
    if reduction.accumulate == "same" or not any(map(is_narrow, narrow)):
        return _stage(name, axes, values, reduction, where)
    wide = [cast_to(value, "float32") if is_narrow(value.dtype) else value for value in values]
    sums = _stage(f"{name}.wide", axes, wide, reduction, where)
    return _stage(name, axes, [cast_to(s[axes], d) for s, d in zip(sums, narrow, strict=True)], None, where)


def _started(
    name: str,
    axes: tuple[Axis, ...],
    reduction: Reduction,
    totals: tuple[Tensor, ...],
    init: Formula,
    where: str,
) -> tuple[Tensor, ...]:
    """The results of a reduction, combined with its initial values."""
    start = init(*axes)
    starts = cast("tuple[Operand, ...]", start) if isinstance(start, tuple) else (cast("Operand", start),)
    reads = [cast("Expr", total[axes]) for total in totals]
    if len(starts) != len(reads):
        message = f"`init` gives {len(starts)} numbers, and the reduction has {len(reads)} results"
        raise FormulaError("te-reduction", message, where=where)
    typed = [expression(s, like=read) for s, read in zip(starts, reads, strict=True)]
    return _stage(name, axes, reduction.reducer.combined(typed, reads), None, where)


def sliced(tensor: Tensor, indices: Sequence[object]) -> Tensor:
    """The part of a tensor at slices along some dimensions, whole along those without an index."""
    starts: list[tuple[int, object, int]] = []
    dims: list[Dim] = []
    for axis, dim in enumerate(tensor.dims):
        index = indices[axis] if axis < len(indices) else slice(None)
        if isinstance(index, slice):
            start, extent, step = _bounds(cast("slice[object, object, object]", index), dim)
            starts.append((len(dims), start, step))
            dims.append(extent)
        else:
            starts.append((-1, index, 0))
    shape = [dim.value if dim.is_static else Size(dim) for dim in dims]

    def element(*axes: Axis) -> object:
        at = [
            _index(start) if loop < 0 else axes[loop] * step + cast("Operand", start)
            for loop, start, step in starts
        ]
        return tensor[tuple(at)]

    return compute(shape, element, name=f"{tensor.name}_part")


def _bounds(index: slice[object, object, object], dim: Dim) -> tuple[Size | int, Dim, int]:
    """The start, extent and step of a slice along a dimension."""
    step = 1 if index.step is None else index.step
    if not isinstance(step, int) or step < 1:
        raise FormulaError("te-type", f"the step of a slice is a positive number, found {step!r}")
    start, stop = (_end(end, dim, at) for end, at in ((index.start, Dim.of(0)), (index.stop, dim)))
    extent = (stop - start).ceildiv(step)
    return start.value if start.is_static else Size(start), extent, step


def _end(end: object, dim: Dim, default: Dim) -> Dim:
    if end is None:
        return default
    if isinstance(end, int):
        return dim + end if end < 0 else Dim.of(end).minimum(dim)
    return dim_of(end)
