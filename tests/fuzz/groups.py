"""Random groups of nodes that passes of level 1 look for: each with constants and neighbours that vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import helper

from tests.fuzz.builder import GraphBuilder, Refused, Value
from tests.fuzz.layers import is_image, weights, window
from tests.fuzz.operators import Adder, is_float, ranked

_BYTES = ("uint8", "int8")


def _scalar(g: GraphBuilder, number: float, dtype: str = "float32") -> Value:
    return g.constant(np.array(number, dtype))


def _f32(rank: int) -> Callable[[Value], bool]:
    return lambda v: v.dtype == "float32" and len(v.shape) == rank and v.array.size > 0


def _factor(g: GraphBuilder, value: Value, axis: int) -> Value:
    """A constant that broadcasts: one number, one for each index of an axis, or for each element."""
    rank = len(value.shape)
    along = [n if i == axis else 1 for i, n in enumerate(value.shape)]
    shape = g.choice([[], [1], along, along[axis:], list(value.shape[1:]), [1] * rank])
    numbers = g.choice([np.abs, np.negative, np.asarray])(g.rng.uniform(0.5, 2, shape))
    return g.constant(numbers.astype(value.dtype))


def around(g: GraphBuilder, axis: int = 1) -> None:
    """A few steps of arithmetic on the last value: sums, products, clips, activations."""
    for _ in range(g.integer(0, 3)):
        value = g.values[-1]
        match g.choice(["Add", "Mul", "Mul", "Sub", "Div", "Relu", "Clip", "Sigmoid", "LeakyRelu"]):
            case "Clip":
                g.node("Clip", [value, _scalar(g, -1, value.dtype), _scalar(g, 3, value.dtype)], exact=True)
            case "Relu" | "Sigmoid" | "LeakyRelu" as op:
                g.node(op, [value])
            case op:
                operands = [value, _factor(g, value, axis)]
                g.node(op, operands[::-1] if op in ("Add", "Mul") and g.chance(0.3) else operands)


def wide_conv(g: GraphBuilder) -> None:
    """A convolution to channels that fill blocks of vectors, or nearly; arithmetic before and after it."""
    value = g.pick(lambda v: is_image(v) and v.dtype == "float32")
    g.node("Identity", [value], exact=True)
    around(g)
    value = g.values[-1]
    attributes = window(g, value)
    channels = value.shape[1]
    groups = g.choice([n for n in (1, 1, 1, channels, 2) if channels % n == 0])
    filters = channels if groups == channels else groups * (g.choice([8, 12, 16, 20, 24, 32]) // groups)
    w = weights(g, "float32", filters, channels // groups, *attributes["kernel_shape"])
    bias = [weights(g, "float32", filters)] if g.chance(0.5) else []
    g.node("Conv", [value, g.constant((w.array / 4).astype(np.float32)), *bias], group=groups, **attributes)
    result = g.values[-1]
    around(g)
    if g.chance(0.3) and result.shape == value.shape:
        g.node("Add", [g.values[-1], value])


def excite(g: GraphBuilder) -> None:
    """Squeeze and excite: channels weighed by a function of their means."""
    value = g.pick(_f32(4))
    op = g.choice(["GlobalAveragePool", "GlobalMaxPool"])
    g.node(op, [value])
    g.node("Conv", [g.values[-1], weights(g, "float32", value.shape[1], value.shape[1], 1, 1)])
    g.node(g.choice(["Sigmoid", "HardSigmoid", "Tanh"]), [g.values[-1]])
    g.node("Mul", [value, g.values[-1]] if g.chance(0.5) else [g.values[-1], value])


def shuffle(g: GraphBuilder) -> None:
    """Channels in another order, by views and a transpose."""
    value = g.pick(lambda v: _f32(4)(v) and v.shape[1] % 2 == 0)
    n, c, h, w = value.shape
    g.node("Reshape", [value, g.ints(n, 2, c // 2, h, w)], exact=True)
    g.node("Transpose", [g.values[-1]], exact=True, perm=[0, 2, 1, 3, 4])
    g.node("Reshape", [g.values[-1], g.ints(n, -1, h, w)], exact=True)


def channels_last(g: GraphBuilder) -> None:
    """Arithmetic between two transposes, which may undo each other."""
    value = g.pick(_f32(4))
    g.node("Transpose", [value], exact=True, perm=[0, 2, 3, 1])
    around(g, axis=3)
    perm = g.choice([[0, 3, 1, 2], [0, 3, 1, 2], [0, 3, 2, 1], [0, 1, 3, 2]])
    g.node("Transpose", [g.values[-1]], exact=True, perm=perm)


def any_resize(g: GraphBuilder) -> None:
    """All modes and coordinates, regions, extrapolation."""
    value = g.pick(lambda v: is_image(v) and v.dtype in ("float32", *_BYTES))
    _resize(g, value, g.choice(["nearest", "linear", "cubic"]))


def _resize(g: GraphBuilder, value: Value, mode: str) -> None:
    rank = len(value.shape)
    how = g.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize"])
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": how}
    if mode == "nearest":
        kinds = ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]
        attributes["nearest_mode"] = g.choice(kinds)
    # A single result is at 0 in the specification and in ONNX Runtime, at -0.5 in the reference.
    least = 2 if how == "pytorch_half_pixel" else 1
    sizes = g.ints(*value.shape[:2], *(g.integer(least, max(least, 2 * n)) for n in value.shape[2:]))
    roi = None
    if how == "tf_crop_and_resize":
        ends = [1.0, 1.0, *(g.choice([0.5, 1.0, 1.5]) for _ in value.shape[2:])]
        roi = g.constant(np.array([0.0] * rank + ends, np.float32))
        attributes["extrapolation_value"] = g.choice([0.0, 2.0])
    g.node("Resize", [value, roi, None, sizes], exact=mode == "nearest", **attributes)


def requantized(g: GraphBuilder) -> None:
    """Ops between a dequantize and a quantize, by equal scales or others, of numbers that nothing rounds."""
    value = g.pick(lambda v: v.exact and v.array.size > 0 and v.dtype in ("float32", *_BYTES))
    if value.dtype == "float32":
        zero = g.constant(np.array(g.integer(0, 5), g.choice(_BYTES)))
        g.node("QuantizeLinear", [value, _scalar(g, 0.0625), zero], exact=True)
        value = g.values[-1]
    dtype = "float16" if g.opset >= 19 and g.chance(0.2) else "float32"
    scale = g.constant(np.array(g.choice([0.5, 0.25, 0.0625, -0.5]), dtype))
    zero = g.constant(np.array(g.choice([0, 0, 3, np.iinfo(value.dtype).min]), value.dtype))
    g.node("DequantizeLinear", [value, scale, zero], exact=True)
    for _ in range(g.integer(1, 3)):
        _step_on_numbers(g, g.values[-1], scale, zero, value.dtype)
    if g.chance(0.5):
        scale = g.constant(np.array(g.choice([0.5, 1.0, 0.125, -0.25]), dtype))
    result = g.values[-1]
    if not result.exact or result.dtype != dtype:
        raise Refused
    g.node("QuantizeLinear", [result, scale, zero], exact=True)


def _step_on_numbers(g: GraphBuilder, value: Value, scale: Value, zero: Value, bytes_type: str) -> None:
    """One op on numbers that were dequantized."""
    rank = len(value.shape)
    steps: list[str] = ["Relu", "Clip", "Add", "Neg"]
    steps += ["Transpose", "Concat", "Slice", "Gather", "Tile", "Pad", "Reshape"] if ranked(value) else []
    steps += ["MaxPool", "Resize", "Conv"] if is_image(value) and rank == 4 else []
    steps += ["MatMul"] if rank == 2 else []
    match g.choice(steps):
        case "Clip":
            bounds = g.choice([-1, 0, 0.3]), g.choice([1.3, 6])
            g.node("Clip", [value, *(g.constant(np.array(n, value.dtype)) for n in bounds)], exact=True)
        case "Add":
            other = g.choice([value, g.constant(np.array(g.choice([1.5, -2]), value.dtype))])
            g.node("Add", [value, other], exact=True)
        case "Transpose":
            g.node("Transpose", [value], exact=True, perm=[int(n) for n in g.rng.permutation(rank)])
        case "Concat":
            g.node("DequantizeLinear", [g.constant(g.draw(bytes_type, value.shape)), scale, zero], exact=True)
            g.node("Concat", [value, g.values[-1]], exact=True, axis=rank - 1)
        case "Slice":
            g.node("Slice", [value, g.ints(0), g.ints(max(1, value.shape[-1] - 1)), g.ints(-1)], exact=True)
        case "Gather":
            g.node("Gather", [value, g.ints(0, -1)], exact=True, axis=g.integer(0, rank - 1))
        case "Tile":
            g.node("Tile", [value, g.ints(*[2, *[1] * (rank - 1)])], exact=True)
        case "Pad":
            fill = g.choice([None, g.constant(np.array(g.choice([0.5, 0.3, -4]), value.dtype))])
            pads = g.ints(*(g.integer(0, 1) for _ in range(2 * rank)))
            g.node("Pad", [value, pads, fill], exact=True, mode=g.choice(["constant", "edge"]))
        case "Reshape":
            g.node("Reshape", [value, g.ints(-1)], exact=True)
        case "MaxPool":
            attributes = window(g, value)
            attributes.pop("auto_pad", None)
            if "pads" in attributes:  # as in `layers.pool`
                attributes["pads"] = attributes["pads"][:2] * 2
            g.node("MaxPool", [value], exact=True, **attributes)
        case "Resize":
            _resize(g, value, "nearest")
        case "Conv" | "MatMul" as op:
            filters = [4, value.shape[1], 1, 1] if op == "Conv" else [value.shape[1], 3]
            numbers = g.constant(g.rng.integers(-3, 4, filters).astype(np.int8))
            g.node("DequantizeLinear", [numbers, g.constant(np.array(0.5, value.dtype))], exact=True)
            g.node(op, [value, g.values[-1]], exact=True)
        case op:
            g.node(op, [value], exact=True)


def spelled_softmax(g: GraphBuilder) -> None:
    """Exponentials over their sum, with or without the maximum, and a logarithm of it."""
    value = g.pick(lambda v: v.dtype == "float32" and ranked(v))
    axis = g.integer(0, len(value.shape) - 1)
    if g.chance(0.7):
        _reduced(g, "ReduceMax", value, axis, since=18)
        g.node("Sub", [value, g.values[-1]])
    else:
        g.node("Identity", [value], exact=True)
    g.node("Exp", [g.values[-1]])
    exponentials = g.values[-1]
    _reduced(g, "ReduceSum", exponentials, axis, since=13)
    g.node("Div", [exponentials, g.values[-1]])
    if g.chance(0.3):
        g.node("Log", [g.values[-1]])


def _reduced(g: GraphBuilder, op: str, value: Value, axis: int, *, since: int) -> None:
    """A reduction that keeps its axis, which is an operand from some opset on."""
    if g.opset >= since:
        g.node(op, [value, g.ints(axis)], keepdims=1)
    else:
        g.node(op, [value], keepdims=1, axes=[axis])


def spelled_norm(g: GraphBuilder) -> None:
    """A normalization of rows as exporters write it: mean and variance, or mean square; scale and offset."""
    value = g.pick(lambda v: v.dtype == "float32" and ranked(v) and v.shape[-1] > 2)
    axis = len(value.shape) - 1
    centred = value
    if g.chance(0.6):
        _reduced(g, "ReduceMean", value, axis, since=18)
        g.node("Sub", [value, g.values[-1]])
        centred = g.values[-1]
    square = g.choice(["Mul", "Pow"])
    g.node(square, [centred, centred if square == "Mul" else _scalar(g, 2)])
    _reduced(g, "ReduceMean", g.values[-1], axis, since=18)
    g.node("Add", [g.values[-1], _scalar(g, 0.01)])
    g.node("Sqrt", [g.values[-1]])
    if g.chance(0.5):
        g.node("Div", [centred, g.values[-1]])
    else:
        g.node("Reciprocal", [g.values[-1]])
        g.node("Mul", [centred, g.values[-1]])
    around(g, axis)


def spelled_gelu(g: GraphBuilder) -> None:
    """x / 2 · (1 + erf(x / √2)), or nearly."""
    value = g.pick(lambda v: v.dtype == "float32")
    g.node("Div", [value, _scalar(g, g.choice([2**0.5, 2**0.5, 1.5]))])
    g.node("Erf", [g.values[-1]], precision="float32")
    g.node("Add", [g.values[-1], _scalar(g, 1)])
    g.node("Mul", [value, g.values[-1]])
    g.node("Mul", [g.values[-1], _scalar(g, g.choice([0.5, 0.5, 0.25]))])


def spelled_attention(g: GraphBuilder) -> None:
    """softmax(q kᵀ · scale + mask) v, of a few queries and of many."""
    value = g.pick(_f32(3))
    batch, queries, depth = value.shape
    keys = g.integer(2, 48)
    k, v = weights(g, "float32", batch, keys, depth), weights(g, "float32", batch, keys, g.integer(1, 20))
    g.node("Transpose", [k], exact=True, perm=[0, 2, 1])
    g.node("MatMul", [value, g.values[-1]])
    if g.chance(0.7):
        g.node(g.choice(["Mul", "Div"]), [g.values[-1], _scalar(g, g.choice([0.125, 2.0]))])
    if g.chance(0.5):
        shape = g.choice([[keys], [queries, keys], [batch, 1, keys], []])
        g.node("Add", [g.values[-1], g.constant(g.draw("float32", shape))])
    g.node("Softmax", [g.values[-1]], axis=2 if g.chance(0.9) else 1)
    g.node("MatMul", [g.values[-1], v])


def heads(g: GraphBuilder) -> None:
    """A dimension split into heads, which move before another, and back."""
    value = g.pick(lambda v: is_float(v) and len(v.shape) == 3 and v.shape[2] % 2 == 0)
    batch, rows, width = value.shape
    g.node("Reshape", [value, g.ints(batch, rows, 2, width // 2)], exact=True)
    g.node("Transpose", [g.values[-1]], exact=True, perm=g.choice([[0, 2, 1, 3], [0, 2, 3, 1]]))
    around(g)
    g.node("Transpose", [g.values[-1]], exact=True, perm=g.choice([[0, 2, 1, 3], [0, 3, 1, 2]]))
    g.node("Reshape", [g.values[-1], g.ints(batch, -1, width)], exact=True)


def branches(g: GraphBuilder) -> None:
    """Products, or convolutions, of one value with the same steps after all of them, or nearly."""
    value = g.pick(lambda v: _f32(2)(v) or _f32(3)(v) or _f32(4)(v))
    is_conv = len(value.shape) == 4
    steps = g.integer(0, 2)
    ops = [g.choice(["Relu", "Tanh", "Add", "Mul", "Clip"]) for _ in range(steps)]
    for _ in range(g.integer(3, 4)):
        width = g.integer(1, 5)
        if is_conv:
            g.node("Conv", [value, weights(g, "float32", width, value.shape[1], 1, 1)])
        else:
            g.node("MatMul", [value, weights(g, "float32", value.shape[-1], width)])
        for op in ops:
            last = g.values[-1]
            if op in ("Add", "Mul"):
                g.node(op, [last, _factor(g, last, 1 if is_conv else len(last.shape) - 1)])
            else:
                g.node(op, [last])


def casts(g: GraphBuilder) -> None:
    """Two or three casts in a row, between types of all widths."""
    value = g.pick(lambda v: v.exact and v.array.size > 0 and bool((v.array >= 0).all()))
    for _ in range(g.integer(2, 3)):
        dtype = np.dtype(
            g.choice(["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"])
        )
        g.node("Cast", [value], exact=True, to=helper.np_dtype_to_tensor_dtype(dtype))
        value = g.values[-1]


def first_of_top(g: GraphBuilder) -> None:
    """The first of the greatest elements."""
    value = g.pick(lambda v: v.exact and v.dtype == "float32" and ranked(v) and v.shape[-1] > 2)
    if any(len(set(row.tolist())) < row.size for row in value.array.reshape(-1, value.shape[-1])):
        raise Refused
    k = g.integer(2, value.shape[-1])
    g.node("TopK", [value, g.ints(k)], exact=True, outputs=2, axis=-1, largest=1, sorted=1)
    for part in g.values[-2:] if g.chance(0.5) else g.values[-2:-1]:
        g.node("Slice", [part, g.ints(0), g.ints(g.integer(1, k)), g.ints(-1)], exact=True)


def padded(g: GraphBuilder) -> None:
    """A window op after a pad."""
    value = g.pick(_f32(4))
    fill = g.choice([None, _scalar(g, 0), _scalar(g, -50), _scalar(g, 1)])
    pads = [0, 0, *(g.integer(0, 1) for _ in range(2))] * 2
    g.node("Pad", [value, g.ints(*pads), fill], exact=True, mode="constant")
    value = g.values[-1]
    match g.integer(0, 2):
        case 0:
            g.node("Conv", [value, weights(g, "float32", 8, value.shape[1], 2, 2)], kernel_shape=[2, 2])
        case 1:
            g.node("MaxPool", [value], exact=True, kernel_shape=[2, 2], strides=[g.integer(1, 2)] * 2)
        case _:
            pads = g.choice([[0] * 4, [1] * 4])
            count = g.integer(0, 1)
            g.node("AveragePool", [value], kernel_shape=[2, 2], pads=pads, count_include_pad=count)


def joins(g: GraphBuilder) -> None:
    """Parts of a value, with steps on each, joined again, and cut again."""
    value = g.pick(lambda v: v.dtype == "float32" and ranked(v) and max(v.shape) > 1)
    axis = g.choice([i for i, n in enumerate(value.shape) if n > 1])
    cut = g.integer(1, value.shape[axis] - 1)
    parts: list[Value] = []
    for start, end in ((0, cut), (cut, value.shape[axis])):
        g.node("Slice", [value, g.ints(start), g.ints(end), g.ints(axis)], exact=True)
        if g.chance(0.6):
            around(g, axis)
        parts.append(g.values[-1])
    g.node("Concat", parts[:: g.choice([1, -1])], exact=True, axis=axis)
    last = g.values[-1].shape[axis]
    if g.chance(0.5) and last > 1:
        bounds = (g.ints(1), g.ints(last), g.ints(axis), g.ints(g.integer(1, 2)))
        g.node("Slice", [g.values[-1], *bounds], exact=True)


def wide_transpose(g: GraphBuilder) -> None:
    """A transposed convolution with groups, pads and a larger result, on many channels."""
    value = g.pick(_f32(4))
    groups = g.choice([n for n in (1, 1, 2) if value.shape[1] % n == 0])
    kernel, stride = g.integer(1, 4), g.integer(1, 3)
    w = weights(g, "float32", value.shape[1], g.choice([4, 8]), kernel, kernel)
    pads = [g.integer(0, kernel - 1) for _ in range(4)]
    more = [g.integer(0, stride - 1)] * 2
    g.node("ConvTranspose", [value, w], group=groups, strides=[stride] * 2, pads=pads, output_padding=more)
    around(g)


GROUPS: Mapping[Adder, float] = {
    wide_conv: 4,
    excite: 1,
    shuffle: 1,
    channels_last: 1.5,
    any_resize: 1,
    requantized: 4,
    spelled_softmax: 1,
    spelled_norm: 1.5,
    spelled_gelu: 0.7,
    spelled_attention: 1.5,
    heads: 1,
    branches: 1.5,
    casts: 1,
    first_of_top: 0.7,
    padded: 1,
    joins: 1.5,
    wide_transpose: 0.7,
}
"""How often each is tried."""
