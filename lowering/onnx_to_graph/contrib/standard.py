"""Operators of `com.microsoft` that are replaced by one or several operators of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import onnx
from stepwell.dialects.types import dtype_of, tensor_type
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning
from stepwell.lowering.onnx_to_graph.host_calls import STRING, host_results, sized_strings
from stepwell.lowering.onnx_to_graph.support import element_of

_OPSET = 19
"""The opset of the operators that are inserted."""
_WINDOW = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")
_CONV = (*_WINDOW, "group")


def standard(
    node: ContribNode,
    op_type: type[onnx.OnnxOp],
    operands: Sequence[SSAValue | None],
    names: Sequence[str] = (),
    **attributes: Attribute,
) -> SSAValue:
    """
    The first result of a new operator of ONNX, which its own pattern converts next.

    Args: `names` are the attributes that are copied from the node.
    """
    _, results = onnx.parameter_names(op_type)
    given = node.op.arguments.data
    op = op_type(
        operands=[*operands],
        result_types=[onnx.AnyType(), *[None] * (len(results) - 1)],
        properties={**{name: given[name] for name in names if name in given}, **attributes},
        attributes={onnx.OPSET: IntegerAttr(_OPSET, i64)},
    )
    return node.rewriter.insert(op).results[0]


def _activated(
    node: ContribNode, value: SSAValue, name: str, parameters: Sequence[float], like: SSAValue
) -> SSAValue:
    """
    A value after an activation by its name in fused operators; "" is none. `like` has its element type.

    Raises: StepwellError `unsupported` for an unknown name.
    """

    def simple(op_type: type[onnx.OnnxOp], *names: str) -> SSAValue:
        pairs = zip(names, parameters, strict=False)
        numbers: dict[str, Attribute] = {key: FloatAttr(number, f32) for key, number in pairs}
        return standard(node, op_type, [value], (), **numbers)

    match name:
        case "":
            return value
        case "Relu":
            return simple(onnx.ReluOp)
        case "Sigmoid":
            return simple(onnx.SigmoidOp)
        case "Tanh":
            return simple(onnx.TanhOp)
        case "Softplus":
            return simple(onnx.SoftplusOp)
        case "LeakyRelu":
            return simple(onnx.LeakyReluOp, "alpha")
        case "Elu":
            return simple(onnx.EluOp, "alpha")
        case "HardSigmoid":
            return simple(onnx.HardSigmoidOp, "alpha", "beta")
        case "Clip" if len(parameters) == 2:
            return standard(node, onnx.ClipOp, [value, *(node.like(like, bound) for bound in parameters)])
        case _:
            raise node.unsupported(f"activation {name} with {len(parameters)} parameters")


def _fused_conv(node: ContribNode) -> SSAValue:
    """activation(conv(X, W) + B + Z)"""
    x = node.input(0)
    value = standard(node, onnx.ConvOp, [x, node.input(1), node.optional(2)], _CONV)
    if (other := node.optional(3)) is not None:
        value = standard(node, onnx.AddOp, [value, other])
    parameters = node.list_of("activation_params") or []
    return _activated(node, value, node.text("activation", ""), parameters, x)


def _fused_gemm(node: ContribNode) -> SSAValue:
    """activation(alpha · A · B + beta · C)"""
    operands = [node.input(0), node.input(1), node.optional(2)]
    value = standard(node, onnx.GemmOp, operands, ("alpha", "beta", "transA", "transB"))
    given = [f"activation_{name}" for name in ("alpha", "beta", "gamma")]
    parameters = [node.number(name, 0) for name in given if name in node.op.arguments.data]
    return _activated(node, value, node.text("activation", ""), parameters, node.input(0))


def _channels_moved(node: ContribNode, value: SSAValue, rank: int, *, to_last: bool) -> SSAValue:
    """A value with its channels moved from axis 1 to the last axis, or back."""
    perm = [0, *range(2, rank), 1] if to_last else [0, rank - 1, *range(1, rank - 1)]
    return standard(node, onnx.TransposeOp, [value], perm=DenseArrayBase.from_list(i64, perm))


def _nhwc_max_pool(node: ContribNode) -> SSAValue:
    """`NhwcMaxPool`: ONNX's `MaxPool` between transposes."""
    x, rank = node.input(0), len(node.dims(node.input(0)))
    pool = standard(
        node, onnx.MaxPoolOp, [_channels_moved(node, x, rank, to_last=False)], (*_WINDOW, "ceil_mode")
    )
    return _channels_moved(node, pool, rank, to_last=True)


def _qlinear_conv(node: ContribNode) -> SSAValue:
    """ONNX's `QLinearConv`, between transposes if channels are last; filters are [M, C, …] in any case."""
    operands = [node.input(i) for i in range(8)]
    if not node.integer("channels_last", 0):
        return standard(node, onnx.QLinearConvOp, [*operands, node.optional(8)], _CONV)
    rank = len(node.dims(operands[0]))
    operands[0] = _channels_moved(node, operands[0], rank, to_last=False)
    value = standard(node, onnx.QLinearConvOp, [*operands, node.optional(8)], _CONV)
    return _channels_moved(node, value, rank, to_last=True)


def _qlinear_average_pool(node: ContribNode) -> SSAValue:
    """`QLinearAveragePool`: the average of the dequantized numbers, quantized again."""
    x, rank = node.input(0), len(node.dims(node.input(0)))
    value = standard(node, onnx.DequantizeLinearOp, [x, node.input(1), node.optional(2)])
    is_last = bool(node.integer("channels_last", 0))
    if is_last:
        value = _channels_moved(node, value, rank, to_last=False)
    names = (*_WINDOW, "ceil_mode", "count_include_pad")
    value = standard(node, onnx.AveragePoolOp, [value], names)
    if is_last:
        value = _channels_moved(node, value, rank, to_last=True)
    point = node.optional(4)
    if point is None:
        point = node.table(np.zeros((), dtype_of(element_of(x))))
    return standard(node, onnx.QuantizeLinearOp, [value, node.input(3), point])


def _expand_dims(node: ContribNode) -> SSAValue:
    """`ExpandDims`: ONNX's `Unsqueeze` at an axis of any integer type."""
    axes = standard(node, onnx.ReshapeOp, [node.input(1), node.table(np.array([1]))])
    axes = standard(node, onnx.CastOp, [axes], to=IntegerAttr(7, i64))
    return standard(node, onnx.UnsqueezeOp, [node.input(0), axes])


def _range(node: ContribNode) -> SSAValue:
    """`Range` with an optional step."""
    step = node.optional(2)
    if step is None:
        step = node.like(node.input(0), 1)
    return standard(node, onnx.RangeOp, [node.input(0), node.input(1), step])


def _inverse(node: ContribNode) -> Sequence[SSAValue]:
    """`Inverse` of matrices, by the host."""
    x = node.input(0)
    result = tensor_type(element_of(x), node.dims(x))
    return host_results("host.inverse", {}, [x], [result], node.rewriter)


def _tokenizer(node: ContribNode) -> SSAValue:
    """`Tokenizer`: strings → their parts; the greatest number of parts is known at run time only."""
    separators, pattern = node.texts("separators"), node.text("tokenexp", "")
    if bool(separators) == bool(pattern):
        raise node.invalid("either separators or tokenexp must be given")
    attributes = {
        "separators": separators,
        "tokenexp": pattern,
        "mincharnum": node.required("mincharnum"),
        "pad_value": node.text("pad_value", ""),
        "mark": node.required("mark"),
    }
    x = node.input(0)
    result = tensor_type(STRING, [*node.dims(x), "?"])
    (tokens,) = host_results("host.tokenizer", attributes, [x], [result], node.rewriter)
    return sized_strings(tokens, node.rewriter)


OPERATORS: Mapping[str, Meaning] = {
    "ExpandDims": _expand_dims,
    "FusedConv": _fused_conv,
    "FusedGemm": _fused_gemm,
    "GatherND": lambda node: standard(node, onnx.GatherNDOp, [node.input(0), node.input(1)]),
    "Inverse": _inverse,
    "NhwcMaxPool": _nhwc_max_pool,
    "Pad": lambda node: standard(
        node, onnx.PadOp, [node.input(0), node.input(1), node.optional(2), None], ("mode",)
    ),
    "QLinearAveragePool": _qlinear_average_pool,
    "QLinearConv": _qlinear_conv,
    "Range": _range,
    "Tokenizer": _tokenizer,
    "Trilu": lambda node: standard(node, onnx.TriluOp, [node.input(0), node.optional(1)], ("upper",)),
}
"""The operators of this file with their meanings."""

ON_HOST = frozenset({"Inverse", "Tokenizer"})
"""The operators that the host computes."""
