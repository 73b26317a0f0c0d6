"""`Scan` → `graph.for` with slices of the scanned inputs and stacked outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.dialects.types import Tensor, dims_of, tensor_of, tensor_type
from stepwell.lowering.onnx_to_graph.builder import builder
from stepwell.lowering.onnx_to_graph.control.loop_bodies import ConvertedBody, converted_body
from stepwell.lowering.onnx_to_graph.control.regions import RegionLowering, fresh_names
from stepwell.lowering.onnx_to_graph.control.stacking import Stacked
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal, extents
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, normalized_axis, rank_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

Emit = Callable[[Operation], SSAValue]


class ScanLowering(RegionLowering):
    """
    A loop over the scanned axis: inputs lose the axis, outputs gain one; direction 1 starts from the end.

    Below opset 9 all values have a leading batch axis, which becomes a loop around it; a sequence may be
    shorter than the axis, and the rest of its outputs is zeros.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ScanOp, rewriter: PatternRewriter) -> None:
        """Split operands into states and scanned inputs, normalize the axes and build the loop."""
        if onnx.opset_of(op) < 9:
            self._with_batch(op, rewriter)
            return
        states, inputs = _states_and_inputs(op)
        given = _numbers(op, "scan_input_axes", len(inputs))
        axes = [normalized_axis(a, rank_of(x, op), op) for a, x in zip(given, inputs, strict=True)]
        length = self._length(op, inputs, axes, rewriter)
        count = self._scalar_of(length, rewriter)
        loop = self._loop(op, states, inputs, axes, length, count, rewriter)
        if loop is not None:
            rewriter.replace(op, loop, loop.values)

    def _length(
        self, op: onnx.ScanOp, inputs: Sequence[SSAValue], axes: Sequence[int], rewriter: PatternRewriter
    ) -> Dim:
        """The common length of the scanned axes, checked at run time."""
        lengths = [dims_of(x.type)[axis] for x, axis in zip(inputs, axes, strict=True)]
        for other in lengths[1:]:
            assume_equal(op, lengths[0], other, "the scanned inputs have different lengths", rewriter)
        return lengths[0]

    def _scalar_of(self, length: Dim, rewriter: PatternRewriter) -> SSAValue:
        """A dimension as an i64 of rank 0."""
        return rewriter.insert(graph.ReshapeOp(extents([length], self, rewriter), [])).result

    def _loop(
        self,
        op: onnx.ScanOp,
        states: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        axes: Sequence[int],
        length: Dim,
        count: SSAValue,
        rewriter: PatternRewriter,
    ) -> graph.ForOp | None:
        """The loop, not inserted yet; None when operators without conversion are left."""
        # Body: one slice of each input per iteration
        slices = [_without(x, axis) for x, axis in zip(inputs, axes, strict=True)]
        types = [*(state.type for state in states), *slices]
        body = converted_body(self, op, types, states, carried_at=(0, 0), fixed=True)
        if body is None:
            return None
        self._take_slices(op, body, len(states), inputs, axes, count)
        # Outputs: each yielded value is a row of a tensor along its output axis
        yields = list(body.yields)[len(states) :]
        stacked = Stacked(self, op, body, rewriter)
        number = body.block.args[0]
        directions = _numbers(op, "scan_output_directions", len(yields))
        given = _numbers(op, "scan_output_axes", len(yields))
        collected: list[SSAValue] = []
        for index, (value, axis, backward) in enumerate(zip(yields, given, directions, strict=True)):
            at = self._backward(body, count, number) if backward else number
            axis = normalized_axis(axis, rank_of(value, op) + 1, op)
            position = 1 + len(states) + index
            collected.append(stacked.add(value, length, at, at=position, axis=axis))
        body.finish([*body.yields[: len(states)], *stacked.next_values])
        return graph.ForOp(count, [*states, *collected], body.region, body.carries, fresh_names(op))

    def _take_slices(
        self,
        op: onnx.ScanOp,
        body: ConvertedBody,
        states: int,
        inputs: Sequence[SSAValue],
        axes: Sequence[int],
        count: SSAValue,
    ) -> None:
        """Give the body an iteration number, by which it slices the scanned inputs itself."""
        block = body.block
        first = block.first_op
        assert first is not None
        number = block.insert_arg(INDEX_TYPE, 0)

        emit = builder(InsertPoint.before(first), op.location).value
        name = "directions" if onnx.opset_of(op) < 9 else "scan_input_directions"
        directions = _numbers(op, name, len(inputs))
        elements = list(block.args[1 + states : 1 + states + len(inputs)])
        for element, source, axis, backward in zip(elements, inputs, axes, directions, strict=True):
            at = _last_minus(number, count, emit, self) if backward else number
            element.replace_all_uses_with(emit(graph.GatherOp(source, at, axis)))
        for element in elements:
            block.erase_arg(element)

    def _backward(self, body: ConvertedBody, count: SSAValue, number: SSAValue) -> SSAValue:
        """The number of an iteration counted from the end, in the body."""
        return _last_minus(number, count, body.emit, self)

    def _with_batch(self, op: onnx.ScanOp, rewriter: PatternRewriter) -> None:
        """Below opset 9: a loop over the batch around the loop over the sequence."""
        states, inputs = _states_and_inputs(op)
        batch, length = dims_of(inputs[0].type)[:2]
        for other in inputs[1:]:
            assume_equal(op, length, dims_of(other.type)[1], "the sequences have different lengths", rewriter)
        # Outer body: the batch element's states and sequences
        whole = self._scalar_of(length, rewriter)
        region = Region(Block(arg_types=[INDEX_TYPE]))
        block, number = region.block, region.block.args[0]

        emit = builder(InsertPoint.at_end(block), op.location).value
        own = [emit(graph.GatherOp(value, number, 0)) for value in (*states, *inputs)]
        count = whole if op.sequence_lens is None else emit(graph.GatherOp(op.sequence_lens, number, 0))
        loop = self._loop(
            op, own[: len(states)], own[len(states) :], [0] * len(inputs), length, count, rewriter
        )
        if loop is None:
            region.block.erase(safe_erase=False)
            return
        # Results: stacked along the batch
        emit(loop)
        block.add_op(graph.YieldOp(loop.values))
        outer = ConvertedBody(region, [], op.location)
        stacked = Stacked(self, op, outer, rewriter)
        collected = [
            stacked.add(value, batch, number, at=1 + index) for index, value in enumerate(loop.values)
        ]
        outer.finish(stacked.next_values)
        new = graph.ForOp(self._scalar_of(batch, rewriter), collected, region, (), fresh_names(op))
        rewriter.replace(op, new, new.values)


def _states_and_inputs(op: onnx.ScanOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """The initial states and the scanned inputs. Raises: StepwellError `invalid-model` for no such number."""
    values, scanned = list(op.initial_state_and_scan_inputs), op.integer("num_scan_inputs")
    if not 1 <= scanned <= len(values):
        found = f"num_scan_inputs must be in 1..{len(values)}, found {scanned}"
        raise StepwellError("invalid-model", op, f"Scan: {found}")
    return values[:-scanned], values[-scanned:]


def _last_minus(number: SSAValue, count: SSAValue, emit: Emit, lowering: OnnxLowering) -> SSAValue:
    """The number of an iteration, counted from the end."""
    one = emit(graph.ConstantOp.of(np.array(1, np.int64), lowering.weights))
    return emit(graph.SubtractOp(emit(graph.SubtractOp(count, one)), number))


def _without(value: SSAValue, axis: int) -> Tensor:
    """The type of a tensor without an axis."""
    dims = dims_of(value.type)
    return tensor_type(tensor_of(value).element_type, [*dims[:axis], *dims[axis + 1 :]])


def _numbers(op: onnx.ScanOp, name: str, count: int) -> Sequence[int]:
    """An integer list attribute; zeros when it is missing."""
    return op.integers(name) if op.has(name) else [0] * count
