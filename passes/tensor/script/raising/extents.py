"""The extents of tensors as values before a nest of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_builder.support import symbol_arguments
from stepwell.dialects.tensor_ir.memory import slice_sizes
from stepwell.dialects.types import DimsAttr


def extents_of(value: SSAValue, emit: IRBuilder) -> Sequence[Index]:
    """The extents of a tensor; one that nothing says is computed by `tensor.dim`."""
    known = list(_known(value))
    for axis, size in enumerate(known):
        if size is None:
            known[axis] = emit.value(tensor.DimOp(value, emit.materialize(axis)))
    return [size for size in known if size is not None]


def same_extents(a: Sequence[Index], b: Sequence[Index]) -> bool:
    """Whether extents are the same numbers or values."""
    return all(
        type(x) is type(y) and (x == y if isinstance(x, int) else x is y) for x, y in zip(a, b, strict=True)
    )


def _known(value: SSAValue) -> Sequence[Index | None]:
    shape = cast("TensorType[Attribute]", value.type).get_shape()
    if all(size >= 0 for size in shape):
        return shape
    owner = value.owner
    if isinstance(owner, Block):
        return _of_argument(value, shape)
    match owner:
        case tensor.EmptyOp():
            dynamic = iter(owner.dynamic_sizes)
            return [size if size >= 0 else next(dynamic) for size in shape]
        case tensor.ExtractSliceOp():
            return slice_sizes(owner)
        case tensor.InsertSliceOp():
            return _known(owner.dest)
        case FillOp() | GenericOp():
            return _known(_init(owner, cast("OpResult", value)))
        case _:
            return [size if size >= 0 else None for size in shape]


def _init(op: Operation, result: OpResult) -> SSAValue:
    """The tensor that a result of a structured op is computed into."""
    return op.operands[len(op.operands) - len(op.results) + result.index]


def _of_argument(value: SSAValue, shape: Sequence[int]) -> Sequence[Index | None]:
    """The extents of an argument of a kernel: numbers and symbols."""
    assert isinstance(value, BlockArgument)
    func = value.owner.parent_op()
    unknown = [size if size >= 0 else None for size in shape]
    if not isinstance(func, FuncOp) or func.arg_attrs is None:
        return unknown
    dims = func.arg_attrs.data[value.index].data.get("graph.dims")
    if not isinstance(dims, DimsAttr):
        return unknown
    symbols = dict(symbol_arguments(func))
    return [dim.value if dim.is_static else symbols.get(str(dim)) for dim in dims.get()]
