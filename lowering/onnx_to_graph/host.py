"""What calls of the host share; ONNX operators on lists and optional values → `graph.host_call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType, UnrankedTensorType, f32, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.graph.host import is_opaque, numpy_call
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.lowering.onnx_to_graph.shape_values import block_owner
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    element_of,
    element_type,
    shape_of,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

STRING = onnx.StringType()
"""The element type of tensors of strings."""


def host_results(
    function: str,
    attributes: Mapping[str, object],
    operands: Sequence[SSAValue | None],
    types: Sequence[Attribute],
    rewriter: PatternRewriter,
    *,
    effect: bool = False,
) -> Sequence[SSAValue]:
    """Insert a call of a numpy meaning; unknown dimensions of its results become symbols that it defines."""
    unknown = sum(dim.is_unknown for type in types if not is_opaque(type) for dim in dims_of(type))
    names = fresh_symbols(block_owner(rewriter), unknown)
    rest = iter(names)

    def named(type: Attribute) -> Attribute:
        if is_opaque(type):
            return type
        dims = [Dim.symbol(next(rest)) if dim.is_unknown else dim for dim in dims_of(type)]
        return tensor_type(cast(Tensor, type).element_type, dims)

    result_types = [named(type) for type in types]
    call = numpy_call(function, attributes, operands, result_types, names, effect=effect)
    return rewriter.insert(call).values


def sized_strings(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """
    Strings whose unknown dimensions have names: compiled code cannot look at them, but at their positions.

    Without names nothing could reshape or slice what a call gives whose size depends on data.
    """
    dims = dims_of(value.type)
    if not any(dim.is_unknown for dim in dims):
        return value
    (places,) = host_results("host.positions", {}, [value], [tensor_type(i64, dims)], rewriter)
    result = tensor_type(STRING, dims_of(places.type))
    return host_results("host.take", {}, [value, places], [result], rewriter)[0]


def element_of_list(value: SSAValue, op: onnx.OnnxOp) -> Attribute:
    """The type of the elements of a list. Raises: StepwellError `invalid-model` for another value."""
    if not isinstance(value.type, onnx.SequenceType):
        raise StepwellError("invalid-model", op, f"{op.op_type} takes a sequence, found {value.type}")
    return value.type.element


def any_shape(type: Attribute) -> Attribute:
    """A tensor type without what is known of its dimensions but their number."""
    if not isinstance(type, TensorType):
        return type
    return tensor_type(cast(Tensor, type).element_type, ["?"] * len(dims_of(cast(Tensor, type))))


def common_type(types: Sequence[Attribute]) -> Attribute:
    """A type for values of several: tensors of another rank have none in common but the element type."""
    shapes = [any_shape(type) for type in types]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    return UnrankedTensorType(cast(Tensor, types[0]).element_type)


class HostLowering(OnnxLowering):
    """A pattern for what the host computes."""

    ON_HOST = True


class SequenceConstructLowering(HostLowering):
    """`SequenceConstruct`, `SequenceEmpty` → a list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.SequenceConstructOp | onnx.SequenceEmptyOp, rewriter: PatternRewriter
    ) -> None:
        if isinstance(op, onnx.SequenceEmptyOp):
            element = element_type(op.integer("dtype"), op) if op.has("dtype") else f32
            type: Attribute = UnrankedTensorType(element)
        else:
            type = common_type([value.type for value in op.inputs])
        result = onnx.SequenceType(type)
        made = host_results("host.sequence_construct", {}, list(op.operands), [result], rewriter)
        rewriter.replace(op, [], made)


class SequenceInsertLowering(HostLowering):
    """`SequenceInsert` → a longer list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceInsertOp, rewriter: PatternRewriter) -> None:
        element = element_of_list(op.input_sequence, op)
        result = onnx.SequenceType(common_type([element, op.tensor.type]))
        operands = [op.input_sequence, op.tensor, op.position]
        rewriter.replace(op, [], host_results("host.sequence_insert", {}, operands, [result], rewriter))


class SequenceEraseLowering(HostLowering):
    """`SequenceErase` → a shorter list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceEraseOp, rewriter: PatternRewriter) -> None:
        operands = [op.input_sequence, op.position]
        result = op.input_sequence.type
        rewriter.replace(op, [], host_results("host.sequence_erase", {}, operands, [result], rewriter))


class SequenceAtLowering(HostLowering):
    """`SequenceAt` → an element; a tensor of unknown rank stays a value of the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceAtOp, rewriter: PatternRewriter) -> None:
        result = any_shape(element_of_list(op.input_sequence, op))
        operands = [op.input_sequence, op.position]
        rewriter.replace(op, [], host_results("host.sequence_at", {}, operands, [result], rewriter))


class SequenceLengthLowering(HostLowering):
    """`SequenceLength` → a number."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceLengthOp, rewriter: PatternRewriter) -> None:
        result = tensor_type(i64, [])
        rewriter.replace(
            op, [], host_results("host.sequence_length", {}, [op.input_sequence], [result], rewriter)
        )


class SplitToSequenceLowering(HostLowering):
    """`SplitToSequence` → a list of pieces."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SplitToSequenceOp, rewriter: PatternRewriter) -> None:
        rank = len(shape_of(op.input, op))
        keeps = op.split is not None or not op.has("keepdims") or op.integer("keepdims") == 1
        piece = tensor_type(element_of(op.input), ["?"] * (rank if keeps else rank - 1))
        axis = op.integer("axis") if op.has("axis") else 0
        attributes = {"axis": axis, "keepdims": int(keeps)}
        made = host_results(
            "host.split_to_sequence",
            attributes,
            [op.input, op.split],
            [onnx.SequenceType(piece)],
            rewriter,
        )
        rewriter.replace(op, [], made)


class ConcatFromSequenceLowering(HostLowering):
    """`ConcatFromSequence` → one tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConcatFromSequenceOp, rewriter: PatternRewriter) -> None:
        element = element_of_list(op.input_sequence, op)
        stacks = op.has("new_axis") and op.integer("new_axis") == 1
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
        inner = op.type if op.input is None else op.input.type
        if inner is None:
            raise StepwellError("invalid-model", op, "Optional needs a value or a type")
        result = onnx.OptionalType(any_shape(inner))
        rewriter.replace(op, [], host_results("host.optional", {}, [op.input], [result], rewriter))


class OptionalHasElementLowering(HostLowering):
    """`OptionalHasElement` → whether there is a value; known for one that is no optional, and for none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OptionalHasElementOp, rewriter: PatternRewriter) -> None:
        if op.input is not None and isinstance(op.input.type, onnx.OptionalType):
            result = tensor_type(i1, [])
            made = host_results("host.optional_has_element", {}, [op.input], [result], rewriter)
            rewriter.replace(op, [], made)
        else:
            rewriter.replace(op, [], [self.scalar(op.input is not None, i1, rewriter)])


class OptionalGetElementLowering(HostLowering):
    """`OptionalGetElement` → the value; an error at run time when there is none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OptionalGetElementOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.input.type, onnx.OptionalType):
            rewriter.replace(op, [], [op.input])
            return
        result = any_shape(op.input.type.element)
        made = host_results("host.optional_get_element", {}, [op.input], [result], rewriter)
        rewriter.replace(op, [], made)


PATTERNS: list[type[OnnxLowering]] = [
    SequenceConstructLowering,
    SequenceInsertLowering,
    SequenceEraseLowering,
    SequenceAtLowering,
    SequenceLengthLowering,
    SplitToSequenceLowering,
    ConcatFromSequenceLowering,
    OptionalLowering,
    OptionalHasElementLowering,
    OptionalGetElementLowering,
]
