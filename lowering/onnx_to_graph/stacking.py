"""What a loop collects: a carried tensor that each iteration writes a row of, or joins a row to."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.onnx_to_graph.loop_bodies import ConvertedBody
from stepwell.lowering.onnx_to_graph.regions import RegionLowering
from stepwell.lowering.onnx_to_graph.support import emit
from stepwell.passes.graph.rename_symbols import defined_names
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class Stacked:
    """The collecting tensors of one loop; arguments of its body are added as they are needed."""

    def __init__(
        self, lowering: RegionLowering, op: onnx.OnnxOp, body: ConvertedBody, rewriter: PatternRewriter
    ):
        self._lowering, self._op, self._body, self._rewriter = lowering, op, body, rewriter
        self._inside = {*body.carries, *defined_names(body.region)}
        self._bound: dict[SSAValue, Dim] = {}
        self.next_values: list[SSAValue] = []
        """What the body hands on for each of them."""

    def add(self, value: SSAValue, rows: Dim, number: SSAValue, *, at: int, axis: int = 0) -> SSAValue:
        """
        Let a value of an iteration be row `number` of a tensor of `rows` rows along an axis.

        Args: `at` is the position of the body's new argument.
        Returns: the tensor before the loop, zeros.
        """
        dims = self._dims(value)
        initial = self._zeros(value, [*dims[:axis], rows, *dims[axis:]])
        carried = self._body.block.insert_arg(initial.type, at)
        row = self._body.emit(graph.ExpandDimsOp(value, [axis]))
        offsets = [self._offset(number) if i == axis else Dim.of(0) for i in range(len(dims) + 1)]
        self.next_values.append(self._body.emit(graph.InsertSliceOp(carried, row, offsets)))
        return initial

    def grow(self, value: SSAValue, *, at: int) -> SSAValue:
        """Let a value of an iteration be joined to a tensor as its last row; as `add`."""
        dims = self._dims(value)
        initial = self._zeros(value, [Dim.of(0), *dims])
        name = fresh_symbols(self._op, 1)[0]
        self._body.carries.append(name)
        block = self._body.block
        carried = block.insert_arg(tensor_type(tensor_of(value).element_type, [name, *dims]), at)
        block.insert_arg(IndexType(), len(block.args))
        row = self._body.emit(graph.ExpandDimsOp(value, [0]))
        self.next_values.append(self._body.emit(graph.ConcatOp([carried, row], 0)))
        return initial

    def _dims(self, value: SSAValue) -> tuple[Dim, ...]:
        """The dimensions of a row, which must be known before the loop. Raises: StepwellError."""
        dims = dims_of(tensor_of(value))
        if any(dim.is_unknown or dim.symbols() & self._inside for dim in dims):
            raise StepwellError(
                "unsupported",
                self._op,
                f"{self._op.op_type}: the size of what is collected is known only inside: {value.type}",
                help="give the model's inputs fixed shapes, for example with --input-shape",
            )
        return dims

    def _zeros(self, like: SSAValue, dims: list[Dim]) -> SSAValue:
        zero = self._lowering.scalar(0, tensor_of(like).element_type, self._rewriter)
        return emit(graph.FullOp(zero, dims), self._rewriter)

    def _offset(self, number: SSAValue) -> Dim:
        """The number of an iteration as a symbol, which the body defines."""
        if number not in self._bound:
            name = fresh_symbols(self._op, 1)[0]
            self._body.emit(graph.BindSizesOp(number, [name]))
            self._bound[number] = Dim.symbol(name)
        return self._bound[number]


def rows_of(lowering: RegionLowering, op: onnx.OnnxOp, count: SSAValue, rewriter: PatternRewriter) -> Dim:
    """A number of iterations as a dimension: a number, an expression, or a symbol for what is data."""
    dims = lowering.known_dims(count)
    if dims is not None and len(dims) == 1 and not dims[0].is_unknown:
        return dims[0].maximum(0)
    zero = lowering.scalar(0, i64, rewriter)
    name = fresh_symbols(op, 1)[0]
    rewriter.insert(graph.BindSizesOp(emit(graph.MaximumOp(count, zero), rewriter), [name]))
    return Dim.symbol(name)
