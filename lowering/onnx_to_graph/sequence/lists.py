"""ONNX operators on lists and optional values → `graph.host_call`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType, UnrankedTensorType, f32, i1, i64
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import (
    HostLowering,
    any_shape,
    common_type,
    element_of_list,
    host_results,
)
from stepwell.lowering.onnx_to_graph.support import element_of, element_type, shape_of
from stepwell.runtime.errors import StepwellError


class SequenceConstructLowering(HostLowering):
    """`SequenceConstruct`, `SequenceEmpty` → a list, by the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.SequenceConstructOp | onnx.SequenceEmptyOp, rewriter: PatternRewriter
    ) -> None:
        """Call `host.sequence_construct` on all operands, or on none for `SequenceEmpty`."""
        if isinstance(op, onnx.SequenceEmptyOp):
            element = element_type(op.integer("dtype"), op) if op.has("dtype") else f32
            type: Attribute = UnrankedTensorType(element)
        else:
            type = common_type([value.type for value in op.inputs])
        result = onnx.SequenceType(type)
        made = host_results("host.sequence_construct", {}, list(op.operands), [result], rewriter)
        rewriter.replace(op, [], made)


class SequenceInsertLowering(HostLowering):
    """`SequenceInsert` → a list with a tensor added, by the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceInsertOp, rewriter: PatternRewriter) -> None:
        """Call `host.sequence_insert`; the element type covers old and new elements."""
        element = element_of_list(op.input_sequence, op)
        result = onnx.SequenceType(common_type([element, op.tensor.type]))
        operands = [op.input_sequence, op.tensor, op.position]
        rewriter.replace(op, [], host_results("host.sequence_insert", {}, operands, [result], rewriter))


class SequenceEraseLowering(HostLowering):
    """`SequenceErase` → a list with an element removed, by the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceEraseOp, rewriter: PatternRewriter) -> None:
        """Call `host.sequence_erase`."""
        operands = [op.input_sequence, op.position]
        result = op.input_sequence.type
        rewriter.replace(op, [], host_results("host.sequence_erase", {}, operands, [result], rewriter))


class SequenceAtLowering(HostLowering):
    """`SequenceAt` → an element of a list; a tensor of unknown rank remains a host value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceAtOp, rewriter: PatternRewriter) -> None:
        """Call `host.sequence_at`; the element's sizes are data."""
        result = any_shape(element_of_list(op.input_sequence, op))
        operands = [op.input_sequence, op.position]
        rewriter.replace(op, [], host_results("host.sequence_at", {}, operands, [result], rewriter))


class SequenceLengthLowering(HostLowering):
    """`SequenceLength` → the number of elements of a list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceLengthOp, rewriter: PatternRewriter) -> None:
        """Call `host.sequence_length`."""
        result = tensor_type(i64, [])
        rewriter.replace(
            op, [], host_results("host.sequence_length", {}, [op.input_sequence], [result], rewriter)
        )


class SplitToSequenceLowering(HostLowering):
    """`SplitToSequence` → a list of pieces of a tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SplitToSequenceOp, rewriter: PatternRewriter) -> None:
        """Call `host.split_to_sequence`; without `keepdims` the pieces lose the axis."""
        rank = len(shape_of(op.input, op))
        keeps = op.split is not None or op.integer("keepdims") == 1
        piece = tensor_type(element_of(op.input), ["?"] * (rank if keeps else rank - 1))
        attributes = {"axis": op.integer("axis"), "keepdims": int(keeps)}
        made = host_results(
            "host.split_to_sequence", attributes, [op.input, op.split], [onnx.SequenceType(piece)], rewriter
        )
        rewriter.replace(op, [], made)


class ConcatFromSequenceLowering(HostLowering):
    """`ConcatFromSequence` → a tensor joined or stacked from a list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConcatFromSequenceOp, rewriter: PatternRewriter) -> None:
        """Call `host.concat_from_sequence`; with `new_axis` the rank grows by one."""
        element = element_of_list(op.input_sequence, op)
        stacks = op.integer("new_axis") == 1
        result: Attribute = element
        if isinstance(element, TensorType):
            tensor = cast(Tensor, element)
            result = tensor_type(tensor.element_type, ["?"] * (len(dims_of(tensor)) + stacks))
        attributes = {"axis": op.integer("axis"), "new_axis": int(stacks)}
        rewriter.replace(
            op,
            [],
            host_results("host.concat_from_sequence", attributes, [op.input_sequence], [result], rewriter),
        )


class OptionalLowering(HostLowering):
    """`Optional` → a value or none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OptionalOp, rewriter: PatternRewriter) -> None:
        """Call `host.optional` with or without a value."""
        inner = op.type if op.input is None else op.input.type
        if inner is None:
            raise StepwellError("invalid-model", op, "Optional needs a value or a type")
        result = onnx.OptionalType(any_shape(inner))
        rewriter.replace(op, [], host_results("host.optional", {}, [op.input], [result], rewriter))


class OptionalHasElementLowering(HostLowering):
    """
    `OptionalHasElement` → whether there is a value; constant for an absent input and for one that is no
    optional.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OptionalHasElementOp, rewriter: PatternRewriter) -> None:
        """Call `host.optional_has_element`, or emit a constant if the type decides."""
        if op.input is not None and isinstance(op.input.type, onnx.OptionalType):
            result = tensor_type(i1, [])
            made = host_results("host.optional_has_element", {}, [op.input], [result], rewriter)
            rewriter.replace(op, [], made)
        else:
            rewriter.replace(op, [], [self.scalar(op.input is not None, i1, rewriter)])


class OptionalGetElementLowering(HostLowering):
    """`OptionalGetElement` → the value; a run-time error if there is none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OptionalGetElementOp, rewriter: PatternRewriter) -> None:
        """Call `host.optional_get_element`; a value that is no optional is returned itself."""
        if not isinstance(op.input.type, onnx.OptionalType):
            rewriter.replace(op, [], [op.input])
            return
        result = any_shape(op.input.type.element)
        made = host_results("host.optional_get_element", {}, [op.input], [result], rewriter)
        rewriter.replace(op, [], made)
