"""Shape, movement and indexing operators of ONNX: converted and evaluated, against ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.lowering.onnx_to_graph import ConvertOnnxToGraphPass
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array
from tests.graph_ops import run_module
from tests.onnx_models import onnx_model
from tests.support.onnx_nodes import check_node

RNG = np.random.default_rng(11)


def numbers(*shape: int) -> npt.NDArray[np.float32]:
    """Distinct numbers, so that a misplaced element shows."""
    return RNG.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)


def ints(*values: object) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


X = numbers(2, 3, 4)
ROWS = np.array([[3, 1, 3, 2, 1], [5, 5, 5, 5, 0], [-1, 9, -2, 9, 4]], np.float32)
"""With equal elements, whose order counts."""

CASES: list[tuple[str, list[Array | None], dict[str, Any]]] = [
    ("Reshape", [X, ints(0, -1)], {}),
    ("Reshape", [X, ints(4, 1, -1)], {}),
    ("Reshape", [numbers(0, 3), ints(3, 0)], {"allowzero": 1}),
    ("Flatten", [X], {"axis": 2}),
    ("Flatten", [X], {"axis": -1}),
    ("Flatten", [X], {"axis": 3}),
    ("Flatten", [np.array(3, np.float32)], {"axis": 0}),
    ("Unsqueeze", [X, ints(-1, 0)], {}),
    ("Unsqueeze", [X], {"opset": 11, "axes": [1]}),
    ("Squeeze", [numbers(1, 3, 1), ints(-1)], {}),
    ("Squeeze", [numbers(1, 3, 1)], {}),
    ("Expand", [numbers(3, 1), ints(2, 1, 4)], {}),
    ("Expand", [numbers(3, 4), ints(1)], {}),
    ("Shape", [X], {}),
    ("Shape", [X], {"start": -2, "end": 7}),
    ("Size", [X], {}),
    ("Transpose", [X], {}),
    ("Transpose", [X], {"perm": [1, 2, 0]}),
    ("Concat", [X, numbers(2, 1, 4), numbers(2, 0, 4)], {"axis": -2}),
    ("Split", [X, ints(1, 3)], {"outputs": 2, "axis": 2}),
    ("Split", [X], {"outputs": 2, "axis": 2, "num_outputs": 2}),
    ("Split", [numbers(7)], {"outputs": 3, "axis": 0, "num_outputs": 3}),
    ("Split", [X], {"outputs": 2, "axis": -1, "opset": 13}),
    ("Slice", [X, ints(0, 1), ints(1, 3)], {}),
    ("Slice", [X, ints(-1, 10), ints(-9, -100), ints(-1, 2), ints(-1, -2)], {}),
    ("Slice", [X, ints(1), ints(np.iinfo(np.int64).max), ints(1)], {}),
    ("Slice", [X, ints(3), ints(np.iinfo(np.int64).min), ints(2), ints(-1)], {}),
    ("Slice", [X], {"opset": 9, "starts": [1, -2], "ends": [2, 100], "axes": [0, 2]}),
    ("Pad", [X, ints(0, 1, 2, 1, 0, 0), np.array(7, np.float32)], {}),
    ("Pad", [X, ints(1, 3), None, ints(-1)], {"mode": "edge"}),
    ("Pad", [X, ints(0, 1, 2, 1, 1, 3)], {"mode": "reflect"}),
    ("Pad", [X, ints(0, 1, 2, 1, 1, 3)], {"mode": "wrap"}),
    ("Tile", [X, ints(2, 1, 3)], {}),
    ("DepthToSpace", [numbers(2, 8, 2, 3)], {"blocksize": 2}),
    ("DepthToSpace", [numbers(2, 8, 2, 3)], {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", [numbers(2, 3, 4, 6)], {"blocksize": 2}),
    ("Gather", [X, ints([0, -1], [2, 1])], {"axis": 1}),
    ("Gather", [X, np.array(-1, np.int64)], {"axis": -1}),
    ("GatherElements", [X, ints([[0, 1, 0, -1]], [[1, 1, 0, 2]])], {"axis": 1}),
    ("GatherND", [X, ints([0, 2], [1, -1])], {}),
    ("GatherND", [X, ints([2], [0])], {"batch_dims": 1}),
    ("ScatterElements", [X, ints([[0, 1]], [[3, -1]]), numbers(2, 1, 2)], {"axis": 2}),
    ("ScatterElements", [X, ints([[0, 0]], [[3, 3]]), numbers(2, 1, 2)], {"axis": 2, "reduction": "add"}),
    ("ScatterND", [X, ints([0, 2], [1, 1]), numbers(2, 4)], {}),
    ("TopK", [ROWS, ints(3)], {"outputs": 2, "axis": -1}),
    ("TopK", [ROWS, ints(2)], {"outputs": 2, "axis": 0, "largest": 0}),
    ("TopK", [ROWS.astype(np.int32), ints(4)], {"outputs": 2, "axis": 1}),
    ("ReverseSequence", [X, ints(3, 1)], {"batch_axis": 0, "time_axis": 1}),
    ("ReverseSequence", [X, ints(2, 1, 0)], {"batch_axis": 1, "time_axis": 0}),
    ("CenterCropPad", [X, ints(5, 2, 3)], {}),
    ("CenterCropPad", [X, ints(1, 7)], {"axes": [0, 2]}),
    ("Trilu", [X, np.array(1, np.int64)], {}),
    ("Trilu", [X], {"upper": 0}),
    ("EyeLike", [numbers(3, 4)], {"k": 1}),
    ("EyeLike", [numbers(3, 4)], {"k": -1, "dtype": 6}),
    # Named dimensions: the results' types are held to the sizes.
    ("Reshape", [X, ints(0, -1)], {"names": {0: ("N", "S", 4)}}),
    ("Reshape", [X, ints(-1)], {"names": {0: ("N", "S", 4)}}),
    ("Flatten", [X], {"names": {0: ("N", "S", 4)}}),
    ("Shape", [X], {"names": {0: ("N", "S", 4)}}),
    ("Size", [X], {"names": {0: ("N", "S", 4)}}),
    ("Slice", [X, ints(0, -1), ints(1, 9223372036854775807)], {"names": {0: ("N", "S", 4)}}),
    ("Slice", [X, ints(-2), ints(2), ints(1)], {"names": {0: ("N", "S", 4)}}),
    ("Slice", [X, ints(-1), ints(-9223372036854775807), ints(1), ints(-1)], {"names": {0: ("N", "S", 4)}}),
    ("Concat", [X, numbers(2, 1, 4)], {"axis": 1, "names": {0: ("N", "S", 4), 1: ("N", "T", 4)}}),
    ("Split", [X], {"outputs": 3, "axis": 1, "names": {0: ("N", "S", 4)}}),
    ("Pad", [X, ints(0, 1, 2, 1, 0, 0)], {"names": {0: ("N", "S", 4)}}),
    ("Tile", [X, ints(2, 1, 3)], {"names": {0: ("N", "S", 4)}}),
    ("SpaceToDepth", [numbers(2, 3, 4, 6)], {"blocksize": 2, "names": {0: ("N", 3, "H", "W")}}),
    ("Trilu", [X], {"names": {0: ("N", "S", 4)}}),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("op_type", "inputs", "options"), CASES)
def test_node(op_type: str, inputs: list[Array | None], options: dict[str, Any]) -> None:
    check_node(op_type, inputs, **options)


def test_one_hot_wraps_once() -> None:
    expected = np.array([[2, 2, 2], [5, 5, 2], [2, 2, 2]], np.float32)
    inputs = [ints(1, -2, 7), np.array(3), np.array([2, 5], np.float32)]
    check_node("OneHot", inputs, axis=0, expected=[expected])


@pytest.mark.parametrize("shape", [(6, 4), (-1, 6), (0, -1), (8, 3)])
def test_shape_that_is_data(shape: tuple[int, int]) -> None:
    check_node("Reshape", [X, ints(*shape)], names={0: X.shape, 1: (2,)})


def test_shape_of_unknown_length_is_refused() -> None:
    with pytest.raises(StepwellError, match="the number of elements of `shape` is unknown"):
        check_node("Reshape", [X, ints(6, 4)], names={0: (2, 3, 4), 1: ("N",)})


def test_center_crop_pad_needs_a_size_for_each_axis() -> None:
    with pytest.raises(StepwellError, match="CenterCropPad: 3 axes, and a shape of 2 numbers"):
        check_node("CenterCropPad", [X, ints(5, 2)], expected=[X])


def test_sequences_are_reversed_along_the_first_two_axes() -> None:
    with pytest.raises(StepwellError, match="ReverseSequence: its axes must be 0 and 1, found 1 and 2"):
        check_node("ReverseSequence", [X, ints(3, 1, 2)], batch_axis=1, time_axis=2, expected=[X])


def test_squeeze_of_unknown_rank_is_refused() -> None:
    with pytest.raises(StepwellError, match="Squeeze without axes: dimension N may be 1 or not"):
        check_node("Squeeze", [numbers(1, 3, 1)], names={0: ("N", 3, 1)})


def test_shape_arithmetic_resolves_to_symbols() -> None:
    """What exporters write for splitting heads: Shape, Gather, Unsqueeze, Concat, Reshape."""
    text = """
        <ir_version: 10, opset_import: ["": 21]>
        agraph (float[N, S, 256] x) => (float[N, S, 4, 64] y) {
            shape = Shape(x)
            zero = Constant<value = int64 {0}>()
            one = Constant<value = int64 {1}>()
            n = Gather(shape, zero)
            s = Gather(shape, one)
            axes = Constant<value_ints = [0]>()
            n1 = Unsqueeze(n, axes)
            s1 = Unsqueeze(s, axes)
            tail = Constant<value_ints = [4, 64]>()
            target = Concat<axis = 0>(n1, s1, tail)
            y = Reshape(x, target)
        }"""
    ctx = StepwellContext()
    module = import_onnx(onnx.parser.parse_model(text), ctx)
    ConvertOnnxToGraphPass().apply(ctx, module)
    assert 'graph.reshape %x shape <["N", "S", 4, 64]>' in str(module)
    x = numbers(2, 3, 256)
    assert run_module(module, [x], ctx.weights)[0].shape == (2, 3, 4, 64)


def test_top_k_takes_nan_as_the_greatest() -> None:
    rows = np.array([[1, np.nan, 3, np.nan], [np.inf, 2, np.nan, -np.inf]], np.float32)
    greatest = [np.array([[np.nan, np.nan, 3], [np.nan, np.inf, 2]], np.float32), ints([1, 3, 2], [2, 0, 1])]
    check_node("TopK", [rows, ints(3)], outputs=2, axis=1, expected=greatest)
    least = [np.array([[1, 3], [-np.inf, 2]], np.float32), ints([0, 2], [3, 1])]
    check_node("TopK", [rows, ints(2)], outputs=2, axis=1, largest=0, expected=least)


def test_top_k_keeps_equal_elements_in_order() -> None:
    rows = np.array([[1, 2, 2, 1, 2, 0], [3, 1, 1, 3, 0, 0]], np.float32)
    first = [np.array([[2, 2, 2, 1], [3, 3, 1, 1]], np.float32), ints([1, 2, 4, 0], [0, 3, 1, 2])]
    check_node("TopK", [rows, ints(4)], outputs=2, axis=1, expected=first)


def test_top_k_of_long_rows() -> None:
    """Elements of 64 bits are passed over by blocks, and the last few are looked at one by one."""
    rows = np.random.default_rng(5).permutation(70).reshape(1, 70).astype(np.float64)
    check_node("TopK", [rows, ints(3)], outputs=2, axis=1)
    check_node("TopK", [rows, ints(3)], outputs=2, axis=1, largest=0)


@pytest.mark.parametrize(("op", "shape"), [("Squeeze", (2, 1, 3, 1)), ("Unsqueeze", (2, 3))])
def test_axes_that_are_data(op: str, shape: tuple[int, ...]) -> None:
    check_node(op, [numbers(*shape), ints(-1, 1)], names={1: (2,)})


@pytest.mark.parametrize(
    ("nodes", "index"),
    [
        ("(float[5,3] x, float[2] f) => (float[2,3] y) { i = Cast<to=7>(f) y = Gather(x, i) }", 7),
        ("(float[N,3] x, float[2] f) => (float[3] y) <int64 i = {-6}> { y = Gather(x, i) }", -6),
        ("(float[N,3] x, float[2] f) => (float[1,1] y) <int64[1,1] i = {5}> { y = GatherElements(x, i) }", 5),
    ],
)
def test_an_index_that_a_kernel_could_compute_is_checked(nodes: str, index: int) -> None:
    """Kernels clamp indices: a cast, or a constant of one element, was in the kernel that reads at it."""
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> g {nodes}')
    compiled = stepwell.compile(model, use_cache=False)
    with pytest.raises(StepwellError, match=f"index-out-of-range(.|\n)*{index} and 5"):
        compiled(numbers(5, 3), np.array([0, 7], np.float32))


@pytest.mark.parametrize("condition", [True, False])
def test_indices_are_checked_in_each_branch(condition: bool) -> None:
    """The check before the kernel of one branch does not run for the other: it clamped the index."""
    model = onnx_model("""
        g (bool c, float[4] x, int64[2] i) => (float[2] y) {
          y = If(c) <
            then_branch = t () => (float[2] a) { u = Gather(x, i) a = Exp(u) },
            else_branch = e () => (float[2] b) { v = Gather(x, i) b = Neg(v) }
          >
        }
    """)
    compiled, x = stepwell.compile(model), np.arange(4, dtype=np.float32)
    wanted = np.exp(x[[0, 3]]) if condition else -x[[0, 3]]
    assert np.allclose(compiled(np.array(condition), x, np.array([0, -1])), wanted)
    with pytest.raises(StepwellError, match="index-out-of-range"):
        compiled(np.array(condition), x, np.array([0, 9]))
