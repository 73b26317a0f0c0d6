"""Winograd convolutions: matrices, meaning, lowering, and the pass that chooses them, against direct sums."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import stepwell
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array, evaluate
from stepwell.runtime.winograd import as_array, transform_filters, transforms
from tests.kernels import expect_lowering

RNG = np.random.default_rng(11)
LANES = 16
# Of the output's range, as `winograd-conv` promises.
BOUND = 1e-5
PREPARE = "convert-onnx-to-graph,fold-constant,convert-layout,winograd-conv"


def blocked(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[N, C, H, W] as [N, C / 16, H, W, 16]."""
    n, c, height, width = x.shape
    split = x.reshape(n, c // LANES, LANES, height, width)
    return np.ascontiguousarray(split.transpose(0, 1, 3, 4, 2))


def packed(w: npt.NDArray[np.float32], tile: int, panel: int) -> npt.NDArray[np.float32]:
    """Filters as `graph.winograd_conv` takes them."""
    u = transform_filters(w, tile).astype(np.float32)
    points, o, c = u.shape
    return np.ascontiguousarray(u.reshape(points, o // panel, panel, c).swapaxes(2, 3))


def direct(x: Array, w: Array, pads: Sequence[int]) -> Array:
    """The convolution in f64."""
    options = {"strides": [1, 1], "dilations": [1, 1], "pads": pads}
    return evaluate("graph.conv", [x.astype(np.float64), w.astype(np.float64)], options)[0]


@pytest.mark.parametrize("tile", [2, 4])
def test_matrices_filter_one_axis(tile: int) -> None:
    matrices = transforms(tile)
    x, w = RNG.standard_normal(tile + 2), RNG.standard_normal(3)
    products = (as_array(matrices.filters) @ w) * (as_array(matrices.input) @ x)
    assert np.allclose(as_array(matrices.output) @ products, np.correlate(x, w))


CASES = [
    (2, (1, 32, 8, 8), 32, 32, [1, 1, 1, 1]),
    (4, (2, 16, 7, 9), 48, 16, [1, 1, 1, 1]),
    (4, (1, 16, 6, 10), 32, 32, [0, 2, 1, 0]),
    (2, (1, 16, 3, 3), 16, 16, [0, 0, 0, 0]),
    (4, (1, 16, 40, 44), 16, 16, [1, 1, 1, 1]),
    # Transforms in loops: the input's, the output's, both.
    (4, (1, 16, 7, 9), 128, 32, [1, 1, 1, 1]),
    (4, (1, 128, 6, 10), 32, 32, [0, 2, 1, 0]),
    (2, (1, 128, 5, 6), 128, 32, [1, 0, 1, 1]),
]


@pytest.mark.parametrize(("tile", "shape", "width", "panel", "pads"), CASES)
def test_meaning_and_lowering(
    tile: int, shape: tuple[int, ...], width: int, panel: int, pads: Sequence[int]
) -> None:
    x = RNG.uniform(-1, 2, shape).astype(np.float32)
    w = RNG.normal(0, 0.05, (width, shape[1], 3, 3)).astype(np.float32)
    arrays = [blocked(x), packed(w, tile, panel)]
    expected = blocked(direct(x, w, pads))
    meant = evaluate("graph.winograd_conv", arrays, {"tile": tile, "pads": pads})[0]
    assert meant.shape == expected.shape
    assert np.abs(meant - expected).max() < BOUND * np.ptp(expected)
    build = lambda x, u: graph.WinogradConvOp(x, u, tile=tile, pads=pads)  # noqa: E731
    expect_lowering(build, arrays, tolerance=1e-4)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("tile", "shape", "width", "panel", "pads"), CASES)
def test_pairs_of_bfloats(
    tile: int, shape: tuple[int, ...], width: int, panel: int, pads: Sequence[int]
) -> None:
    """The meaning is that of numpy with rounded transforms, the compiled kernel that of the meaning."""
    x = RNG.uniform(-1, 2, shape).astype(np.float32)
    w = RNG.normal(0, 0.05, (width, shape[1], 3, 3)).astype(np.float32)
    u = packed(w, tile, panel).astype(ml_dtypes.bfloat16)
    rounded = [blocked(x), u.astype(np.float32)]
    pairs = np.ascontiguousarray(u.swapaxes(2, 3)).view(np.int32).swapaxes(2, 3)
    arrays = [blocked(x), np.ascontiguousarray(pairs)]
    attributes: dict[str, Any] = {"tile": tile, "pads": pads}
    exact = evaluate("graph.winograd_conv", rounded, attributes)[0]
    meant = evaluate("graph.winograd_conv", arrays, attributes)[0]
    error = np.abs(np.subtract(meant, exact)).max() / np.ptp(exact)
    assert 1e-4 < error < {2: 2.0**-8, 4: 2.0**-6}[tile]
    build = lambda x, u: graph.WinogradConvOp(x, u, tile=tile, pads=pads)  # noqa: E731
    expect_lowering(build, arrays, tolerance=1e-3)


def model(channels: int, width: int, size: int | str, **attributes: Any) -> onnx.ModelProto:
    """A model of one convolution with bias, relu and, with `residual`, its input added before."""
    residual = attributes.pop("residual", False)
    kernel = attributes.pop("kernel", 3)
    w = RNG.standard_normal((width, channels, kernel, kernel)).astype(np.float32)
    weights = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(w[:, 0, 0, 0].copy(), "b")]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1] * 4, **attributes),
        helper.make_node("Relu", ["a" if residual else "c"], ["y"], "relu"),
    ]
    if residual:
        nodes.insert(1, helper.make_node("Add", ["x", "c"], ["a"], "add"))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", channels, size, size])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    made = helper.make_graph(nodes, "g", [x], [y], weights)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def chosen_tile(proto: onnx.ModelProto, pipeline: str = PREPARE) -> int | None:
    """The tile of the convolution of a model; None when it stays direct."""
    ctx = StepwellContext()
    module = import_onnx(proto, ctx)
    run_pipeline(module, pipeline, ctx)
    tiles = [op.tile.value.data for op in module.walk() if isinstance(op, graph.WinogradConvOp)]
    return tiles[0] if tiles else None


def test_chooses_by_shape_and_room() -> None:
    assert chosen_tile(model(64, 64, 28)) == 4
    assert chosen_tile(model(64, 64, "S")) == 4
    # Transformed weights may take as much again as all weights: tiles of 4 exceed that, tiles of 2 do not.
    assert chosen_tile(model(256, 256, 28)) == 2
    assert chosen_tile(model(256, 256, 28), PREPARE + "{mode=fast}") == 4
    # Too few tiles for the weights.
    assert chosen_tile(model(512, 512, 2)) is None


@pytest.mark.parametrize(
    "proto",
    [
        model(64, 64, 28, strides=[2, 2]),
        model(64, 64, 28, dilations=[2, 2]),
        model(64, 64, 28, kernel=1),
        model(3, 64, 28),
    ],
    ids=["stride", "dilation", "kernel", "first layer"],
)
def test_leaves_others_direct(proto: onnx.ModelProto) -> None:
    assert chosen_tile(proto) is None


def test_a_wrong_mode_is_an_error() -> None:
    with pytest.raises(StepwellError, match=r"takes mode auto or fast, found 'slow'"):
        chosen_tile(model(16, 16, 8), PREPARE + "{mode=slow}")


@pytest.mark.sample(6)
@pytest.mark.parametrize(("threads", "size"), [(1, 30), (2, 30), (2, 7), (1, 32)])
def test_compiled_model_for_any_batch(threads: int, size: int) -> None:
    proto = model(32, 32, size, residual=True)
    w, b = (numpy_helper.to_array(t) for t in proto.graph.initializer)
    assert chosen_tile(proto, PREPARE + "{mode=fast}") is not None
    compiled = [stepwell.compile(proto, threads=threads, winograd="fast")]
    if (threads, size) == (1, 30):
        compiled.append(stepwell.compile(proto, threads=threads, winograd="off"))
    for batch in (1, 3):
        x = RNG.uniform(-1, 2, (batch, 32, size, size)).astype(np.float32)
        expected = np.maximum(direct(x, w, [1] * 4) + b.reshape(1, -1, 1, 1) + x, 0)
        found = [np.asarray(each(x)) for each in compiled]
        for y in found:
            assert np.abs(y - expected).max() < BOUND * np.ptp(expected)
        assert len({y.tobytes() for y in found}) == len(found), "one of them is not by Winograd's algorithm"


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [14, 30])
def test_compiled_model_in_bf16(size: int) -> None:
    """The residual is the input itself, not the rounded one; errors are of the class of bf16."""
    proto = model(32, 32, size, residual=True)
    w, b = (numpy_helper.to_array(t) for t in proto.graph.initializer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # on CPUs without the instructions
        compiled = stepwell.compile(proto, precision="bf16", winograd="fast")
    x = RNG.uniform(-1, 2, (2, 32, size, size)).astype(np.float32)
    expected = np.maximum(direct(x, w, [1] * 4) + b.reshape(1, -1, 1, 1) + x, 0)
    error = np.abs(np.asarray(compiled(x)) - expected).max() / np.ptp(expected)
    assert 1e-5 < error < 2.0**-7


@pytest.mark.sample(3)
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_model_for_images_of_any_size(threads: int) -> None:
    proto = model(32, 32, "S", residual=True)
    w, b = (numpy_helper.to_array(t) for t in proto.graph.initializer)
    compiled = stepwell.compile(proto, threads=threads, winograd="fast")
    assert chosen_tile(proto, PREPARE + "{mode=fast}") == 4
    for size in (1, 2, 4, 7, 30, 57):
        x = RNG.uniform(-1, 2, (2, 32, size, size)).astype(np.float32)
        expected = np.maximum(direct(x, w, [1] * 4) + b.reshape(1, -1, 1, 1) + x, 0)
        assert np.abs(np.asarray(compiled(x)) - expected).max() < BOUND * np.ptp(expected)
