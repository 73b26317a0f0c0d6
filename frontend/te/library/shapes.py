"""Shapes of the library's operators: broadcasting, axes, and indices of broadcast operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from stepwell.frontend.te.expressions import Axis
from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.tensors import Tensor, compute
from stepwell.runtime.dims import Dim


def joined_shape(*tensors: Tensor) -> list[Dim]:
    """The shape to which tensors broadcast. Raises: StepwellError `te-type`."""
    rank = max(tensor.ndim for tensor in tensors)
    dims: list[Dim] = []
    for axis in range(rank):
        own = [t.dims[axis - rank + t.ndim] for t in tensors if axis - rank + t.ndim >= 0]
        longer = [dim for dim in own if dim != 1]
        if any(dim != longer[0] for dim in longer):
            found = " and ".join(f"{t.name}: {'x'.join(map(str, t.dims))}" for t in tensors)
            raise FormulaError("te-type", f"shapes do not broadcast: {found}")
        dims.append(longer[0] if longer else Dim.of(1))
    return dims


def element(tensor: Tensor, axes: Sequence[Any]) -> Any:
    """The element of a tensor at a point of a shape to which it broadcasts."""
    own = axes[len(axes) - tensor.ndim :]
    return tensor[tuple(0 if dim == 1 else axis for axis, dim in zip(own, tensor.dims, strict=True))]


@overload
def mapped(name: str, function: Callable[[Any], object], a: Tensor, /) -> Tensor: ...
@overload
def mapped(name: str, function: Callable[[Any, Any], object], a: Tensor, b: Tensor, /) -> Tensor: ...
@overload
def mapped(
    name: str, function: Callable[[Any, Any, Any], object], a: Tensor, b: Tensor, c: Tensor, /
) -> Tensor: ...
@overload
def mapped(
    name: str, function: Callable[[Any, Any, Any, Any], object], a: Tensor, b: Tensor, c: Tensor, d: Tensor, /
) -> Tensor: ...
def mapped(name: str, function: Callable[..., object], /, *tensors: Tensor) -> Tensor:
    """A function of the elements of tensors, which broadcast."""
    return compute(
        joined_shape(*tensors), lambda *i: function(*(element(tensor, i) for tensor in tensors)), name=name
    )


def axis_in(axis: int, rank: int) -> int:
    """An axis counted from the first one. Raises: StepwellError `te-type`."""
    if not -rank <= axis < rank:
        raise FormulaError("te-type", f"axis {axis} is none of {rank} dimensions")
    return axis % rank


def inserted(axes: Sequence[Axis], at: int, index: Any) -> tuple[Any, ...]:
    """Indices with one more at a place."""
    return (*axes[:at], index, *axes[at:])
