"""Host calls: their results, types of lists, and the base class of their patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType, UnrankedTensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import onnx
from stepwell.dialects.graph.host import is_opaque, numpy_call
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.lowering.onnx_to_graph.shape_values import block_owner
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
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
    Strings whose unknown dimensions get names: compiled code cannot use strings, but their positions.

    Without names, a result whose size depends on data could not be reshaped or sliced.
    """
    dims = dims_of(value.type)
    if not any(dim.is_unknown for dim in dims):
        return value
    (positions,) = host_results("host.positions", {}, [value], [tensor_type(i64, dims)], rewriter)
    result = tensor_type(STRING, dims_of(positions.type))
    return host_results("host.take", {}, [value, positions], [result], rewriter)[0]


def element_of_list(value: SSAValue, op: onnx.OnnxOp) -> Attribute:
    """The type of the elements of a list. Raises: StepwellError `invalid-model` for another value."""
    if not isinstance(value.type, onnx.SequenceType):
        raise StepwellError("invalid-model", op, f"{op.op_type} takes a sequence, found {value.type}")
    return value.type.element


def any_shape(type: Attribute) -> Attribute:
    """A tensor type with all dimensions unknown."""
    if not isinstance(type, TensorType):
        return type
    return tensor_type(cast(Tensor, type).element_type, ["?"] * len(dims_of(cast(Tensor, type))))


def common_type(types: Sequence[Attribute]) -> Attribute:
    """A type for values of several types: tensors of different rank only share the element type."""
    shapes = [any_shape(type) for type in types]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    return UnrankedTensorType(cast(Tensor, types[0]).element_type)


class HostLowering(OnnxLowering):
    """A pattern for an operator that the host computes."""

    ON_HOST = True
