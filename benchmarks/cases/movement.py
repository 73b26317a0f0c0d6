"""Kernels that are judged by the bytes they move: row-wise ops, elementwise functions, data movement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from benchmarks.cases.kernels import Case, node

_SMALL, _LARGE = [192, 256], [4096, 1024]  # 2 x 192 KiB stay in L2, 2 x 16 MiB do not


def _case(
    text: str,
    shape: Sequence[int],
    nodes: Sequence[onnx.NodeProto],
    other: Sequence[int] = (),
    /,
    **held: object,
) -> Case:
    """
    A case of an input or two. Args: `held` are constants: numbers, or shapes of weights for names with `w`
    first.
    """
    weights = {
        name: list(value) for name, value in held.items() if name[0] == "w" and isinstance(value, list)
    }
    constants = {name: np.asarray(value) for name, value in held.items() if name not in weights}
    inputs = {"x": shape} | ({"z": other} if other else {})
    return Case(f"{text} {'x'.join(map(str, shape))}", nodes, inputs, weights, constants)


def _reduction(kind: str, shape: Sequence[int], axes: Sequence[int]) -> Case:
    return _case(f"{kind} over {axes}", shape, [node(f"Reduce{kind}", "x a", keepdims=0)], a=np.array(axes))


def _norm(op: str, shape: Sequence[int], weights: str, channels: int, **attributes: object) -> Case:
    held = {name: [channels] for name in weights.split()}
    return _case(op, shape, [node(op, f"x {weights}", **attributes)], **held)


def _unary(op: str, **attributes: object) -> list[Case]:
    return [_case(op, shape, [node(op, "x", **attributes)]) for shape in (_SMALL, _LARGE)]


def _binary(op: str, shape: Sequence[int], other: Sequence[int]) -> Case:
    return _case(f"{op} {'x'.join(map(str, other))} to", shape, [node(op, "x z")], other)


def _transpose(shape: Sequence[int], perm: Sequence[int]) -> Case:
    return _case(f"transpose {list(perm)} of", shape, [node("Transpose", "x", perm=list(perm))])


def _resize(mode: str, shape: Sequence[int], scale: float, place: str) -> Case:
    scales = np.array([1, 1, scale, scale], np.float32)
    resize = node("Resize", "x  s", mode=mode, coordinate_transformation_mode=place, nearest_mode="floor")
    return _case(f"resize {mode} by {scale}, {place},", shape, [resize], s=scales)


def _pad(mode: str, shape: Sequence[int], pads: Sequence[int]) -> Case:
    return _case(f"pad {mode}", shape, [node("Pad", "x p", mode=mode)], p=np.array([*pads, *pads]))


def _slice(shape: Sequence[int], start: int, end: int, axis: int, step: int) -> Case:
    held = {name: np.array([v]) for name, v in (("s", start), ("e", end), ("a", axis), ("t", step))}
    return _case(f"slice axis {axis} step {step} of", shape, [node("Slice", "x s e a t")], **held)


def _gather(shape: Sequence[int], axis: int, count: int) -> Case:
    indices = np.random.default_rng(0).integers(0, shape[axis], count)
    return _case(f"gather {count} axis {axis} of", shape, [node("Gather", "x i", axis=axis)], i=indices)


ROWS: tuple[Case, ...] = (
    *(_case("softmax", s, [node("Softmax", "x", axis=-1)]) for s in ([1536, 128], [512, 1024], [64, 32000])),
    _case("softmax axis 1 of", [1, 21, 128, 128], [node("Softmax", "x", axis=1)]),
    _case("log-softmax", [512, 1024], [node("LogSoftmax", "x", axis=-1)]),
    _norm("LayerNormalization", [128, 768], "wg wb", 768),
    _norm("LayerNormalization", [2048, 1024], "wg wb", 1024),
    _norm("RMSNormalization", [128, 768], "wg", 768),
    _norm("InstanceNormalization", [1, 64, 56, 56], "wg wb", 64),
    _norm("GroupNormalization", [1, 64, 56, 56], "wg wb", 64, num_groups=8),
    _norm("BatchNormalization", [1, 64, 56, 56], "wg wb wm wv", 64),
    *(
        _reduction(kind, [64, 128, 256], axes)
        for kind in ("Sum", "Max")
        for axes in ([0], [1], [2], [0, 1, 2])
    ),
    _reduction("Mean", [1, 512, 28, 28], [2, 3]),
    _reduction("L2", [2048, 512], [1]),
    _case("argmax last of", [512, 1024], [node("ArgMax", "x", axis=1)]),
    _case("argmax first of", [512, 1024], [node("ArgMax", "x", axis=0)]),
    _case("topk 5", [512, 1000], [node("TopK", "x k -> y i", axis=1)], k=np.array([5])),
    _case("topk 50", [16, 32000], [node("TopK", "x k -> y i", axis=1)], k=np.array([50])),
    _case("cumsum last of", [512, 1024], [node("CumSum", "x a")], a=np.array(1)),
    _case("cumsum first of", [512, 1024], [node("CumSum", "x a")], a=np.array(0)),
    _case(
        "maxpool 3x3/2",
        [1, 64, 112, 112],
        [node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)],
    ),
    _case("maxpool 2x2/2", [1, 64, 112, 112], [node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])]),
    _case("avgpool 3x3", [1, 64, 56, 56], [node("AveragePool", "x", kernel_shape=[3, 3], pads=[1] * 4)]),
    _case("global avgpool", [1, 2048, 7, 7], [node("GlobalAveragePool", "x")]),
)
ELEMENTWISE: tuple[Case, ...] = (
    *_unary("Relu"),
    *_unary("Gelu"),
    *_unary("Gelu", approximate="tanh"),
    *(
        case
        for op in "Erf Tanh Exp Sigmoid Log Sqrt Sin Cos Softplus HardSwish Mish".split()
        for case in _unary(op)
    ),
    _case("Pow 2.5", _SMALL, [node("Pow", "x e")], e=np.float32(2.5)),
    _binary("Pow", _SMALL, _SMALL),
    _binary("Add", _SMALL, _SMALL),
    _binary("Add", _LARGE, _LARGE),
    _binary("Mul", [64, 3136], [64, 1]),
    _binary("Add", [3136, 64], [64]),
    _binary("Div", _LARGE, _LARGE),
    _case("Clip", _LARGE, [node("Clip", "x l h")], l=np.float32(0.2), h=np.float32(0.8)),
    _case("Cast to f16", _LARGE, [node("Cast", "x", to=onnx.TensorProto.FLOAT16)]),
    _case("Cast to i32", _LARGE, [node("Cast", "x", to=onnx.TensorProto.INT32)]),
    _case("Where", _LARGE, [node("Less", "x z -> c"), node("Where", "c x z")], _LARGE),
)
MOVEMENT: tuple[Case, ...] = (
    _transpose([256, 384], [1, 0]),
    _transpose([1024, 1024], [1, 0]),
    _transpose([4096, 1024], [1, 0]),
    _transpose([1000, 333], [1, 0]),
    _transpose([1, 64, 56, 56], [0, 2, 3, 1]),
    _transpose([1, 56, 56, 64], [0, 3, 1, 2]),
    _transpose([1, 3, 224, 224], [0, 2, 3, 1]),
    _transpose([1, 224, 224, 3], [0, 3, 1, 2]),
    _transpose([1, 128, 12, 64], [0, 2, 1, 3]),
    _transpose([1, 128, 12, 64], [0, 2, 3, 1]),
    _transpose([64, 96, 128], [2, 1, 0]),
    _transpose([64, 96, 128], [0, 2, 1]),
    _transpose([1, 4, 8, 16, 7, 16, 7], [0, 1, 3, 5, 2, 4, 6]),
    _case("concat axis 1 of 2", [1, 64, 56, 56], [node("Concat", "x z", axis=1)], [1, 64, 56, 56]),
    _case("concat last of 2", [3136, 64], [node("Concat", "x z", axis=1)], [3136, 64]),
    _case("concat last of 2", [3136, 24], [node("Concat", "x z", axis=1)], [3136, 17]),
    _slice([1, 128, 56, 56], 32, 96, 1, 1),
    _slice([1, 64, 112, 112], 0, 112, 2, 2),
    _slice([1, 64, 112, 112], 0, 112, 3, 2),
    _slice([1, 64, 112, 112], 111, -200, 3, -1),
    _slice([3136, 192], 64, 128, 1, 1),
    _gather([30000, 768], 0, 512),
    _gather([512, 1024], 1, 500),
    _pad("constant", [1, 64, 56, 56], [0, 0, 1, 1]),
    _pad("reflect", [1, 64, 56, 56], [0, 0, 1, 1]),
    _pad("edge", [1, 3, 224, 224], [0, 0, 3, 3]),
    _resize("nearest", [1, 64, 56, 56], 2, "asymmetric"),
    _resize("linear", [1, 64, 56, 56], 2, "half_pixel"),
    _resize("linear", [1, 64, 56, 56], 1.5, "align_corners"),
    _resize("cubic", [1, 3, 112, 112], 2, "half_pixel"),
    _case("depth-to-space", [1, 256, 56, 56], [node("DepthToSpace", "x", blocksize=2)]),
    _case("space-to-depth", [1, 64, 112, 112], [node("SpaceToDepth", "x", blocksize=2)]),
    _case("tile", [64, 3136], [node("Tile", "x r")], r=np.array([4, 1])),
    _case("expand", [3136, 1], [node("Expand", "x s")], s=np.array([3136, 256])),
    _case(
        "split",
        [3136, 192],
        [node("Split", "x -> a b c", axis=1, num_outputs=3), node("Mul", "a c -> d"), node("Add", "d b")],
    ),
    _case(
        "scatter rows",
        [4096, 256],
        [node("ScatterND", "x i w")],
        i=np.arange(0, 4096, 8)[:, None],
        w=[512, 256],
    ),
)
