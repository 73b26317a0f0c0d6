"""Contractions, windows, layouts and recurrent layers: lowered to `linalg`, they compute what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.recurrent import FUNCTIONS, GATES
from stepwell.runtime.layout import parse_layout, to_layout
from stepwell.runtime.meaning import Array
from tests.kernels import expect_lowering

RNG = np.random.default_rng(5)
# Sums of a few hundred terms in f32, in another order.
SUMS = 2e-5

Options: TypeAlias = Mapping[str, Any]
Shape: TypeAlias = tuple[int, ...]


def floats(*shape: int, dtype: Any = np.float32) -> npt.NDArray[Any]:
    """Random numbers, neither symmetric nor centred."""
    return RNG.uniform(-1, 2, shape).astype(dtype)


CONVS: list[tuple[Shape, Shape, Options]] = [
    ((2, 3, 9), (4, 3, 3), {}),
    ((2, 4, 9, 8), (6, 4, 3, 2), {"strides": [2, 1], "pads": [1, 0, 2, 1]}),
    ((1, 4, 9, 8), (6, 2, 3, 3), {"groups": 2, "dilations": [2, 1], "pads": [2, 1, 2, 1]}),
    ((1, 6, 7, 7), (12, 1, 3, 3), {"groups": 6, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 6, 7, 7), (6, 1, 3, 3), {"groups": 6, "pads": [1, 1, 1, 1]}),
    ((2, 2, 5, 6, 4), (3, 2, 2, 3, 1), {"strides": [1, 2, 3], "pads": [0, 1, 0, 1, 1, 0]}),
    ((1, 1, 4, 4), (1, 1, 1, 1), {}),
    ((0, 5, 4, 4), (7, 5, 1, 1), {}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "options"), CONVS)
def test_conv(x_shape: Shape, w_shape: Shape, options: Options) -> None:
    arrays = [floats(*x_shape), floats(*w_shape)]
    expect_lowering(lambda x, w: graph.ConvOp(x, w, **options), arrays, tolerance=SUMS)
    named = ["N", x_shape[1], "H", *x_shape[3:]]
    expect_lowering(lambda x, w: graph.ConvOp(x, w, **options), arrays, [named, None], tolerance=SUMS)


LAYOUTS: list[tuple[str, str, str, Options]] = [
    ("NCHW4c", "OIHW4i8o", "NCHW8c", {"pads": [1, 1, 1, 1]}),
    ("NCHW", "OIHW8o", "NCHW8c", {"strides": [2, 2], "pads": [1, 0, 1, 1]}),
    ("NCHW8c", "OIHW8i8o", "NCHW", {"dilations": [2, 1]}),
    ("NCHW8c", "OIHW", "NCHW8c", {}),
    ("NHWC", "HWIO", "NHWC", {"strides": [2, 1]}),
]


@pytest.mark.parametrize(("data", "kernel", "out", "options"), LAYOUTS)
def test_conv_layouts(data: str, kernel: str, out: str, options: Options) -> None:
    x = to_layout(floats(2, 16, 6, 5), parse_layout("NCHW"), parse_layout(data))
    w = to_layout(floats(8, 16, 3, 3), parse_layout("OIHW"), parse_layout(kernel))
    layouts = {"data_layout": data, "kernel_layout": kernel, "out_layout": out}
    expect_lowering(lambda a, b: graph.ConvOp(a, b, **layouts, **options), [x, w], tolerance=SUMS)


def test_conv_layouts_of_groups() -> None:
    x = to_layout(floats(2, 16, 6, 5), parse_layout("NCHW"), parse_layout("NCHW8c"))
    w = to_layout(floats(16, 1, 3, 3), parse_layout("OIHW"), parse_layout("OIHW8o"))
    options: Options = {
        "data_layout": "NCHW8c",
        "kernel_layout": "OIHW8o",
        "groups": 16,
        "pads": [1, 1, 1, 1],
    }
    expect_lowering(lambda a, b: graph.ConvOp(a, b, **options), [x, w], tolerance=SUMS)
    x, w = floats(2, 6, 5, 8), floats(3, 3, 4, 16)
    options = {"data_layout": "NHWC", "kernel_layout": "HWIO", "groups": 2}
    expect_lowering(lambda a, b: graph.ConvOp(a, b, **options), [x, w], tolerance=SUMS)


def test_conv_half() -> None:
    arrays = [floats(1, 3, 5, 5, dtype=np.float16), floats(2, 3, 3, 3, dtype=np.float16)]
    expect_lowering(lambda x, w: graph.ConvOp(x, w, pads=[1, 1, 1, 1]), arrays, tolerance=2e-3)


TRANSPOSED: list[tuple[Shape, Shape, Options]] = [
    ((2, 3, 5), (3, 4, 3), {}),
    ((1, 4, 5, 6), (4, 3, 3, 2), {"strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 2]}),
    ((1, 4, 5, 6), (4, 3, 3, 2), {"dilations": [2, 3], "groups": 2, "pads": [1, 1, 1, 1]}),
    ((1, 2, 5, 5), (2, 3, 2, 2), {"strides": [2, 2], "pads": [3, 2, 2, 3]}),
    ((1, 2, 5, 5), (2, 3, 2, 2), {"strides": [3, 2], "pads": [-1, -2, 0, -3]}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "options"), TRANSPOSED)
def test_conv_transpose(x_shape: Shape, w_shape: Shape, options: Options) -> None:
    arrays = [floats(*x_shape), floats(*w_shape)]
    expect_lowering(lambda x, w: graph.ConvTransposeOp(x, w, **options), arrays, tolerance=SUMS)
    named = ["N", x_shape[1], "H", *x_shape[3:]]
    expect_lowering(
        lambda x, w: graph.ConvTransposeOp(x, w, **options), arrays, [named, None], tolerance=SUMS
    )


MATMULS: list[tuple[Shape, Shape]] = [
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 1, 3, 4), (6, 4, 5)),
    ((6, 3, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((2, 3, 4), (4,)),
]


@pytest.mark.parametrize(("a_shape", "b_shape"), MATMULS)
def test_matmul(a_shape: Shape, b_shape: Shape) -> None:
    expect_lowering(lambda a, b: graph.MatmulOp(a, b), [floats(*a_shape), floats(*b_shape)], tolerance=SUMS)


def test_matmul_forms() -> None:
    turned = [floats(2, 4, 3), floats(5, 4)]
    expect_lowering(
        lambda a, b: graph.MatmulOp(a, b, transpose_a=True, transpose_b=True), turned, tolerance=SUMS
    )
    panels = [floats(2, 4, 3), floats(2, 3, 8)]
    names = [["N", "S", 3], None]
    expect_lowering(lambda a, b: graph.MatmulOp(a, b, packing=8), panels, names, tolerance=SUMS)
    half = [floats(3, 4, dtype=np.float16), floats(4, 5, dtype=np.float16)]
    expect_lowering(lambda a, b: graph.MatmulOp(a, b, out_type=f32), half, tolerance=SUMS)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_matmul_of_integers_wraps(dtype: Any) -> None:
    arrays = [RNG.integers(0, 127, (3, 40)).astype(dtype), RNG.integers(0, 127, (40, 5)).astype(dtype)]
    expect_lowering(lambda a, b: graph.MatmulOp(a, b), arrays)


@pytest.mark.parametrize("shapes", [((), (5,)), ((1,), (1, 5)), ((2, 3, 1), ())])
def test_matmul_integer(shapes: tuple[Shape, Shape]) -> None:
    a, b = RNG.integers(0, 256, (2, 3, 40)).astype(np.uint8), RNG.integers(-128, 128, (40, 5)).astype(np.int8)
    points = [RNG.integers(0, 256, shapes[0]), RNG.integers(-128, 128, shapes[1])]
    arrays: list[Array] = [a, b, np.asarray(points[0], np.uint8), np.asarray(points[1], np.int8)]
    expect_lowering(lambda *operands: graph.MatmulIntegerOp(*operands), arrays)


EINSUMS: list[tuple[str, list[Shape]]] = [
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bij,bjk->bik", [(2, 3, 4), (1, 4, 5)]),
    ("ij->", [(3, 4)]),
    ("ii->i", [(4, 4)]),
    ("ab,bc,cd->da", [(2, 3), (3, 4), (4, 5)]),
    ("bhqd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 3, 5)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EINSUMS)
def test_einsum(equation: str, shapes: list[Shape]) -> None:
    arrays = [floats(*shape) for shape in shapes]
    expect_lowering(lambda *operands: graph.EinsumOp(operands, equation), arrays, tolerance=SUMS)


def test_bias_add() -> None:
    expect_lowering(lambda x, b: graph.BiasAddOp(x, b), [floats(3, 4, 5), floats(4)])
    expect_lowering(lambda x, b: graph.BiasAddOp(x, b), [floats(3, 4, 5, 8), floats(4, 8)])


POOLS: list[tuple[Shape, Sequence[int], Options]] = [
    ((2, 3, 9), [3], {"strides": [2]}),
    ((1, 2, 7, 8), [3, 2], {"strides": [2, 3], "pads": [1, 1, 1, 0], "ceil": True}),
    ((1, 2, 9, 8), [2, 3], {"dilations": [3, 2], "pads": [0, 1, 1, 1]}),
    ((1, 2, 4, 5, 6), [2, 3, 2], {"strides": [2, 1, 1], "pads": [0, 1, 0, 1, 1, 1]}),
    ((1, 2, 8, 8), [3, 3], {"strides": [2, 2], "ceil": True}),
    ((2, 2, 3, 4, 4), [2, 2], {"data_layout": "NCHW4c", "pads": [1, 0, 1, 1]}),
]
KINDS: list[tuple[str, Options]] = [
    ("max", {}),
    ("max", {"indices": "row"}),
    ("max", {"indices": "column"}),
    ("avg", {}),
    ("avg", {"count_include_pad": True}),
    ("lp", {}),
    ("lp", {"p": 3}),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("shape", "kernel", "options"), POOLS)
@pytest.mark.parametrize(("kind", "more"), KINDS)
def test_pool(shape: Shape, kernel: Sequence[int], options: Options, kind: str, more: Options) -> None:
    def build(x: SSAValue) -> graph.PoolOp:
        return graph.PoolOp(x, kind, kernel, **options, **more)

    expect_lowering(build, [floats(*shape)], tolerance=SUMS)
    if "data_layout" not in options:
        expect_lowering(build, [floats(*shape)], [["N", shape[1], "H", *shape[3:]]], tolerance=SUMS)


def test_pool_of_nan_and_of_integers() -> None:
    x = np.where(RNG.random((1, 2, 7, 8)) < 0.7, np.nan, -np.inf).astype(np.float32)
    expect_lowering(lambda v: graph.PoolOp(v, "max", [3, 3], pads=[1, 1, 1, 1], indices="row"), [x])
    integers = RNG.integers(-128, 128, (1, 2, 7, 8)).astype(np.int8)
    expect_lowering(lambda v: graph.PoolOp(v, "max", [3, 3], pads=[1, 1, 1, 1]), [integers])


CHANGES = [
    ("NCHW", "NCHW4c", (2, 8, 3, 5)),
    ("NCHW", "NCHW4c", (2, 7, 3, 5)),
    ("NCHW4c", "NCHW", (2, 2, 3, 5, 4)),
    ("NCHW", "NHWC", (2, 7, 3, 5)),
    ("OIHW", "OIHW4i8o", (16, 8, 3, 2)),
    ("NHWC", "NCHW4c", (2, 3, 5, 8)),
    ("C", "C4c", (10,)),
]


@pytest.mark.parametrize(("source", "target", "shape"), CHANGES)
def test_layout_transform(source: str, target: str, shape: Shape) -> None:
    expect_lowering(lambda x: graph.LayoutTransformOp(x, source, target), [floats(*shape)])


STEPS, BATCH, WIDTH, HIDDEN = 5, 2, 3, 4
DEFAULTS = {"lstm": ["sigmoid", "tanh", "tanh"], "gru": ["sigmoid", "tanh"], "rnn": ["tanh"]}


def expect_rnn(
    cell: str,
    direction: str = "forward",
    *,
    full: bool = True,
    dynamic: bool = False,
    dtype: Any = np.float32,
    tolerance: float = SUMS,
    **options: Any,
) -> None:
    """Hold a lowered recurrent layer against its meaning; `full` gives it all operands that it can have."""
    count, gates = 2 if direction == "bidirectional" else 1, GATES[cell]
    names = ["bias", "lengths", "h0", *(["c0", "peepholes"] if cell == "lstm" else [])] if full else []
    packing = options.get("packing", 0)
    w, r = (
        floats(count, gates * HIDDEN, WIDTH, dtype=dtype),
        floats(count, gates * HIDDEN, HIDDEN, dtype=dtype),
    )
    operands: dict[str, Array] = {
        "bias": floats(count, 2 * gates * HIDDEN, dtype=dtype),
        "lengths": np.array([3, 5], np.int32),
        "h0": floats(count, BATCH, HIDDEN, dtype=dtype),
        "c0": floats(count, BATCH, HIDDEN, dtype=dtype),
        "peepholes": floats(count, 3 * HIDDEN, dtype=dtype),
    }
    if packing:
        w, r = (
            np.ascontiguousarray(v.reshape(count, -1, packing, v.shape[2]).swapaxes(2, 3)) for v in (w, r)
        )
    arrays = [floats(STEPS, BATCH, WIDTH, dtype=dtype), w, r, *(operands[name] for name in names)]
    symbolic = {"lengths": ["N"], "h0": [count, "N", HIDDEN], "c0": [count, "N", HIDDEN]}
    dims = [["T", "N", WIDTH], None, None, *(symbolic.get(name) for name in names)] if dynamic else None
    functions = options.pop("activations", None) or DEFAULTS[cell] * count
    numbers = [0.3] * FUNCTIONS[cell] * count

    def build(x: SSAValue, w: SSAValue, r: SSAValue, *rest: SSAValue) -> graph.RnnOp:
        given = dict(zip(names, rest, strict=True))
        return graph.RnnOp(
            x,
            w,
            r,
            cell=cell,
            direction=direction,
            activations=functions,
            alphas=numbers,
            betas=numbers,
            **given,
            **options,
        )

    expect_lowering(build, arrays, dims, tolerance=tolerance)


@pytest.mark.parametrize("cell", list(GATES))
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("full", [False, True])
def test_rnn(cell: str, direction: str, full: bool) -> None:
    expect_rnn(cell, direction, full=full)
    expect_rnn(cell, direction, full=full, dynamic=True, packing=HIDDEN if full else HIDDEN // 2)


@pytest.mark.parametrize("cell", list(GATES))
def test_rnn_options(cell: str) -> None:
    expect_rnn(cell, clip=0.4)
    expect_rnn(cell, dtype=np.float16, tolerance=4e-3)


def test_rnn_options_of_one_cell() -> None:
    expect_rnn("gru", linear_before_reset=True)
    expect_rnn("lstm", input_forget=True)


@pytest.mark.parametrize(
    "name",
    "relu affine leaky_relu thresholded_relu scaled_tanh hard_sigmoid elu softsign softplus sigmoid".split(),
)
def test_rnn_activation(name: str) -> None:
    expect_rnn("rnn", activations=[name])
