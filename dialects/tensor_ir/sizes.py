"""Sizes of tensors as expressions over the symbols of a kernel, which may be proved equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.tensor_ir.structured import Structured, tensor_shape
from stepwell.dialects.types import DimsAttr
from stepwell.runtime.dims import Dim

_ARITHMETIC: Mapping[type[Operation], Callable[[Dim, Dim], Dim]] = {
    arith.AddiOp: Dim.__add__,
    arith.SubiOp: Dim.__sub__,
    arith.MuliOp: Dim.__mul__,
    arith.FloorDivSIOp: Dim.__floordiv__,
    arith.CeilDivSIOp: Dim.ceildiv,
    arith.MaxSIOp: Dim.maximum,
    arith.MinSIOp: Dim.minimum,
}

MAX_OPERANDS = 64
"""Longer arithmetic is no size of a model; its expression could be exponentially longer."""


def constant_index(value: SSAValue) -> int | None:
    """The value of a constant index; None for any other."""
    if isinstance(owner := value.owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def known_size(value: SSAValue, position: int) -> int | SSAValue | tuple[SSAValue, int]:
    """The size of a dimension: a number, an index, or else the dimension of another tensor with that size."""
    size = tensor_shape(value)[position]
    if size != DYNAMIC_INDEX:
        return size
    owner = value.owner
    before = sum(n == DYNAMIC_INDEX for n in tensor_shape(value)[:position])
    if isinstance(owner, tensor.EmptyOp):
        return owner.dynamic_sizes[before]
    if isinstance(owner, tensor.ExpandShapeOp):
        return owner.dynamic_output_shape[before]
    if isinstance(owner, tensor.InsertSliceOp):
        return known_size(owner.dest, position)
    if isinstance(owner, tensor.ExtractSliceOp) and len(owner.static_sizes) == len(tensor_shape(value)):
        return owner.sizes[before]
    if isinstance(value, OpResult) and (producer := Structured.of(value.op)) is not None:
        return known_size(producer.inits[value.index], position)
    if isinstance(value, OpResult) and isinstance(owner, scf.ForOp) and _keeps(owner, value.index, position):
        return known_size(owner.iter_args[value.index], position)
    return value, position


def _keeps(loop: scf.ForOp, number: int, position: int) -> bool:
    """Whether each iteration of a loop yields a carried tensor with the size that it had."""
    carried, end = loop.body.block.args[1 + number], loop.body.block.last_op
    return isinstance(end, scf.YieldOp) and known_size(end.operands[number], position) == (carried, position)


def size_of(value: SSAValue, position: int) -> Dim | None:
    """The size of a dimension of a tensor; None where no expression over symbols is found for it."""
    size = known_size(value, position)
    if isinstance(size, tuple):
        return declared_size(*size)
    return Dim.of(size) if isinstance(size, int) else index_of(size)


def size_through_views(value: SSAValue, position: int) -> Dim | None:
    """As `size_of`, and of tensors with joined dimensions."""
    size = known_size(value, position)
    if not isinstance(size, tuple) or not isinstance(owner := size[0].owner, tensor.CollapseShapeOp):
        return size_of(value, position)
    joined = [size_through_views(owner.src, at.value.data) for at in owner.reassociation.data[size[1]]]
    return None if None in joined else prod((dim for dim in joined if dim is not None), start=Dim.of(1))


def declared_size(value: SSAValue, position: int) -> Dim | None:
    """The size that `graph.dims` gives for a dimension of a kernel's argument; None for other values."""
    func = value.block.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(value, BlockArgument) or not isinstance(func, FuncOp) or func.arg_attrs is None:
        return None
    dims = func.arg_attrs.data[value.index].data.get("graph.dims")
    return dims.get()[position] if isinstance(dims, DimsAttr) else None


def index_of(value: SSAValue) -> Dim | None:
    """The value of an index, as an expression over the symbols of a kernel; None for arithmetic of others."""
    return _index_of(value, iter(range(MAX_OPERANDS)))


def _index_of(value: SSAValue, left: Iterator[int]) -> Dim | None:
    """As `index_of`; an operand that is reached on several ways is looked at, and counted, on each."""
    if next(left, None) is None:
        return None
    if isinstance(value, BlockArgument):
        return _symbol(value)
    if (constant := constant_index(value)) is not None:
        return Dim.of(constant)
    op = cast(Operation, value.owner)
    function = _ARITHMETIC.get(type(op))
    if function is None:
        return None
    a, b = (_index_of(operand, left) for operand in op.operands)
    return None if a is None or b is None else function(a, b)


def _symbol(value: BlockArgument) -> Dim | None:
    """The symbol whose value an argument of a kernel is; None for other arguments."""
    func = value.block.parent_op()
    names = symbols_of(func) if isinstance(func, FuncOp) else ()
    number = value.index - (len(value.block.args) - len(names))  # the symbols are the last arguments
    return Dim.symbol(names[number]) if number >= 0 and names else None
