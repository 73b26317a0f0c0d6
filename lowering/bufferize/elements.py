"""Single elements, vectors and small constants: `tensor` and `vector` accesses of tensors → of buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

from xdsl.dialects import arith, memref, tensor, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, IntegerType
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects.sched import ACCESS
from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.accesses import is_tensor
from stepwell.lowering.bufferize.buffers import Buffers, insert
from stepwell.runtime.errors import StepwellError

AccessT = TypeVar("AccessT", memref.LoadOp, memref.StoreOp)
MAX_STORED_ELEMS = 64
"""Constants are written element by element: larger ones belong in the weight store."""


@dataclass(frozen=True)
class ExtractBufferize(RewritePattern):
    """`tensor.extract` → `memref.load`."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.ExtractOp, rewriter: PatternRewriter) -> None:
        """Load from the tensor's buffer."""
        operands = [self.buffers[op.tensor], *op.indices]
        load = memref.LoadOp.create(operands=operands, result_types=[op.result.type])
        rewriter.replace(op, _with_number(load, op))


@dataclass(frozen=True)
class InsertBufferize(RewritePattern):
    """`tensor.insert` → `memref.store`."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.InsertOp, rewriter: PatternRewriter) -> None:
        """Store into the destination's buffer."""
        (destination,) = self.buffers.destinations(op)
        store = memref.StoreOp.get(op.scalar, self.buffers.destination(op, destination), op.indices)
        insert(_with_number(store, op), op)


@dataclass(frozen=True)
class DimBufferize(RewritePattern):
    """`tensor.dim` → `memref.dim`."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.DimOp, rewriter: PatternRewriter) -> None:
        """Read the extent of the tensor's buffer."""
        rewriter.replace(op, memref.DimOp(self.buffers[op.source], op.index))


@dataclass(frozen=True)
class TransferReadBufferize(RewritePattern):
    """`vector.transfer_read` of a tensor → of its buffer."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferReadOp, rewriter: PatternRewriter) -> None:
        """Replace the tensor operand by its buffer."""
        if is_tensor(op.source):
            op.operands[0] = self.buffers[op.source]


@dataclass(frozen=True)
class TransferWriteBufferize(RewritePattern):
    """`vector.transfer_write` into a tensor → into its buffer."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferWriteOp, rewriter: PatternRewriter) -> None:
        """Write into the destination's buffer; `drop_tensors` takes the result away."""
        for destination in self.buffers.destinations(op):
            op.operands[1] = self.buffers.destination(op, destination)


@dataclass(frozen=True)
class EmptyBufferize(RewritePattern):
    """`tensor.empty` → a new buffer, unless it has no uses."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.EmptyOp, rewriter: PatternRewriter) -> None:
        """Allocate a buffer if the tensor has uses."""
        if op.tensor.uses:
            self.buffers.define_own(op.tensor, op)


@dataclass(frozen=True)
class SplatBufferize(RewritePattern):
    """`tensor.splat` → `linalg.fill`."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.SplatOp, rewriter: PatternRewriter) -> None:
        """Fill a new buffer."""
        insert(FillOp([op.input], [self.buffers.define_own(op.result, op)], []), op)


@dataclass(frozen=True)
class FromElementsBufferize(RewritePattern):
    """`tensor.from_elements` → a `memref.store` for each element."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.FromElementsOp, rewriter: PatternRewriter) -> None:
        """Store all elements in a new buffer."""
        _store_all(list(op.elements), op, self.buffers)


@dataclass(frozen=True)
class ConstantBufferize(RewritePattern):
    """`arith.constant dense<…>` → `linalg.fill`, or a `memref.store` for each of a few elements."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
        """Fill a new buffer with one value, or store up to `MAX_STORED_ELEMS` elements."""
        if not is_tensor(op.result):
            return
        dense = cast("DenseIntOrFPElementsAttr[IntegerType]", op.value)
        attributes = list(dense.get_attrs())
        if len(set(attributes)) == 1:
            (value,) = insert(arith.ConstantOp(attributes[0]), op)
            insert(FillOp([value], [self.buffers.define_own(op.result, op)], []), op)
            return
        if len(attributes) > MAX_STORED_ELEMS:
            raise StepwellError(
                "unsupported",
                op,
                f"a constant of {len(attributes)} elements inside a kernel (at most {MAX_STORED_ELEMS})",
                help="pass it to the kernel as an argument",
            )
        values = [insert(arith.ConstantOp(a), op)[0] for a in attributes]
        _store_all(values, op, self.buffers)


def _with_number(access: AccessT, op: tensor.ExtractOp | tensor.InsertOp) -> AccessT:
    """A load or store with the number that the access of the tensor has."""
    if (number := op.attributes.get(ACCESS)) is not None:
        access.attributes[ACCESS] = number
    return access


def _store_all(
    values: list[SSAValue], op: tensor.FromElementsOp | arith.ConstantOp, buffers: Buffers
) -> None:
    """Store row-major elements in a new buffer."""
    buffer = buffers.define_own(op.result, op)
    shape = tensor_of(op.result).get_shape()
    for position, value in enumerate(values):
        indices: list[SSAValue] = []
        for extent in reversed(shape):
            position, index = divmod(position, extent)
            indices += insert(arith.ConstantOp(IntegerAttr(index, IndexType())), op)
        insert(memref.StoreOp.get(value, buffer, indices[::-1]), op)
