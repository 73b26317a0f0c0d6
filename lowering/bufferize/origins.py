"""The origin of a tensor: the `tensor.empty` that it is computed in, and the reshapes on the way."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.accesses import previous, viewed
from stepwell.lowering.bufferize.index_forms import LOCAL, IndexForms
from stepwell.lowering.bufferize.shapes import extents_of


@dataclass(frozen=True)
class Origin:
    """A `tensor.empty`, and the reshapes between it and a value, from the value backward."""

    empty: tensor.EmptyOp
    reshapes: tuple[tensor.CollapseShapeOp | tensor.ExpandShapeOp, ...] = ()

    @staticmethod
    def of(value: SSAValue) -> Origin | None:
        """The origin of a value; None for another kind of start, and for a slice."""
        reshapes: list[tensor.CollapseShapeOp | tensor.ExpandShapeOp] = []
        while not isinstance(value.owner, tensor.EmptyOp):
            if isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
                reshapes.append(value.owner)
                value = value.owner.src
            elif viewed(value) is None and (before := previous(value)) is not None:
                value = before
            else:
                return None
        return Origin(value.owner, tuple(reshapes))

    def replace(self, whole: SSAValue, forms: IndexForms) -> bool:
        """
        Compute the value directly in `whole`, which is defined before the origin.

        ```mlir
        %e = tensor.empty() : tensor<2x16xf32>
        %p = linalg.generic … outs(%e)
        %v = tensor.collapse_shape %p [[0, 1]] : tensor<2x16xf32> into tensor<32xf32>
        // ->
        %e = tensor.expand_shape %whole [[0, 1]] output_shape [2, 16] : tensor<32xf32> into tensor<2x16xf32>
        ```
        Returns: whether it could be done.
        """
        for reshape in self.reshapes:
            if (undone := _undo(reshape, whole, self.empty, forms)) is None:
                return False
            whole = undone
        if whole.type != self.empty.tensor.type:
            return False
        Rewriter.replace_op(self.empty, [], [whole])
        return True


def _undo(
    reshape: tensor.CollapseShapeOp | tensor.ExpandShapeOp,
    value: SSAValue,
    before: Operation,
    forms: IndexForms,
) -> SSAValue | None:
    """
    `value`, of a reshape's result type, converted to the shape before the reshape; None when not possible.
    """
    type, builder = tensor_of(reshape.src), IRBuilder.before(before, symbols=forms.values)
    if value.type != reshape.result.type:
        return None
    if isinstance(reshape, tensor.ExpandShapeOp):
        op = tensor.CollapseShapeOp.build(
            operands=[value], properties={"reassociation": reshape.reassociation}, result_types=[type]
        )
    else:
        extents = extents_of(reshape.src, forms)
        if any(symbol.startswith(LOCAL) for extent in extents for symbol in extent.symbols()):
            return None
        pairs = zip(type.get_shape(), extents, strict=True)
        sizes = [builder.extent(extent) for n, extent in pairs if n == DYNAMIC_INDEX]
        shape = DenseArrayBase.from_list(i64, type.get_shape())
        op = tensor.ExpandShapeOp(value, sizes, reshape.reassociation, shape, type)
    op.location = reshape.location
    return builder.insert(op).result
