"""Gaps between the rows of a tensor in memory: results written to a slice of a tensor with longer rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size


@dataclass(frozen=True)
class Storage:
    """
    The memory of a structured op's only result: a `tensor.empty`, or a slice of a larger `tensor.empty`.

    ```mlir
    %w = tensor.empty() : tensor<64x52xf32>
    %e = tensor.extract_slice %w[0, 0] [64, 48] [1, 1] : tensor<64x52xf32> to tensor<64x48xf32>
    %c = linalg.generic … outs(%e : tensor<64x48xf32>) …
    ```
    """

    op: Operation
    empty: tensor.EmptyOp
    fill: linalg.FillOp | None
    """The op that gives the memory a number before the op adds to it."""

    @staticmethod
    def of(op: Operation) -> Storage | None:
        """The memory of an op's result; None for an op that computes in place of another tensor."""
        if not isinstance(op, linalg.GenericOp) or len(op.outputs) != 1:
            return None
        start = op.outputs[0].owner
        fill = start if isinstance(start, linalg.FillOp) else None
        start = start if fill is None else fill.outputs[0].owner
        if isinstance(start, tensor.ExtractSliceOp) and is_beginning(start):
            start = start.source.owner
        return Storage(op, start, fill) if isinstance(start, tensor.EmptyOp) else None

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents in memory; `DYNAMIC_INDEX` where they are known at run time."""
        return tensor_shape(self.empty.tensor)

    @property
    def widened(self) -> dict[int, int]:
        """The dimensions whose extent in memory is longer than the result's, with this extent."""
        shape = tensor_shape(self.op.results[0])
        return {
            axis: mine
            for axis, (mine, visible) in enumerate(zip(self.extents, shape, strict=True))
            if mine != visible
        }

    def stride(self, axis: int) -> int | None:
        """The elements from an index of a dimension to the next one; None where known at run time only."""
        found = 1
        for extent in self.extents[axis + 1 :]:
            if extent == DYNAMIC_INDEX:
                return None
            found *= extent
        return found

    def widen(self, axis: int, extent: int) -> None:
        """Give a dimension another extent in memory, not below its own."""
        first = self.op if self.fill is None or self._is_shared(self.fill) else self.fill
        emit, value = IRBuilder.before(first), self.op.results[0]
        shape = tensor_shape(value)
        start: SSAValue = self.empty.tensor
        sizes = [dim_size(emit, start, d) if n == DYNAMIC_INDEX else n for d, n in enumerate(shape)]
        wide = [extent if d == axis else self.widened.get(d, size) for d, size in enumerate(sizes)]
        whole = emit.empty(tensor_element(value), wide)
        part = emit.value(tensor.ExtractSliceOp(whole, [0] * len(sizes), sizes, [1] * len(sizes), value.type))
        last = len(self.op.operands) - 1
        if self.fill is None:
            self.op.operands[last] = part
        elif first is self.fill:
            self.fill.operands[1] = part
        else:
            copy = emit.insert(self.fill.clone())
            copy.operands[1] = part
            self.op.operands[last] = copy.results[0]

    @staticmethod
    def _is_shared(fill: linalg.FillOp) -> bool:
        return not fill.results[0].has_one_use()


def is_beginning(op: tensor.ExtractSliceOp) -> bool:
    """Whether a slice has the rank of its source, begins with its first element, and leaves none out."""
    zeros = all(offset == 0 for offset in op.static_offsets.get_values())
    ones = all(stride == 1 for stride in op.static_strides.get_values())
    return zeros and ones and len(tensor_shape(op.source)) == len(tensor_shape(op.result))


def has_gaps(op: Operation) -> bool:
    """Whether the result of an op has gaps between its rows in memory."""
    start = op.operands[-1].owner if op.operands else None
    start = start.outputs[0].owner if isinstance(start, linalg.FillOp) else start
    if not isinstance(start, tensor.ExtractSliceOp):
        return False  # of nearly all ops
    found = Storage.of(op)
    return found is not None and bool(found.widened)


def gaps_read(values: Iterable[SSAValue]) -> bool:
    """Whether a tensor among others has gaps between its rows in memory."""
    return any(isinstance(value.owner, Operation) and has_gaps(value.owner) for value in values)
