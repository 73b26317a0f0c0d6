"""Operators of a model with a cache: the operand with the cache, and those with its length."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import onnx
from stepwell.dialects.graph_ir.state import is_used_part
from stepwell.dialects.onnx.structure import with_absent
from stepwell.dialects.types import dims_of, int_attr, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

_AXIS_OF_TOKENS = 2
"""The axis of the tokens in a cache [batch, heads, tokens, size]."""


class Meaning(Enum):
    """The meaning of an input that repeats the length: in terms of past and new positions."""

    PAST = "past"
    TOTAL = "past + new"
    LAST = "past + new - 1"

    def of(self, past: Dim, new: Dim) -> Dim:
        """The number that such an input has in each row."""
        return {Meaning.PAST: past, Meaning.TOTAL: past + new, Meaning.LAST: past + new - 1}[self]


def cache_axis(result: SSAValue, cache: BlockArgument) -> int | None:
    """The axis that an operator with a cache appends to, where `result` is its update of `cache`; or None."""
    op = result.owner
    if isinstance(op, onnx.TensorScatterOp) and op.past_cache is cache:
        if op.has("mode") and op.string("mode") == "circular":
            return None
        axis = op.integer("axis")
        return axis if axis >= 0 else axis + len(dims_of(cache.type))
    if isinstance(op, onnx.CallOp) and is_group_query(op):
        return _AXIS_OF_TOKENS if cache in given_inputs(op)[3:5] else None
    return None


def is_group_query(op: Operation) -> bool:
    """Whether an op is `GroupQueryAttention` of `com.microsoft`."""
    return isinstance(op, onnx.CallOp) and op.title == "com.microsoft.GroupQueryAttention"


def given_inputs(op: onnx.CallOp) -> list[SSAValue | None]:
    """The inputs of a node by position; None for those that are not given."""
    return with_absent(op.inputs, op.absent, None)


def join_scatters(main: FuncOp, total: Dim) -> None:
    """
    Replace operators that write into a buffer by joins of the part up to the length and the new positions.

    `TensorScatter` of the part that is used would write after its end.
    Args: `total` is the number of positions after the call.
    """
    for op in list(main.walk()):
        if isinstance(op, onnx.TensorScatterOp) and is_used_part(op.past_cache):
            dims = list(dims_of(op.past_cache.type))
            axis = op.integer("axis") % len(dims)
            dims[axis] = total
            join = onnx.ConcatOp.create(
                operands=[op.past_cache, op.update],
                result_types=[tensor_type(tensor_of(op.past_cache).element_type, dims)],
                properties={"axis": int_attr(axis)},
                attributes=op.attributes,
            )
            Rewriter.replace_op(op, join)


def lengths_in(op: Operation) -> Iterator[tuple[SSAValue, Meaning]]:
    """The operands of an operator with a cache that have a length of each row, or of all."""
    if isinstance(op, onnx.TensorScatterOp) and op.write_indices is not None:
        yield op.write_indices, Meaning.PAST
    elif isinstance(op, onnx.AttentionOp) and op.nonpad_kv_seqlen is not None:
        yield op.nonpad_kv_seqlen, Meaning.TOTAL
    elif isinstance(op, onnx.CallOp) and is_group_query(op):
        for value, meaning in zip(given_inputs(op)[5:7], (Meaning.LAST, Meaning.TOTAL), strict=False):
            if value is not None:
                yield value, meaning
